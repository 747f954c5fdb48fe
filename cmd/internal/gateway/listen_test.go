package gateway

import "testing"

func TestSocketsAreTakenIfTheyAreForThisProcess(t *testing.T) {
	for _, c := range []struct {
		pid, fds string
		want     int
		ok       bool
	}{
		{"", "", 0, true}, {"", "1", 0, true}, {"8", "1", 0, true}, {"7", "0", 0, true},
		{"7", "1", 1, true},
		{"7", "2", 0, false}, {"7", "", 0, false}, {"7", "-1", 0, false},
	} {
		n, err := sockets(func(name string) string {
			return map[string]string{"LISTEN_PID": c.pid, "LISTEN_FDS": c.fds}[name]
		}, 7)
		if n != c.want || (err == nil) != c.ok {
			t.Errorf("%q %q: got %d, %v", c.pid, c.fds, n, err)
		}
	}
}
