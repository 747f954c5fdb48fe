//go:build linux

package deploytest

import (
	"os/exec"
	"strings"
	"testing"
)

// Programs ask for a page, and send a form on the same connection.
func TestWhatClientsSendAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program string
		args    []string
		times   int32
	}{
		"curl": {"curl", []string{"-s", site, "--next", "-s", "-d", "item=tea", site}, 2},
		"Node fetch": {"node", []string{"-e", `fetch('` + site + `').then(r => r.text()).then(() => new Promise(f => setTimeout(f, 50))).then(() =>
			fetch('` + site + `', {method: 'POST', body: 'item=tea'})).catch(() => {})`}, 1},
		"Node http": {"node", []string{"-e", `const http = require('http'), agent = new http.Agent({keepAlive: true})
			http.get('` + site + `', {agent}, r => r.resume().on('end', () => setImmediate(() =>
				http.request('` + site + `', {agent, method: 'POST'}).on('error', () => {}).end('item=tea'))))`}, 1},
		"PHP curl": {"php", []string{"-r", `extension_loaded('curl') or exit(99); $c = curl_init('` + site + `'); curl_setopt($c, CURLOPT_RETURNTRANSFER, true); curl_exec($c);
			curl_setopt($c, CURLOPT_POSTFIELDS, 'item=tea'); curl_exec($c);`}, 2},
		"Python": {"python3", []string{"-c", `import http.client, sys
c = http.client.HTTPConnection('` + site + `'[7:-1]); c.request('GET', '/'); c.getresponse().read()
try: c.request('POST', '/', 'item=tea'); c.getresponse()
except http.client.HTTPException: pass`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, d := need(t, c.program), newDeaf(t)
			d.visit(t, program, c.args)
			if got := d.writes.Load(); got != c.times || d.reused.Load() != 1 {
				t.Errorf("sent %d times, %d of them on the connection that was used; want %d, 1", got, d.reused.Load(), c.times)
			}
		})
	}
}

const (
	site   = "http://127.0.0.1:1/" // stands for the site's address
	noCurl = 99
)

func (d *deaf) visit(t *testing.T, program string, args []string) {
	t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "127.0.0.1:1", d.addr)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == noCurl {
		t.Skip("skipped: php-curl is not installed")
	}
	if err != nil {
		t.Logf("%v: %s", err, out)
	}
}
