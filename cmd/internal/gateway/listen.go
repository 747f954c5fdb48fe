package gateway

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// firstSocket is the first that systemd passes.
const firstSocket = 3

// Listen opens addr, or takes the socket that was opened for this process as systemd
// does it (sd_listen_fds): that stays open while one gateway follows another, so that
// no connection is refused or reset in between.
func Listen(addr string) (net.Listener, error) {
	n, err := sockets(os.Getenv, os.Getpid())
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return net.Listen("tcp", addr)
	}
	// Nothing that this process starts may take them for its own.
	os.Unsetenv("LISTEN_PID")
	os.Unsetenv("LISTEN_FDS")
	file := os.NewFile(firstSocket, "socket")
	defer file.Close()
	ln, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("the socket of LISTEN_FDS: %w", err)
	}
	return ln, nil
}

// sockets is how many were opened for the process pid: one at most.
func sockets(getenv func(string) string, pid int) (int, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(pid) {
		return 0, nil
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > 1 {
		return 0, fmt.Errorf("LISTEN_FDS=%s: a gateway listens on one socket", getenv("LISTEN_FDS"))
	}
	return n, nil
}
