// Package adoption tests Migrate and Check on real databases: the table made
// afresh, and the table that a site made by hand taken over while the code that
// knows nothing of Nebis goes on using it.
package adoption
