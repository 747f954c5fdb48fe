package nebishttp

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/nebis-dev/nebis"
)

// fake is a database that can begin, commit and roll back, and counts it: enough
// for requests without a key.
type fake struct {
	begun, committed, rolledBack int
	refuse, uncommitted          error
}

func (f *fake) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f *fake) Driver() driver.Driver                        { return nil }
func (f *fake) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("fake: no statements") }
func (f *fake) Close() error                                 { return nil }
func (f *fake) Begin() (driver.Tx, error)                    { f.begun++; return f, f.refuse }
func (f *fake) Commit() error                                { f.committed++; return f.uncommitted }
func (f *fake) Rollback() error                              { f.rolledBack++; return nil }

func anyone(*http.Request) (string, error) { return nebis.Anyone, nil }

func guard(t testing.TB, f *fake, owner func(*http.Request) (string, error), o *Options) *Middleware {
	t.Helper()
	db := sql.OpenDB(f)
	t.Cleanup(func() { _ = db.Close() })
	store, err := nebis.New(db, nebis.Postgres, nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(store, owner, o)
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func created(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
	w.WriteHeader(http.StatusCreated)
	return nil
}

func TestARequestWithoutAKeyRunsInAPlainTransaction(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		h         handler
		status    int
		committed bool
	}{
		"success":      {created, 201, true},
		"error":        {func(http.ResponseWriter, *http.Request, *sql.Tx) error { return boom }, 500, false},
		"error status": {func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error { w.WriteHeader(422); return nil }, 422, false},
		"kept refusal": {func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error { Keep(w); w.WriteHeader(409); return nil }, 409, true},
		"discarded": {func(w http.ResponseWriter, _ *http.Request, _ *sql.Tx) error {
			w.WriteHeader(200)
			Discard(w)
			return nil
		}, 200, false},
		"nothing at all": {func(http.ResponseWriter, *http.Request, *sql.Tx) error { return nil }, 200, true},
	} {
		f := &fake{}
		w := serve(guard(t, f, anyone, nil).Tx("order", c.h, nil), post("", ""))
		if w.Code != c.status || (f.committed == 1) != c.committed || f.committed+f.rolledBack != 1 {
			t.Errorf("%s: got %d, %+v", name, w.Code, f)
		}
		if w.Header().Get(statusHeader) != "" || w.Header().Get(verdictKey) != "" {
			t.Errorf("%s: sent %v", name, w.Header())
		}
	}
}

func TestAKeylessRequestThatMetTheDatabaseInTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		f      fake
		status int
		kind   string
		ran    int
	}{
		"begin fails":  {fake{refuse: errors.New("down")}, 503, "no-database", 0},
		"commit fails": {fake{uncommitted: errors.New("cut")}, 409, "unknown", 1},
	} {
		ran := 0
		w := serve(guard(t, &c.f, anyone, nil).Tx("order", func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
			ran++
			return created(w, r, tx)
		}, nil), post("", ""))
		if w.Code != c.status || ran != c.ran || !strings.Contains(w.Body.String(), "urn:nebis:problem:"+c.kind) {
			t.Errorf("%s: ran %d times, got %d %s", name, ran, w.Code, w.Body)
		}
	}
}

func TestARouteThatRequiresAKeyRefusesARequestWithoutOne(t *testing.T) {
	for _, header := range []string{"", `""`, "  ", `" "`} {
		f := &fake{}
		w := serve(guard(t, f, anyone, nil).Tx("order", created, &Route{Required: true}), post("", "", keyHeader, header))
		if w.Code != 400 || f.begun != 0 || w.Header().Get(statusHeader) != "invalid" {
			t.Errorf("%q: got %d, %+v", header, w.Code, f)
		}
	}
}

func TestAMalformedKeyIsRefusedBeforeAnySQL(t *testing.T) {
	f := &fake{}
	w := serve(guard(t, f, anyone, nil).Tx("order", created, nil), post("", "", keyHeader, "[object Object]"))
	if w.Code != 400 || f.begun != 0 || !strings.Contains(w.Body.String(), "an object was turned into text") {
		t.Errorf("got %d %s, %+v", w.Code, w.Body, f)
	}
}

func TestARequestWithoutAnOwnerIsRefusedWithOrWithoutAKey(t *testing.T) {
	none := func(*http.Request) (string, error) { return "", errors.New("secret") }
	forgotten := func(*http.Request) (string, error) { return "", nil }
	for _, r := range []*http.Request{post("", ""), post("", "", keyHeader, "k")} {
		f := &fake{}
		if w := serve(guard(t, f, none, nil).Tx("order", created, nil), r); w.Code != 401 || f.begun != 0 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("no owner: got %d %s, %+v", w.Code, w.Body, f)
		}
		if w := serve(guard(t, f, forgotten, nil).Tx("order", created, nil), r); w.Code != 500 || f.begun != 0 {
			t.Errorf("empty owner: got %d, %+v", w.Code, f)
		}
	}
}

func TestMethodsThatCannotWritePassUntouched(t *testing.T) {
	m := guard(t, &fake{refuse: errors.New("down")}, func(*http.Request) (string, error) { panic("asked for the owner") }, nil)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"} {
		r := httptest.NewRequest(method, "/", nil)
		r.Header.Set(keyHeader, "k")
		w := httptest.NewRecorder()
		m.Wrap("order", &Route{Required: true})(http.HandlerFunc(func(got http.ResponseWriter, gotR *http.Request) {
			if got != http.ResponseWriter(w) || gotR != r || TxFrom(gotR.Context()) != nil {
				t.Errorf("%s: Wrap touched it", method)
			}
		})).ServeHTTP(w, r)
		m.Tx("order", func(got http.ResponseWriter, gotR *http.Request, tx *sql.Tx) error {
			if got != http.ResponseWriter(w) || gotR != r || tx != nil {
				t.Errorf("%s: Tx touched it", method)
			}
			return nil
		}, nil).ServeHTTP(w, r)
	}
}

