package crash

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A gate is a driver whose connections can be stopped around their COMMIT.
type gate struct {
	driver driver.Driver
	dsn    string
}

func openGated(driverName, dsn string) (*sql.DB, error) {
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return sql.OpenDB(gate{db.Driver(), dsn}), nil
}

func (g gate) Driver() driver.Driver { return g.driver }

func (g gate) Connect(ctx context.Context) (driver.Conn, error) {
	var conn driver.Conn
	var err error
	if d, ok := g.driver.(driver.DriverContext); ok {
		var c driver.Connector
		if c, err = d.OpenConnector(g.dsn); err != nil {
			return nil, err
		}
		conn, err = c.Connect(ctx)
	} else {
		conn, err = g.driver.Open(g.dsn)
	}
	if err != nil {
		return nil, err
	}
	return &gated{Conn: conn}, nil
}

// gated calls before and after, each once, around the next statement that
// commits: the driver's own COMMIT, or MariaDB's save, which contains it.
type gated struct {
	driver.Conn
	before, after func()
}

func (g *gated) around(commit func() error) error {
	once(&g.before)
	err := commit()
	once(&g.after)
	return err
}

func once(f *func()) {
	if call := *f; call != nil {
		*f = nil
		call()
	}
}

func commits(query string) bool { return dbtest.Commit([]byte(query)) }

func (g *gated) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := g.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return gatedTx{tx, g}, nil
}

type gatedTx struct {
	driver.Tx
	g *gated
}

func (t gatedTx) Commit() error { return t.g.around(t.Tx.Commit) }

func (g *gated) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := g.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err == nil && commits(query) {
		return gatedStmt{stmt, g}, nil
	}
	return stmt, err
}

type gatedStmt struct {
	driver.Stmt
	g *gated
}

func (s gatedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (res driver.Result, err error) {
	err = s.g.around(func() error {
		res, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return res, err
}

// ExecContext leaves what commits to be prepared, where the gate is.
func (g *gated) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if commits(query) {
		return nil, driver.ErrSkip
	}
	return g.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (g *gated) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return g.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (g *gated) CheckNamedValue(v *driver.NamedValue) error {
	if c, ok := g.Conn.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (g *gated) ResetSession(ctx context.Context) error {
	if r, ok := g.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (g *gated) IsValid() bool {
	v, ok := g.Conn.(driver.Validator)
	return !ok || v.IsValid()
}
