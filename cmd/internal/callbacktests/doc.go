// Package callbacktests sends the callbacks of every provider to a small shop on
// every database.
package callbacktests
