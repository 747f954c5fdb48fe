package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/gateway"
	"github.com/nebis-dev/nebis/cmd/internal/report"
	"github.com/nebis-dev/nebis/cmd/internal/sweeper"
	"github.com/nebis-dev/nebis/hourly"
)

// gatewayFlags is the command line of the gateway.
type gatewayFlags struct {
	addr, upstream, db, config string
	protect, forms             []string
	observe, check, print      bool
	noClean                    bool
	metrics                    metricsFlags
}

func newGateway(e env) *cobra.Command {
	f := &gatewayFlags{}
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Stands in front of a site and protects its forms, whatever it is written in",
		Long: `Stands in front of a site that is written in any language, and gives the forms of
its pages a key, so that a write that comes twice can be told from two writes.

A pattern is a method, a path with * and {name}, and a query:
POST /checkout, /orders/{id}/refund, GET /checkout*, POST /flow.php?step=done.
Without a method it is any that writes.

Flags go before the environment (NEBIS_ADDR, NEBIS_UPSTREAM, NEBIS_DB, NEBIS_OWNER,
NEBIS_TRUSTED_PROXIES, NEBIS_PROTECT and NEBIS_FORMS with commas between patterns,
NEBIS_OBSERVE=1, NEBIS_METRICS, NEBIS_METRICS_PUBLIC=true, NEBIS_CONFIG), and that before the file. SIGINT and SIGTERM let
running requests finish. A socket that systemd has opened is taken in place of --addr.`,
		Example: `  nebis gateway --upstream http://127.0.0.1:8081 --protect 'POST /checkout' --forms 'GET /checkout*'
  nebis gateway --upstream http://127.0.0.1:8081 --forms 'GET /checkout*' --observe
  nebis gateway --config nebis.yaml --check-config
  nebis gateway --config nebis.yaml`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, e) },
	}
	f.flags(cmd)
	return cmd
}

func (f *gatewayFlags) flags(cmd *cobra.Command) {
	d := gateway.Default()
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "", "address to listen on; port 0 picks a free one (default "+d.Addr+")")
	flags.StringVar(&f.upstream, "upstream", "", "the site behind, such as http://127.0.0.1:8081")
	flags.StringVar(&f.db, "db", "", "database (default "+d.DB+"):\n"+dburl.Forms)
	flags.StringArrayVar(&f.protect, "protect", nil, "`pattern` of writes that are done once; may be given several times")
	flags.StringArrayVar(&f.forms, "forms", nil, "`pattern` of pages whose forms get a key and the script; may be given several times")
	flags.BoolVar(&f.observe, "observe", false, "change nothing; at the end, print which writes came twice and what would have stopped them")
	f.metrics.flags(cmd)
	flags.StringVar(&f.config, "config", "", "`file` with all of this and more, in YAML")
	flags.BoolVar(&f.noClean, "no-clean", false, "do not remove expired keys (else as often as clean in the file says, every 10 minutes or so)")
	flags.BoolVar(&f.check, "check-config", false, "only tell whether the configuration is right")
	flags.BoolVar(&f.print, "print-config", false, "only print what is in force, as a file; a database's password is in it")
}

func (f *gatewayFlags) run(cmd *cobra.Command, e env) error {
	f.environment(cmd, e)
	c, err := f.settle(cmd, e)
	switch {
	case err != nil:
		return err
	case f.print:
		return c.Print(e.stdout)
	case f.check:
		for _, w := range c.Warnings() {
			fmt.Fprintln(e.stderr, "warning:", w)
		}
		fmt.Fprintln(e.stdout, "the configuration is right")
		return nil
	case len(c.Routes) == 0 && len(c.Forms) == 0 && !f.observe:
		return usagef("nothing to do: give --protect, --forms or --observe, or a --config file with routes")
	}
	return f.serve(cmd.Context(), e, c)
}

// environment fills in the flags that the file cannot have.
func (f *gatewayFlags) environment(cmd *cobra.Command, e env) {
	if !cmd.Flags().Changed("config") {
		f.config = e.getenv("NEBIS_CONFIG")
	}
	if !cmd.Flags().Changed("observe") {
		f.observe = e.getenv("NEBIS_OBSERVE") == "1" || e.getenv("NEBIS_OBSERVE") == "true"
	}
}

