// Package httptests tries nebishttp on real databases: what clients see, and what
// the tables hold afterwards. The root module has no database driver, so these
// tests live here.
package httptests
