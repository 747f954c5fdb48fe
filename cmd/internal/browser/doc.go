// Package browser has the tests of nebisjs and nebishttp together, in a real
// browser, from the first click to the result page. They need Debian's Chromium.
package browser
