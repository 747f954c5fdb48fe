package main

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/callbacks"
)

func newCallback(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "callback",
		Short: "Tries a site's payment callbacks, explains saved ones, lists those that failed",
		Args:  noCommand,
		RunE:  func(*cobra.Command, []string) error { return usagef("want callback fire, explain or failures") },
	}
	cmd.AddCommand(newFire(e), newExplain(e), newFailures(e))
	return cmd
}

// fireFlags is the command line of callback fire.
type fireFlags struct {
	callbacks.Plan
	provider, keys, state string
	given                 callbacktest.Keys
	json, noForged        bool
}

func newFire(e env) *cobra.Command {
	f := &fireFlags{}
	cmd := &cobra.Command{
		Use:   "fire --provider PROVIDER --url URL",
		Short: "Sends the same signed callback several times, as the provider does",
		Long: `Sends the same signed callback several times, as the provider does, after one with
a wrong signature, and says how often the site has acknowledged it. What the site did
with it is in its own tables: one order paid, the points given once.

It signs with test keys, which it makes at the first run and keeps in a file, and
prints what a test copy of the site has to be told. Never give these to a site that
is open to the world: whoever has the file can make orders paid.

Providers: ` + callbacks.Names() + `.

Exit code: 0 all were acknowledged and the forged one was not, 1 not so, 2 could not run.`,
		Example: `  nebis callback fire --provider alipay --url http://127.0.0.1:8080/notify.php --order 1001 --amount 8800
  nebis callback fire --provider epay --account 1001 --url http://127.0.0.1:8080/notify --times 5 --parallel
  NEBIS_CALLBACK_SECRET=whsec_… nebis callback fire --provider stripe --url http://127.0.0.1:8080/webhook --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return unable(f.run(cmd.Context(), e)) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, "provider", "", "whose callback: "+callbacks.Names())
	flags.StringVar(&f.URL, "url", "", "where the site takes it")
	flags.IntVar(&f.Times, "times", 3, "how often")
	flags.DurationVar(&f.Gap, "gap", 100*time.Millisecond, "pause between two")
	flags.BoolVar(&f.Parallel, "parallel", false, "do not wait for an answer before the next")
	flags.DurationVar(&f.Patience, "patience", 30*time.Second, "how long to wait for an answer")
	flags.StringVar(&f.Notice.Order, "order", "1001", "the site's number of the order")
	flags.StringVar(&f.Notice.Payment, "payment", "", "the provider's number of the payment; default: P and the order")
	flags.StringVar(&f.state, "state", "paid", "paid, pending, closed or refunded")
	flags.Int64Var(&f.Notice.Amount, "amount", 100, "in cents")
	flags.Int64Var(&f.Notice.Refunded, "refunded", 0, "in cents, with --state refunded; default: all of it")
	flags.StringVar(&f.keys, "keys", "", "`FILE` of the test keys; default: nebis-callback-PROVIDER.json here")
	flags.StringVar(&f.given.Account, "account", "", "app_id, mchid or pid that the site knows")
	flags.StringVar(&f.given.Secret, "secret", "", "secret that the site knows, in place of a test key; also from NEBIS_CALLBACK_SECRET")
	flags.BoolVar(&f.noForged, "no-forged", false, "do not send one with a wrong signature first")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

func (f *fireFlags) run(ctx context.Context, e env) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.given.Secret == "" {
		f.given.Secret = e.getenv("NEBIS_CALLBACK_SECRET")
	}
	if f.keys == "" {
		f.keys = "nebis-callback-" + f.provider + ".json"
	}
	s, isNew, err := callbacks.Open(f.provider, f.keys, f.given)
	if err != nil {
		return err
	}
	v := verdict{Provider: f.provider, URL: f.URL, Keys: f.keys, NewKeys: isNew, Settings: told(s.Settings, f.given.Secret), plan: f.Plan}
	if !f.json {
		v.announce(e.stdout)
	}
	if !f.noForged {
		if v.Forged, err = f.forged(ctx, s); err != nil {
			return err
		}
	}
	if v.Shots, err = callbacks.Fire(ctx, s, f.Plan); err != nil {
		return err
	}
	v.count()
	if f.json {
		err = printJSON(e.stdout, v)
	} else {
		v.print(e.stdout)
	}
	if err == nil && !v.Good {
		return &codedError{code: exitFailed}
	}
	return err
}

// told are the settings without the secret that the caller has given: the site has
// it, and no screen or file should.
func told(all []callbacktest.Setting, secret string) []callbacktest.Setting {
	return slices.DeleteFunc(all, func(s callbacktest.Setting) bool {
		return secret != "" && s.Value == strings.TrimSpace(secret)
	})
}

func (f *fireFlags) check() error {
	u, err := url.Parse(f.URL)
	f.Notice.State = callback.State(f.state)
	switch {
	case f.provider == "":
		return usagef("--provider is missing: one of %s", callbacks.Names())
	case callbacktest.Makers[f.provider] == nil:
		return usagef("--provider %q is not known: there are %s", f.provider, callbacks.Names())
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return usagef("--url %q: want http://… or https://…", f.URL)
	case f.Times < 1 || f.Times > 1000:
		return usagef("--times %d: want 1 to 1000", f.Times)
	case f.Notice.Amount < 1 || f.Notice.Refunded < 0 || f.Gap < 0 || f.Patience <= 0:
		return usagef("want --amount from 1, --refunded and --gap from 0, and a --patience")
	}
	switch f.Notice.State {
	case callback.Paid, callback.Pending, callback.Closed, callback.Refunded:
		return nil
	}
	return usagef("--state %q: want paid, pending, closed or refunded", f.state)
}

func (f *fireFlags) forged(ctx context.Context, s *callbacktest.Sender) (*callbacks.Shot, error) {
	other, err := callbacks.Forged(f.provider, s)
	if err != nil {
		return nil, err
	}
	plan := f.Plan
	plan.Times = 1
	shots, err := callbacks.Fire(ctx, other, plan)
	if err != nil {
		return nil, err
	}
	return &shots[0], nil
}