func TestAPOSTThatOffersAnUpgradeIsStillGuarded(t *testing.T) {
	f := &fake{}
	r := post("", "", "Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c") // as Java's HttpClient sends it
	if w := serve(guard(t, f, anyone, nil).Tx("order", created, nil), r); w.Code != 201 || f.committed != 1 {
		t.Errorf("got %d, %+v", w.Code, f)
	}
}

func TestGuardingARouteTwiceIsSaidAndNotDone(t *testing.T) {
	f := &fake{}
	m := guard(t, f, anyone, nil)
	ran := false
	inner := m.Tx("order", func(http.ResponseWriter, *http.Request, *sql.Tx) error { ran = true; return nil }, nil)
	if w := serve(m.Wrap("site", nil)(inner), post("", "")); w.Code != 500 || ran || f.committed != 0 {
		t.Errorf("got %d, ran %v, %+v", w.Code, ran, f)
	}
}

func TestBehindWrapAHandlerThatWritesNothingIsNotASuccess(t *testing.T) {
	for name, c := range map[string]struct {
		h         http.HandlerFunc
		status    int
		committed int
	}{
		"nothing":          {func(http.ResponseWriter, *http.Request) {}, 500, 0},
		"a status":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }, 200, 1},
		"an empty body":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) }, 200, 1},
		"nothing but Keep": {func(w http.ResponseWriter, _ *http.Request) { Keep(w) }, 200, 1},
	} {
		f := &fake{}
		w := serve(guard(t, f, anyone, nil).Wrap("order", nil)(c.h), post("", ""))
		if w.Code != c.status || f.committed != c.committed {
			t.Errorf("%s: got %d, %+v", name, w.Code, f)
		}
	}
}

func TestAHandlersErrorIsRenderedIntoACleanWriter(t *testing.T) {
	var body string
	o := &Options{Error: func(w http.ResponseWriter, r *http.Request, err error) {
		_ = r.ParseForm()
		body = r.PostForm.Get("item")
		if err.Error() == "teapot" {
			w.WriteHeader(http.StatusTeapot)
		}
	}}
	for text, status := range map[string]int{"teapot": 418, "only logged": 500} {
		w := serve(guard(t, &fake{}, anyone, o).Tx("order", func(w http.ResponseWriter, r *http.Request, _ *sql.Tx) error {
			_ = r.ParseForm()
			w.Header().Set("Set-Cookie", "half=done")
			w.WriteHeader(201)
			_, _ = w.Write([]byte("half"))
			return errors.New(text)
		}, nil), post(urlencoded, "item=tea"))
		if w.Code != status || strings.Contains(w.Body.String(), "half") || w.Header().Get("Set-Cookie") != "" || body != "tea" {
			t.Errorf("%s: got %d %v %s; the form says %q", text, w.Code, w.Header(), w.Body, body)
		}
	}
}

func TestAbortingTheHandlerRollsBackAndGoesOn(t *testing.T) {
	f := &fake{}
	h := guard(t, f, anyone, nil).Tx("order", func(http.ResponseWriter, *http.Request, *sql.Tx) error { panic(http.ErrAbortHandler) }, nil)
	defer func() {
		if v := recover(); v != http.ErrAbortHandler || f.rolledBack != 1 || f.committed != 0 {
			t.Errorf("recovered %v, %+v", v, f)
		}
	}()
	serve(h, post("", ""))
}

func TestASiteMayRenderOurAnswersItself(t *testing.T) {
	o := &Options{Problem: func(w http.ResponseWriter, r *http.Request, p Problem) {
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte("our look: " + p.Title))
	}}
	w := serve(guard(t, &fake{}, anyone, o).Tx("order", created, &Route{Required: true}), post("", ""))
	if w.Code != 400 || w.Body.String() != "our look: Key required" || w.Header().Get(statusHeader) != "invalid" {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestFilesThatTheHandlerParsedDoNotStayOnDisk(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	media, body := multipartBody(t, "AAA", "1", "a.png", "content")
	onDisk := 0
	w := serve(guard(t, &fake{}, anyone, nil).Tx("order", func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		if err := r.ParseMultipartForm(0); err != nil {
			return err
		}
		entries, err := os.ReadDir(dir)
		onDisk = len(entries)
		return err
	}, nil), post(media, string(body)))
	left, _ := os.ReadDir(dir)
	if w.Code != 200 || onDisk != 1 || len(left) != 0 {
		t.Errorf("got %d; %d files while it ran, %d after", w.Code, onDisk, len(left))
	}
}

func TestTheHandlerFindsItsTransactionAndItsKeyInTheContext(t *testing.T) {
	m := guard(t, &fake{}, anyone, nil)
	var given, found *sql.Tx
	serve(m.Tx("order", func(_ http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		given, found = tx, TxFrom(r.Context())
		if key, err := KeyOf(r); key != "" || err != nil || r.PostForm != nil {
			t.Errorf("KeyOf: %q, %v; the form was parsed: %v", key, err, r.PostForm)
		}
		return nil
	}, nil), post(urlencoded, "item=tea"))
	if given == nil || given != found {
		t.Errorf("given %p, found %p", given, found)
	}
	if TxFrom(context.Background()) != nil {
		t.Error("found one where there is none")
	}
}
