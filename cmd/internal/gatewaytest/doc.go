// Package gatewaytest puts `nebis gateway`, the program itself, in front of shops
// that know nothing of it: one in PHP with its sessions, one in Python, one in Node,
// each with the standard library of its language. A payment service, which a test
// can hold up or break, makes them slow, or fail in the middle.
//
// Its tests kill gateway and shop at each step of an order, and restart gateways
// under load. Those in a browser are in package browser.
package gatewaytest
