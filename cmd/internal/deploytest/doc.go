// Package deploytest keeps the recipes of deploy/ true: each web server runs with the
// file that is given there, but for ports and folders, in front of the gateway and
// behind it, and a site in PHP tells what it sees.
//
// It also counts which proxies and clients send a POST again by themselves, for the
// table in docs/proxies.md.
//
// What is not installed is skipped: nginx, apache2 with libapache2-mod-php, caddy,
// haproxy, php-fpm, nodejs, curl, systemd.
package deploytest
