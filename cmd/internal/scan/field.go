package scan

import "strings"

// field is something that a line says about a request.
type field int

const (
	skipped field = iota // of no use here
	addr
	forwarded // the visitor's address, as a proxy told it
	host      // the site, where one log has several
	user
	cookie
	when
	request // method, path and protocol in one
	method
	path
	args
	status
	length // of the request
	agent
	seconds  // how long it took
	micros   // the same
	outcome  // Apache's %X: X when the visitor went away
	fieldEnd // how many there are
)

// entry is one line, cut up. The bytes belong to the line.
type entry [fieldEnd][]byte

// set keeps the first value that says something: "-" is how logs say nothing.
func (e *entry) set(f field, v []byte) {
	if len(e[f]) == 0 && (len(v) != 1 || v[0] != '-') {
		e[f] = v
	}
}

// nginxFields are the variables of a log_format that matter here.
var nginxFields = map[string]field{
	"remote_addr": addr, "realip_remote_addr": skipped,
	"http_x_forwarded_for": forwarded, "http_x_real_ip": forwarded, "http_cf_connecting_ip": forwarded,
	"host": host, "http_host": host, "server_name": host,
	"remote_user": user, "http_cookie": cookie,
	"time_local": when, "time_iso8601": when, "msec": when,
	"request": request, "request_method": method, "request_uri": path, "uri": path, "document_uri": path,
	"args": args, "query_string": args, "status": status,
	"request_length": length, "content_length": length, "http_content_length": length,
	"http_user_agent": agent, "request_time": seconds,
}

// nginxField also knows the variables that have a name of the site's own.
func nginxField(name string) field {
	if strings.HasPrefix(name, "cookie_") {
		return cookie
	}
	return nginxFields[name]
}

// apacheFields are the letters of a LogFormat that matter here.
var apacheFields = map[byte]field{
	'h': addr, 'a': addr, 'v': host, 'V': host, 'u': user, 't': when, 'r': request, 'm': method, 'U': path, 'q': args,
	's': status, 'I': length, 'T': seconds, 'D': micros, 'X': outcome,
}

// apacheNamed reads %{name}letter.
func apacheNamed(name string, letter byte) field {
	name = strings.ToLower(name)
	switch {
	case letter == 'C' || letter == 'i' && name == "cookie":
		return cookie
	case letter == 'i' && name == "user-agent":
		return agent
	case letter == 'i' && (name == "x-forwarded-for" || name == "x-real-ip"):
		return forwarded
	case letter == 'i' && name == "host":
		return host
	case letter == 'i' && name == "content-length":
		return length
	case letter == 'T' && name == "us":
		return micros
	case letter == 't' || letter == 'a':
		return apacheFields[letter]
	}
	return skipped
}

// jsonFields are the names that servers and their owners give to the members of
// a JSON line: in lower case, those of inner objects joined by dots.
var jsonFields = map[string]field{
	"remote_addr": addr, "remote_ip": addr, "client_ip": addr, "clientip": addr, "ip": addr, "client": addr, "addr": addr,
	"clienthost": addr, "request.remote_ip": addr, "remote_address": addr, "client_addr": addr,
	"http_x_forwarded_for": forwarded, "x_forwarded_for": forwarded, "xff": forwarded, "request.client_ip": forwarded,
	"host": host, "http_host": host, "server_name": host, "vhost": host, "domain": host, "request.host": host, "requesthost": host,
	"remote_user": user, "user": user, "user_id": user, "userid": user, "uid": user,
	"cookie": cookie, "http_cookie": cookie, "session": cookie, "session_id": cookie, "request.headers.cookie": cookie,
	"time": when, "ts": when, "timestamp": when, "@timestamp": when, "time_local": when, "time_iso8601": when, "msec": when, "datetime": when,
	"request": request, "method": method, "request_method": method, "verb": method, "request.method": method, "requestmethod": method,
	"request_uri": path, "uri": path, "path": path, "url": path, "request.uri": path, "requestpath": path,
	"args": args, "query_string": args, "query": args,
	"status": status, "status_code": status, "response": status, "code": status, "downstreamstatus": status,
	"request_length": length, "content_length": length,
	"http_user_agent": agent, "user_agent": agent, "useragent": agent, "agent": agent, "ua": agent,
	"request.headers.user-agent": agent, "request_user-agent": agent,
	"request_time": seconds,
}
