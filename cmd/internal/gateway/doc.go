// Package gateway stands in front of a site that is written in any language, and
// makes repeated writes harmless without touching its code.
//
// What no gateway can promise: that the site's own work is done exactly once. It
// sees a request and an answer, never the site's transaction. Where the answer is
// lost it says so, and does not send the write a second time.
//
// It gives pages a key for each form, and lets everything else through as it came.
package gateway
