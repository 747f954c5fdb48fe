package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/callback"
	"github.com/nebis-dev/nebis/callback/callbacktest"
	"github.com/nebis-dev/nebis/cmd/internal/callbacks"
	"github.com/nebis-dev/nebis/cmd/internal/report"
)

// explainFlags is the command line of callback explain.
type explainFlags struct {
	keys, public string
	given        callbacktest.Keys
	json         bool
}

func newExplain(e env) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain FILE",
		Short: "Says of a saved callback whose it is, which key it has, and whether its signature holds",
		Long: `Says of a saved callback whose it is, which key it has, and whether its signature
holds. FILE is the HTTP request as it came: first line, headers, an empty line, body.

Exit code: 0 it was understood, 1 its signature does not hold, 2 it could not be read.`,
		Example: `  nebis callback explain request.txt --public-key alipay.pem
  NEBIS_CALLBACK_SECRET=whsec_… nebis callback explain request.txt --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want one FILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return unable(f.run(e, args[0])) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.public, "public-key", "", "`FILE` of the provider's public key or certificate")
	flags.StringVar(&f.keys, "keys", "", "`FILE` of the test keys of callback fire")
	flags.StringVar(&f.given.Account, "account", "", "app_id, mchid or pid; default: that of the request, where it can be read")
	flags.StringVar(&f.given.Secret, "secret", "", "secret or APIv3 key; also from NEBIS_CALLBACK_SECRET")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of text")
	return cmd
}

func (f *explainFlags) run(e env, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	found, err := callbacks.Read(text)
	if err != nil {
		return err
	}
	means, err := f.means(e, found.Provider)
	if err != nil {
		return err
	}
	found.Check(means)
	if f.json {
		err = printJSON(e.stdout, found)
	} else {
		printFinding(e.stdout, found)
	}
	if err == nil && found.Signature == callbacks.Wrong {
		return &codedError{code: exitFailed}
	}
	return err
}

func (f *explainFlags) means(e env, provider string) (m callbacks.Means, err error) {
	var public string
	if f.keys != "" {
		if _, err := os.Stat(f.keys); err != nil {
			return m, err
		}
		s, _, err := callbacks.Open(provider, f.keys, callbacktest.Keys{})
		if err != nil {
			return m, err
		}
		m.Keys, public = s.Keys, s.Public
	}
	if f.public != "" {
		text, err := os.ReadFile(f.public)
		if err != nil {
			return m, err
		}
		public = string(text)
	}
	if public != "" {
		if m.Public, err = callback.PublicKey(public); err != nil {
			return m, err
		}
	}
	if f.given.Secret == "" {
		f.given.Secret = e.getenv("NEBIS_CALLBACK_SECRET")
	}
	if f.given.Account != "" {
		m.Account = f.given.Account
	}
	if f.given.Secret != "" {
		m.Secret = f.given.Secret
	}
	return m, nil
}

func printFinding(w io.Writer, f *callbacks.Finding) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%-10s %s\n", name+":", report.CleanLong(text))
		}
	}
	line("provider", f.Provider+", because "+f.Because)
	line("scope", f.Scope)
	line("owner", f.Owner)
	line("key", f.Key)
	if e := f.Event; e != nil {
		line("says", string(e.State)+" ("+e.Status+")")
		line("order", e.Order)
		line("payment", e.Payment)
		line("business", business(e))
		if e.Currency != "" {
			line("amount", fmt.Sprintf("%d, %d of it given back, in the smallest unit of %s", e.Amount, e.Refunded, e.Currency))
		}
	}
	switch f.Signature {
	case callbacks.Holds:
		line("signature", "holds")
	case callbacks.Old:
		line("signature", "holds, but a site refuses it by now: "+f.Why)
	case callbacks.Wrong:
		line("signature", "does not hold, or the request is not for this account: "+f.Why)
	default:
		line("signature", "not checked. "+f.Why)
	}
}

// business is what Once would take for the same, or why it would take nothing.
func business(e *callback.Event) string {
	switch b := e.Business(); {
	case b != "":
		return b
	case e.Payment == "":
		return "none: it names no payment"
	default:
		return "none: it tells of a refund, and not of which"
	}
}
