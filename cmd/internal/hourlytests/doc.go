// Package hourlytests tests the hourly counts on real databases.
package hourlytests
