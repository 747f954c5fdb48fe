package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/nebis-dev/nebis/cmd/internal/dburl"
	"github.com/nebis-dev/nebis/cmd/internal/shop"
	"github.com/nebis-dev/nebis/cmd/internal/sweeper"
	"github.com/nebis-dev/nebis/cmd/metrics"
)

const (
	demoAddr = "127.0.0.1:8080"
	demoDB   = "sqlite:nebis-demo.db"

	demoStart = 30 * time.Second // to reach the database and make the tables
)

func newDemo(e env) *cobra.Command {
	var addr, db string
	var noClean bool
	m := &metricsFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Runs a small shop that takes each order once",
		Long: `Runs a small shop that takes each order once, beside a form without protection:
double-click in both and see the difference. Orders are paid at a simulated provider,
and their coupons come from a simulated service that fails where you want it to.

Its tables are named nebis_demo_…, so it touches nothing else in the database.
Orders are public, on purpose. SIGINT and SIGTERM let running orders finish.`,
		Example: `  nebis demo
  nebis demo --addr 127.0.0.1:0
  nebis demo --db sqlite:shop.db
  nebis demo --db mysql://ann:secret@localhost:3306/shop
  NEBIS_DB=postgres://ann:secret@localhost:5432/shop nebis demo`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("db") && e.getenv("NEBIS_DB") != "" {
				db = e.getenv("NEBIS_DB")
			}
			return demo(cmd.Context(), e, addr, db, noClean, m)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", demoAddr, "address to listen on; port 0 picks a free one")
	cmd.Flags().StringVar(&db, "db", demoDB, "database, also from NEBIS_DB:\n"+dburl.Forms)
	cmd.Flags().BoolVar(&noClean, "no-clean", false, "do not remove expired keys (else every 10 minutes or so)")
	m.flags(cmd)
	return cmd
}

func demo(ctx context.Context, e env, addr, dbURL string, noClean bool, m *metricsFlags) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return usagef("--addr %q is not HOST:PORT", addr)
	}
	if err := m.check(); err != nil {
		return err
	}
	target, err := dburl.Parse(dbURL)
	if err != nil {
		return usagef("--db: %w", err)
	}
	db, err := target.Open()
	if err != nil {
		return err
	}
	defer db.Close()

	log := slog.New(slog.NewTextHandler(e.stderr, nil))
	n, err := newInstruments()
	if err != nil {
		return err
	}
	s, err := openShop(ctx, db, target, log, n)
	if err != nil {
		return fmt.Errorf("database %s: %w", target, err)
	}
	hide, err := n.serve(m.addr, log)
	if err != nil {
		return err
	}
	defer hide()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer counting(ctx, s.Counts(), log)()
	log.Info("the shop is open", "data", target.String(), "tables", "nebis_demo_…")
	fmt.Fprintf(e.stdout, "listening on http://%s\n", reachable(ln.Addr()))
	every := sweeper.Every
	if noClean {
		every = 0
	}
	ctx, stop := context.WithCancel(ctx)
	defer sweeper.Beside(ctx, every, log, sweeper.Keys(s.Store(), n.Swept), oldCalls(s))()
	defer stop()
	if err := both(ctx, s.Work, func(ctx context.Context) error { return shop.Serve(ctx, ln, s.Handler(), log) }); err != nil {
		return err
	}
	log.Info("the shop is closed")
	return nil
}

// both runs two things until ctx or one of them ends, and returns when both have.
func both(ctx context.Context, one, other func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 2)
	for _, run := range []func(context.Context) error{one, other} {
		go func() {
			defer stop()
			ended <- run(ctx)
		}()
	}
	return errors.Join(<-ended, <-ended)
}

// oldCalls removes the shop's calls that have long been over.
func oldCalls(s *shop.Shop) sweeper.Job {
	return sweeper.Job{Name: shop.CallTable, Clean: func(ctx context.Context) (all int, err error) {
		for {
			n, err := s.Calls().Purge(ctx, 1000)
			all += n
			if n == 0 || err != nil {
				return all, err
			}
		}
	}}
}

// openShop makes the tables, so that a shop which says that it listens can sell.
func openShop(ctx context.Context, db *sql.DB, target dburl.Target, log *slog.Logger, n *instruments) (*shop.Shop, error) {
	s, err := shop.New(db, target.Dialect, log, &shop.Options{Observe: n.Observe, ObserveCalls: n.ObserveOutbox, Callback: n.Callback})
	if err != nil {
		return nil, err
	}
	// The site's own outbox, in the same database, is none of the demo's.
	if err := n.Watch(db, s.Store(), &metrics.WatchOptions{Outbox: shop.CallTable}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, demoStart)
	defer cancel()
	return s, s.Migrate(ctx)
}

// reachable is an address to open in a browser: "every address" is none.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("localhost", fmt.Sprint(tcp.Port))
}
