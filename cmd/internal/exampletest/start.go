// Package exampletest runs the programs of the docs as they stand.
package exampletest

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Start builds the program of this folder, its address 127.0.0.1:8080 changed to a
// free port, runs it in an empty folder, waits until it answers, and at the end
// interrupts it as Ctrl-C does.
func Start(t *testing.T, environment ...string) (base string) {
	t.Helper()
	return StartTo(t, nil, environment...)
}

// StartTo is Start, and the program prints to stdout.
func StartTo(t *testing.T, stdout io.Writer, environment ...string) (base string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	dir := t.TempDir()
	bin := build(t, dir, addr)
	cmd := exec.CommandContext(context.Background(), bin)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, os.Stderr
	cmd.Env = append(cmd.Environ(), environment...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() { died <- cmd.Wait() }()
	t.Cleanup(func() { stop(t, cmd, died) })
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "http://" + addr
		}
		select {
		case err := <-died:
			died <- err
			t.Fatalf("the program ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop allows for a program that does not handle an interrupt, and so dies of it.
func stop(t *testing.T, cmd *exec.Cmd, died <-chan error) {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	err := <-died
	if err != nil && err.Error() != "signal: interrupt" {
		t.Errorf("the program ended: %v", err)
	}
}

func build(t *testing.T, dir, addr string) string {
	t.Helper()
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(dir, "main.go")
	text := strings.Replace(string(source), "127.0.0.1:8080", addr, 1)
	if err := os.WriteFile(moved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("main.go")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: moved}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "shop")
	cmd := exec.Command("go", "build", "-overlay", file, "-o", bin, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}
