package dbtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

type postgres struct{ bin string }

func findPostgres() (engine, error) {
	server, ok := look("/usr/lib/postgresql/*/bin/postgres", "/usr/local/pgsql/bin/postgres")
	if !ok {
		return nil, fmt.Errorf("PostgreSQL: %w: Debian's package postgresql has it (or run .ci/install)", ErrMissing)
	}
	return postgres{bin: filepath.Dir(server)}, nil
}

func (postgres) driver() string   { return "pgx" }
func (postgres) version() string  { return "SHOW server_version" }
func (postgres) stop() os.Signal  { return syscall.SIGINT } // "fast": cuts what is open
func (postgres) forget(f *folder) { forgetShared(f.path) }

func (postgres) dsn(addr string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", userName, password, addr)
}

func (p postgres) prepare(ctx context.Context, f *folder) error {
	secret := f.in("password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := f.who.own(secret); err != nil {
		return err
	}
	// Not synced: only the power could take that away, not a kill.
	return f.run(ctx, filepath.Join(p.bin, "initdb"), "--pgdata="+f.in("data"), "--no-sync",
		"--username="+userName, "--pwfile="+secret, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C.UTF-8")
}

func (p postgres) command(f *folder, port string, o Options) []string {
	settings := []string{
		"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=",
		"max_connections=500", fmt.Sprintf("shared_buffers=%dMB", o.Cache),
		// In the folder rather than in /dev/shm, where a killed server would leave it.
		"dynamic_shared_memory_type=mmap",
	}
	if o.Fast {
		settings = append(settings, "synchronous_commit=off")
	}
	args := []string{filepath.Join(p.bin, "postgres"), "-D", f.in("data")}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}
