package dburl

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nebis-dev/nebis"
)

// parseMySQL turns the URL into the driver's own form. Parameters are the
// driver's, and win over ours; socket=/path/to.sock is one more.
func parseMySQL(scheme, s string) (Target, error) {
	u, err := parseURL(s)
	if err != nil {
		return Target{}, err
	}
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Target{}, errors.New("the parameters of the MySQL URL (after the ?) cannot be read")
	}
	socket := params.Get("socket")
	params.Del("socket")
	cfg, err := mysql.ParseDSN("/?" + withDefaults(scheme, params).Encode())
	if err != nil {
		return Target{}, errors.New("the MySQL driver does not take these parameters (after the ?): " + names(params))
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.Net, cfg.Addr = "tcp", hostPort(u, "3306")
	if socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	}
	return Target{nebis.MySQL, "mysql", cfg.FormatDSN(), display(u)}, nil
}

// withDefaults adds what Nebis wants. MySQL proper can bound the wait of a claim
// only by the session's lock time-out; MariaDB has it on the statement.
func withDefaults(scheme string, given url.Values) url.Values {
	params := url.Values{
		"interpolateParams": {"true"},
		"parseTime":         {"true"},
		"loc":               {"UTC"},
		"timeout":           {(10 * time.Second).String()},
	}
	if scheme == "mysql" {
		params.Set("innodb_lock_wait_timeout", "5")
	}
	for name, values := range given {
		params[name] = values
	}
	return params
}

// names lists parameters without their values: one may be a secret.
func names(params url.Values) string {
	return strings.Join(slices.Sorted(maps.Keys(params)), ", ")
}
