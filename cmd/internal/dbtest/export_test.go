package dbtest

// Sweep is what every launch does first.
var Sweep = sweep
