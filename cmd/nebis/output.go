package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// The exit codes of find, scan, check and reconcile, as grep has them turned round:
// whether there is a problem.
const (
	exitNone   = 0
	exitFound  = 1
	exitUnable = 2
)

// codedError ends the program with a code of its own; without an error it says
// nothing.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return fmt.Sprint(e.err) }
func (e *codedError) Unwrap() error { return e.err }

// unable is a command that could not run, unless err says itself how it ended.
func unable(err error) error {
	usage, coded := new(usageError), new(codedError)
	if err == nil || errors.As(err, &usage) || errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("stopped before the end: there is no result")
	}
	return &codedError{exitUnable, err}
}

// output is how find and scan show what they have seen.
type output struct {
	json bool
	html string
	lang string
	zone string
	full bool
}

func (o *output) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON instead of text")
	cmd.Flags().StringVar(&o.html, "html", "", "also write one self-contained page to this `FILE`")
	cmd.Flags().StringVar(&o.lang, "lang", "", "en or zh; the default is the language of the environment")
	cmd.Flags().BoolVar(&o.full, "full", false, "with whole addresses, users and ids: personal data")
}

// shown is a result that can be shown.
type shown interface {
	Found() bool
	Page(report.Lang) report.Page
}

// show writes the result and returns what the exit code says.
func (o *output) show(e env, r shown) error {
	lang, err := report.ParseLang(o.lang, e.getenv)
	if err != nil {
		return usagef("%w", err)
	}
	if o.html != "" {
		if err := o.writeHTML(lang, r); err != nil {
			return unable(err)
		}
	}
	if err := o.print(e, lang, r); err != nil {
		return unable(err)
	}
	if r.Found() {
		return &codedError{code: exitFound}
	}
	return nil
}

func (o *output) print(e env, lang report.Lang, r shown) error {
	if o.json {
		return printJSON(e.stdout, r)
	}
	return report.Text(e.stdout, r.Page(lang), coloured(e))
}

// printJSON is how every command prints JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeHTML leaves no half of a page behind.
func (o *output) writeHTML(lang report.Lang, r shown) error {
	f, err := o.beside()
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := report.HTML(f, lang, r.Page); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), o.html)
}

// check finds mistakes before the work, which may take minutes.
func (o *output) check(e env) error {
	if _, err := report.ParseLang(o.lang, e.getenv); err != nil {
		return usagef("%w", err)
	}
	if _, err := o.location(); err != nil {
		return err
	}
	return o.checkHTML()
}

func (o *output) checkHTML() error {
	if o.html == "" {
		return nil
	}
	if info, err := os.Stat(o.html); err == nil && info.IsDir() {
		return usagef("--html %s is a folder: name a file", o.html)
	}
	f, err := o.beside()
	if err != nil {
		return usagef("--html: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// beside is a new file in the folder of the page.
func (o *output) beside() (*os.File, error) {
	return os.CreateTemp(filepath.Dir(o.html), ".nebis-*.html")
}

// location reads --tz; nil is the default.
func (o *output) location() (*time.Location, error) {
	if o.zone == "" {
		return nil, nil
	}
	loc, err := time.LoadLocation(o.zone)
	if err != nil {
		return nil, usagef("--tz: %w", err)
	}
	return loc, nil
}

func coloured(e env) bool {
	return e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb" && isTerminal(e.stdout)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
