package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/badday"
	"github.com/nebis-dev/nebis/cmd/internal/badday/baddaytest"
	"github.com/nebis-dev/nebis/cmd/internal/gatewaytest"
)

// The numbers of docs/adopt.md are what this day leaves in the tables.
func TestTheBadDay(t *testing.T) {
	tool := baddaytest.Tool(t)
	for step := range steps {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "shop.db")
			shop, err := open(file, step)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(shop)
			defer server.Close()
			if err := badday.Send(t.Context(), server.URL); err != nil {
				t.Fatal(err)
			}
			baddaytest.Compare(t, tool, "sqlite:"+file, step)
			if _, err := open(file, step); err != nil {
				t.Errorf("started again: %v", err)
			}
		})
	}
}

// Nothing of the shop is changed: it is that of step 0.
func TestTheBadDayThroughTheGateway(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.db")
	shop, err := open(file, 0)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(shop)
	defer server.Close()
	front := gatewaytest.Front(t, server.URL, "--config", "gateway.yaml")
	if err := badday.Send(t.Context(), front.URL); err != nil {
		t.Fatal(err)
	}
	baddaytest.Compare(t, baddaytest.Tool(t), "sqlite:"+file, baddaytest.Gateway)
}

func TestMain(m *testing.M) {
	code := m.Run()
	gatewaytest.Clean()
	os.Exit(code)
}

func TestTheDocsQuoteThePrograms(t *testing.T) {
	baddaytest.DocsQuote(t, "go", "before.go", "prg.go", "index.go", "table.go")
	baddaytest.DocsQuote(t, "php", "php/0-before.php", "php/1-prg.php", "php/once.php", "php/2-index.php", "php/3-table.php")
	baddaytest.DocsQuote(t, "yaml", "gateway.yaml")
	baddaytest.DocsQuote(t, "sql", "php/index.mysql.sql")
}

// What setup.php makes at step 3 is the library's own table.
func TestTheTableOfPHPIsTheLibrarys(t *testing.T) {
	for name, d := range map[string]nebis.Dialect{"mysql": nebis.MySQL, "sqlite": nebis.SQLite} {
		want, err := d.Schema("")
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("php", "nebis."+name+".sql"))
		if err != nil || string(got) != want {
			t.Errorf("php/nebis.%s.sql is not nebis's Schema (%v); it is\n%s", name, err, want)
		}
	}
}
