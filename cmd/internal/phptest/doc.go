// Package phptest tests the PHP of the folder php, by PHP's own server with eight
// workers, on real databases, and beside programs in Go that use the same table.
package phptest
