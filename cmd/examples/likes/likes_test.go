package likes

import (
	"bytes"
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
	"github.com/nebis-dev/nebis/cmd/internal/exampletest"
)

const post = 7

// open is a database with one post that nobody likes yet.
func open(t *testing.T) *sql.DB {
	t.Helper()
	db := dbtest.Lookup("sqlite-modernc").Open(t)
	for _, q := range []string{
		`CREATE TABLE posts (id INTEGER PRIMARY KEY, likes INTEGER NOT NULL)`,
		`CREATE TABLE likes (post INTEGER NOT NULL, visitor TEXT NOT NULL, PRIMARY KEY (post, visitor))`,
		`INSERT INTO posts VALUES (7, 0)`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func want(t *testing.T, db *sql.DB, likes int) {
	t.Helper()
	var got int
	if err := db.QueryRowContext(t.Context(), `SELECT likes FROM posts WHERE id = 7`).Scan(&got); err != nil || got != likes {
		t.Errorf("%d likes (%v), want %d", got, err, likes)
	}
}

// atOnce has twenty send a like at the same time.
func atOnce(t *testing.T, like func() error) {
	t.Helper()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := like(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func client(t *testing.T, addr string, server *dbtest.Redis) *redis.Client {
	t.Helper()
	c := Open(addr, server.Password)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestWithRedis(t *testing.T) {
	server := dbtest.StartRedis(t)
	seen := client(t, server.Addr, server)
	for _, x := range []struct {
		name string
		test func(*testing.T, *sql.DB, func(visitor string) error)
	}{
		{"many likes of one visitor are one, and another's count", func(t *testing.T, db *sql.DB, like func(string) error) {
			atOnce(t, func() error { return like("ann") })
			atOnce(t, func() error { return like("bob") })
			want(t, db, 2)
		}},
		{"a mark lasts a day, and the next like counts again", func(t *testing.T, db *sql.DB, like func(string) error) {
			atOnce(t, func() error { return like("ann") })
			if left := seen.TTL(t.Context(), "like:7:ann").Val(); left <= 23*time.Hour || left > 24*time.Hour {
				t.Errorf("the mark goes in %v", left)
			}
			seen.PExpire(t.Context(), "like:7:ann", -time.Millisecond) // a day later
			atOnce(t, func() error { return like("ann") })
			want(t, db, 2)
		}},
		{"a like that the database refused may be tried again", func(t *testing.T, db *sql.DB, like func(string) error) {
			rename(t, db, "posts", "away")
			if err := like("ann"); err == nil {
				t.Error("no error without the table")
			}
			rename(t, db, "away", "posts")
			atOnce(t, func() error { return like("ann") })
			want(t, db, 1)
		}},
		{"Redis forgets when it is started anew", func(t *testing.T, db *sql.DB, like func(string) error) {
			atOnce(t, func() error { return like("ann") })
			server.Stop()
			server.Start()
			atOnce(t, func() error { return like("ann") })
			want(t, db, 2)
		}},
		{"without Redis every like counts", func(t *testing.T, db *sql.DB, like func(string) error) {
			server.Stop()
			defer server.Start()
			for range 2 {
				if err := like("ann"); err != nil {
					t.Error(err)
				}
			}
			want(t, db, 2)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			db := open(t)
			seen.FlushAll(t.Context())
			x.test(t, db, func(visitor string) error { return Like(t.Context(), db, seen, post, visitor) })
		})
	}
}

func rename(t *testing.T, db *sql.DB, from, to string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
		t.Fatal(err)
	}
}

// The client would send it again, be told that the mark is there, and lose the like.
func TestALikeIsNotLostWithTheAnswerOfRedis(t *testing.T) {
	server := dbtest.StartRedis(t)
	line := dbtest.NewProxy(t, server.Addr)
	seen := client(t, line.Addr, server)
	db := open(t)
	line.Set(dbtest.CutAfter, func(sent []byte) bool { return bytes.Contains(sent, []byte("like:7:ann")) })
	for range 2 {
		if err := Like(t.Context(), db, seen, post, "ann"); err != nil {
			t.Error(err)
		}
	}
	want(t, db, 1)
}

func TestTheIndexCountsAVisitorOnceForEver(t *testing.T) {
	db := open(t)
	for _, visitor := range []string{"ann", "bob", "ann"} {
		atOnce(t, func() error { return LikeOnce(t.Context(), db, post, visitor) })
	}
	want(t, db, 2)
}

func TestWithoutProtectionADoubleClickIsTwo(t *testing.T) {
	db := open(t)
	for range 2 {
		if err := Count(context.Background(), db, post); err != nil {
			t.Error(err)
		}
	}
	want(t, db, 2)
}

func TestTheDocsQuoteTheProgram(t *testing.T) {
	_, code, _ := strings.Cut(exampletest.Source(t, "likes.go"), "\n)\n\n")
	exampletest.HasCode(t, code, "docs/cheap-writes.md", "docs/cheap-writes.zh-CN.md")
}
