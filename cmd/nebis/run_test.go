package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// call runs the program as a shell would.
func call(t *testing.T, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, func(name string) string { return environment[name] }, &out, &errs)
	return code, out.String(), errs.String()
}

func TestExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	db := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	for _, c := range []struct {
		args         []string
		code         int
		stdout, says string
	}{
		{[]string{"version"}, 0, "nebis ", ""},
		{[]string{"--help"}, 0, "nebis demo", ""},
		{[]string{"help", "demo"}, 0, "NEBIS_DB=postgres://", ""},
		{[]string{"demo", "--help"}, 0, "Examples:", ""},
		{nil, 2, "", "no command given"},
		{[]string{"dmeo"}, 2, "", `no command "dmeo"`},
		{[]string{"--bogus"}, 2, "", "--bogus"},
		{[]string{"version", "now"}, 2, "", "nebis version takes no arguments"},
		{[]string{"demo", "now"}, 2, "", "nebis demo takes no arguments"},
		{[]string{"demo", "--port", "1"}, 2, "", "--port"},
		{[]string{"demo", "--addr", "8080"}, 2, "", "HOST:PORT"},
		{[]string{"demo", "--db", "shop.db"}, 2, "", "sqlite:FILE"},
		{[]string{"demo", "--db", "oracle://x/y"}, 2, "", "oracle"},
		{[]string{"demo", "--db", "sqlite:/nowhere/at/all/shop.db"}, 1, "", "sqlite:/nowhere/at/all/shop.db"},
		{[]string{"demo", "--db", db, "--addr", taken.Addr().String()}, 1, "", "address already in use"},
		{[]string{"demo", "--db", "mysql://ann:s3cret@127.0.0.1:1/shop"}, 1, "", "mysql://ann@127.0.0.1:1/shop"},
	} {
		code, stdout, stderr := call(t, nil, c.args...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.says) {
			t.Errorf("nebis %s: exit %d, wanted %d %q %q\nstdout: %s\nstderr: %s", strings.Join(c.args, " "), code, c.code, c.stdout, c.says, stdout, stderr)
		}
		if code == 0 && stderr != "" || code != 0 && stdout != "" {
			t.Errorf("nebis %s: wrong stream\nstdout: %s\nstderr: %s", strings.Join(c.args, " "), stdout, stderr)
		}
		if strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("nebis %s prints the password", strings.Join(c.args, " "))
		}
	}
}

func TestTheFlagWinsOverTheEnvironment(t *testing.T) {
	environment := map[string]string{"NEBIS_DB": "oracle://environment/x"}
	if code, _, stderr := call(t, environment, "demo"); code != 2 || !strings.Contains(stderr, "oracle") {
		t.Errorf("NEBIS_DB alone: exit %d, %s", code, stderr)
	}
	if code, _, stderr := call(t, environment, "demo", "--db", "cobol:x"); code != 2 || !strings.Contains(stderr, "cobol") {
		t.Errorf("with --db: exit %d, %s", code, stderr)
	}
}

func TestTheDemoSaysWhereItListensAndStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout, in := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	file := filepath.Join(t.TempDir(), "shop.db")
	go func() {
		ended <- run(ctx, []string{"demo", "--addr", "127.0.0.1:0", "--db", "sqlite:" + file}, func(string) string { return "" }, in, &stderr)
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("it says %q", line)
	}
	res, err := http.Get(base + "/api/orders")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	stop()
	if code := <-ended; code != 0 || res.StatusCode != http.StatusOK {
		t.Errorf("exit %d, status %d", code, res.StatusCode)
	}
	if !strings.Contains(stderr.String(), "sqlite:"+file) {
		t.Errorf("it does not say where the data is: %s", stderr.String())
	}
}
