//go:build linux

package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fpm runs PHP-FPM, and returns its socket.
func (g *ground) fpm(program string) string {
	g.Helper()
	socket, args := g.path("fpm.sock"), []string{"-F", "-O"}
	conf := "[global]\nerror_log = /dev/stderr\n[www]\nlisten = " + socket + "\npm = static\npm.max_children = 2\n"
	if os.Getuid() == 0 {
		conf += "user = root\n"
		args = append(args, "-R")
	}
	g.serve(socket, exec.Command(program, append(args, "-y", g.write("fpm.conf", conf))...))
	return socket
}

// nginx runs nginx with what stands inside http { }.
func (g *ground) nginx(program, addr, text string) {
	g.Helper()
	var conf strings.Builder
	if os.Getuid() == 0 {
		conf.WriteString("user root;\n")
	}
	conf.WriteString("daemon off; worker_processes 1; error_log stderr; pid " + g.path("nginx.pid") + ";\nevents {}\nhttp {\naccess_log off;\n")
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		conf.WriteString(kind + "_temp_path " + g.path(kind) + ";\n")
	}
	conf.WriteString(text + "}\n")
	g.serve(addr, exec.Command(program, "-c", g.write("nginx.conf", conf.String())))
}

const apacheModules = "/usr/lib/apache2/modules/"

// apache runs Apache with the text as its configuration. What is listened on, and the
// modules beyond those that every site has, are in the text.
func (g *ground) apache(program, addr, text string) {
	g.Helper()
	conf := "ServerRoot " + g.dir + "\nPidFile " + g.path("apache.pid") + "\nErrorLog /dev/stderr\nServerName localhost\n" +
		"User #65534\nGroup #65534\nMutex file:" + g.dir + " default\nStartServers 1\n" + // one process has one pool of connections
		modules("mpm_prefork", "authz_core", "dir", "alias", "setenvif", "headers", "proxy", "proxy_http", "ssl", "socache_shmcb")
	g.serve(addr, exec.Command(program, "-D", "FOREGROUND", "-f", g.write("apache.conf", conf+text)))
}

func modules(names ...string) string {
	var lines strings.Builder
	for _, n := range names {
		lines.WriteString("LoadModule " + n + "_module " + apacheModules + "mod_" + n + ".so\n")
	}
	return lines.String()
}

// modPHP is what Debian's libapache2-mod-php sets up.
func modPHP(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob(apacheModules + "libphp*.so")
	if len(found) == 0 {
		t.Skip("skipped: libapache2-mod-php is not installed")
	}
	return "LoadModule php_module " + found[0] + "\nDirectoryIndex index.php\n" +
		"<FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n"
}

// caddy runs Caddy, which is to ask nobody for certificates.
func (g *ground) caddy(program, addr, text string) {
	g.Helper()
	cmd := exec.Command(program, "run", "--adapter", "caddyfile", "--config", g.write("Caddyfile", text))
	cmd.Env = append(os.Environ(), "HOME="+g.dir, "XDG_DATA_HOME="+g.dir, "XDG_CONFIG_HOME="+g.dir)
	g.serve(addr, cmd)
}
