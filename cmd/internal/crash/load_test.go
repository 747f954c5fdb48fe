package crash

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nebis-dev/nebis"
	"github.com/nebis-dev/nebis/cmd/internal/dbtest"
)

// A load is 20 clients that send each of their keys through two pools at once:
// 40 requests under way, until it is finished.
type load struct {
	*world
	stores  []*nebis.Store
	keys    atomic.Int64
	ended   atomic.Int64 // attempts, with an answer or without
	stopped atomic.Bool
	wg      sync.WaitGroup

	mu      sync.Mutex
	running map[*int]func() // what makes each attempt under way give up
}

const clients = 20

// underLoad puts a load on a server of the test's own.
func underLoad(t *testing.T, c dbtest.Config, o *nebis.Options) (*load, *dbtest.Server) {
	t.Helper()
	server := dbtest.Private(t, c.Kind, nil)
	l := &load{world: newWorld(t, c.On(server)), running: map[*int]func(){}}
	for range 2 {
		db := c.Pool(t, l.dsn)
		db.SetMaxOpenConns(clients + 10)
		db.SetMaxIdleConns(clients + 10)
		l.stores = append(l.stores, l.store(db, o))
	}
	for range clients {
		l.wg.Go(l.client)
	}
	t.Cleanup(l.finish)
	return l, server
}

func (l *load) client() {
	for !l.stopped.Load() {
		k := key("load", l.keys.Add(1))
		var both sync.WaitGroup
		for _, s := range l.stores {
			both.Go(func() { l.insist(k, func() attempt { return l.once(s, k) }) })
		}
		both.Wait()
	}
}

// once is one attempt, which can be made to give up.
func (l *load) once(s *nebis.Store, k string) attempt {
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	id := new(int)
	l.mu.Lock()
	l.running[id] = giveUp
	l.mu.Unlock()
	a := try(ctx, s, k, onward)
	l.mu.Lock()
	delete(l.running, id)
	l.mu.Unlock()
	l.ended.Add(1)
	return a
}

// giveUp makes all attempts under way give up, and waits until some have. Those
// in the middle of a COMMIT take longer, or learn of it after all.
func (l *load) giveUp() {
	l.mu.Lock()
	all := slices.Collect(maps.Values(l.running))
	l.mu.Unlock()
	before := l.ended.Load()
	for _, f := range all {
		f()
	}
	l.await(before + 1 + rand.Int64N(int64(len(all))))
}

// await waits until n attempts have ended.
func (l *load) await(n int64) {
	for l.ended.Load() < n && !l.t.Failed() {
		time.Sleep(time.Millisecond)
	}
}

// work waits until some more attempts have ended.
func (l *load) work() { l.await(l.ended.Load() + 1 + rand.Int64N(200)) }

// finish lets no more keys begin and waits until each that did has its answer.
func (l *load) finish() {
	l.stopped.Store(true)
	l.wg.Wait()
}

// durable are the databases whose server is killed and frozen.
func durable() []dbtest.Config {
	return []dbtest.Config{dbtest.Lookup("mariadb"), dbtest.Lookup("postgres-pgx")}
}

func TestAServerKilledUnderLoad(t *testing.T) {
	each(t, durable(), func(t *testing.T, c dbtest.Config) {
		l, server := underLoad(t, c, nil)
		for range *times {
			l.work()
			server.Kill()
			l.must(server.Start(context.Background()))
		}
		l.work()
		l.finish()
		l.audit("server killed under load", *times)
	})
}

// A frozen server keeps its connections open and says nothing. It goes on when
// clients have given up.
func TestAServerFrozenUnderLoad(t *testing.T) {
	each(t, durable(), func(t *testing.T, c dbtest.Config) {
		l, server := underLoad(t, c, &nebis.Options{CommitWait: time.Second})
		for range *times {
			l.work()
			l.must(server.Pause())
			l.giveUp()
			l.must(server.Resume())
		}
		l.work()
		l.finish()
		l.audit("server frozen under load", *times)
	})
}