// settle reads the file, and puts the environment and the flags over it.
func (f *gatewayFlags) settle(cmd *cobra.Command, e env) (gateway.Config, error) {
	c := gateway.Default()
	if f.config != "" {
		file, err := os.Open(f.config)
		if err != nil {
			return c, usagef("--config: %w", err)
		}
		defer file.Close()
		if c, err = gateway.ReadFile(file, f.config); err != nil {
			return c, &usageError{err}
		}
	}
	overrides := gateway.FromEnvironment(e.getenv)
	for _, flag := range []struct {
		name   string
		values []string
	}{
		{"addr", []string{f.addr}}, {"upstream", []string{f.upstream}}, {"db", []string{f.db}}, {"protect", f.protect}, {"forms", f.forms},
		{"metrics", []string{f.metrics.addr}}, {"metrics-public", []string{strconv.FormatBool(f.metrics.public)}},
	} {
		if cmd.Flags().Changed(flag.name) {
			overrides = append(overrides, gateway.Override{Field: strings.ReplaceAll(flag.name, "-", "_"), Source: "--" + flag.name, Values: flag.values})
		}
	}
	if err := c.Apply(overrides); err != nil {
		return c, &usageError{err}
	}
	if f.noClean {
		c.Clean = 0
	}
	return c, nil
}

func (f *gatewayFlags) serve(ctx context.Context, e env, c gateway.Config) error {
	log := slog.New(slog.NewTextHandler(e.stderr, nil))
	n, through, err := gatewayInstruments(c)
	if err != nil {
		return err
	}
	o := gateway.Options{Log: log, Done: through.done}
	if f.observe {
		o.Observe = gateway.NewObserver()
	} else if err := f.secret(e, c, &o); err != nil {
		return err
	}
	var keys []sweeper.Job
	if len(c.Routes) > 0 && !f.observe {
		k, err := keeper(ctx, c, &o, n)
		if err != nil {
			return err
		}
		defer k.db.Close()
		defer counting(ctx, k.counts, log)()
		keys = append(keys, sweeper.Keys(k.store, n.Swept))
	}
	g, err := gateway.New(c, o)
	if err != nil {
		return err
	}
	hide, err := n.serve(c.Metrics, log)
	if err != nil {
		return err
	}
	defer hide()
	ln, err := gateway.Listen(c.Addr)
	if err != nil {
		return err
	}
	f.announce(e, c, ln, log)
	ctx, stop := context.WithCancel(ctx)
	defer sweeper.Beside(ctx, c.Clean, log, keys...)()
	defer stop()
	if err := g.Serve(ctx, ln); err != nil {
		return err
	}
	log.Info("the gateway is closed")
	if o.Observe != nil {
		return tell(e, o.Observe)
	}
	return nil
}

func (f *gatewayFlags) announce(e env, c gateway.Config, ln net.Listener, log *slog.Logger) {
	if !f.observe {
		for _, w := range c.Warnings() {
			log.Warn(w)
		}
	}
	log.Info("the gateway is open", "site", c.Upstream, "routes", len(c.Routes), "forms", len(c.Forms), "observing", f.observe)
	fmt.Fprintf(e.stdout, "listening on http://%s\n", reachable(ln.Addr()))
}

// gatewayStart is how long the database may take to answer at the start.
const gatewayStart = 30 * time.Second

// kept is the database that holds the keys, and what uses it.
type kept struct {
	db     *sql.DB
	store  *nebis.Store
	counts *hourly.Counter
}

// keeper opens the database that holds the keys, and gives the routes their guard.
func keeper(ctx context.Context, c gateway.Config, o *gateway.Options, n *instruments) (*kept, error) {
	target, err := dburl.Parse(c.DB)
	if err != nil {
		return nil, usagef("db: %w", err)
	}
	db, err := target.Open()
	if err != nil {
		return nil, err
	}
	counts, err := hourly.New(db, target.Dialect, nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	store, err := nebis.New(db, target.Dialect, &nebis.Options{Observe: func(ctx context.Context, e nebis.Event) {
		counts.Observe(ctx, e)
		n.Observe(ctx, e)
	}})
	if err == nil {
		err = prepare(ctx, store, o.Log)
	}
	if err == nil {
		err = n.Watch(db, store, nil)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", target, err), db.Close())
	}
	o.Guard = gateway.Guard(store, c, o.Secret, o.Log)
	o.Ready = db.PingContext
	return &kept{db, store, counts}, nil
}

// prepare makes the table, or what is missing of it, and tells what would break the
// promise.
func prepare(ctx context.Context, store *nebis.Store, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, gatewayStart)
	defer cancel()
	if _, err := store.Migrate(ctx, false); err != nil {
		return err
	}
	findings, err := store.Check(ctx)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level == nebis.Problem {
			return fmt.Errorf("%s. %s", f.What, f.Do)
		}
		if f.Level == nebis.Warning {
			log.Warn("the database: "+f.What, "do", f.Do)
		}
	}
	return nil
}

// secret is needed where visitors get a cookie.
func (f *gatewayFlags) secret(e env, c gateway.Config, o *gateway.Options) (err error) {
	if c.Owner.IsVisitor() {
		o.Secret, err = gateway.Secret(e.getenv("NEBIS_SECRET"), c.DB)
	}
	return err
}

// tell prints what was observed.
func tell(e env, o *gateway.Observer) error {
	lang, err := report.ParseLang("", e.getenv)
	if err != nil {
		return err
	}
	return report.Text(e.stdout, o.Page(lang), coloured(e))
}
