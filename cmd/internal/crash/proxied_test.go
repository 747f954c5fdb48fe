package crash

import (
	"context"
	"database/sql"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// proxied is a world whose shop reaches the database through a proxy; the audit
// goes straight to it.
type proxied struct {
	*world
	proxy *dbtest.Proxy
	store *nebis.Store
}

func newProxied(t *testing.T, c dbtest.Config, o *nebis.Options) proxied {
	t.Helper()
	p := proxied{world: newWorld(t, c), proxy: dbtest.NewProxy(t, c.Addr(t))}
	p.store = p.newStore(o)
	return p
}

// newStore returns a store on a pool that has no connection yet.
func (p proxied) newStore(o *nebis.Options) *nebis.Store {
	p.t.Helper()
	db, err := openBounded(p.c, p.c.Through(p.dsn, p.proxy.Addr))
	p.must(err)
	p.t.Cleanup(func() { db.Close() })
	return p.world.store(db, o)
}

// A trap knows at once whether it has seen its packet, even before the packet's
// connection is broken.
type trap struct {
	*dbtest.Trap
	seen *atomic.Bool
}

func (p proxied) set(f dbtest.Fault, match func([]byte) bool) trap {
	seen := new(atomic.Bool)
	return trap{p.proxy.Set(f, func(packet []byte) bool {
		if match(packet) {
			seen.Store(true)
		}
		return seen.Load()
	}), seen}
}

// remote are the configurations that differ in how a COMMIT travels.
//
// A COMMIT that is never answered ends with the transaction's context on pgx. The
// other drivers listen to no context while they commit, and Do needs their help
// to return: readTimeout in the DSN of go-sql-driver (longer than a lock wait), and
// openBounded for lib/pq. On MariaDB it is needed for less: the save commits, and
// obeys its context; only the driver's own COMMIT after it, which has nothing
// left to do, does not.
func remote() []dbtest.Config {
	const bound = "readTimeout=3s&innodb_lock_wait_timeout=1"
	return []dbtest.Config{
		dbtest.Lookup("mariadb").With(bound), dbtest.Lookup("mariadb-interpolate").With(bound),
		dbtest.Lookup("mysql56").With(bound),
		dbtest.Lookup("postgres-pgx"), dbtest.Lookup("postgres-pgx-simple"), dbtest.Lookup("postgres-pq"),
	}
}

// options are the defaults but for mariadb-interpolate, where the save travels
// as one text.
func options(c dbtest.Config, commitWait time.Duration) *nebis.Options {
	return &nebis.Options{WaitPiece: time.Second, CommitWait: commitWait, Unprepared: c.Name == "mariadb-interpolate"}
}

// commitPacket matches the packet that commits, once the function is through.
func commitPacket(k dbtest.Kind) func([]byte) bool {
	if k == dbtest.Postgres {
		return dbtest.Commit
	}
	const query, prepare, execute = 0x03, 0x16, 0x17 // the byte after length and number
	if k == dbtest.MySQL {
		return func(p []byte) bool { return p[4] == query && dbtest.Commit(p) }
	}
	return func(p []byte) bool {
		return p[4] == execute || p[4] != prepare && dbtest.Commit(p)
	}
}

// openBounded opens a pool. lib/pq listens to no context while it commits or
// begins, and its DSN has no read time-out; its dialer can be given one, which
// must be longer than the longest statement.
func openBounded(c dbtest.Config, dsn string) (*sql.DB, error) {
	if c.Driver != "postgres" {
		return sql.Open(c.Driver, dsn)
	}
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	connector.Dialer(&bounded{})
	return sql.OpenDB(connector), nil
}

type bounded struct{ net.Dialer }

func (d *bounded) DialTimeout(network, addr string, within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return d.DialContext(ctx, network, addr)
}

func (d *bounded) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, addr)
	return boundedConn{c}, err
}

type boundedConn struct{ net.Conn }

func (c boundedConn) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}
