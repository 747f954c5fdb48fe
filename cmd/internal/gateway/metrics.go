package gateway

import (
	"errors"
	"net"
	"net/netip"
)

// parseMetrics reads an address, or that there is none.
func parseMetrics(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	return parseAddr(s)
}

// ErrMetricsPublic says that numbers were to be served to other machines, and nobody
// has said that they may be.
var ErrMetricsPublic = errors.New("other machines reach this address, and whoever reaches it reads how the business goes; " +
	"take 127.0.0.1, or say metrics_public (--metrics-public) where a firewall lets only Prometheus through")

// Metrics checks where numbers are to be served: on this machine alone, unless it was
// said that they are public. Empty: nowhere.
func Metrics(addr string, public bool) error {
	if addr == "" || public {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return ErrMetricsPublic
}
