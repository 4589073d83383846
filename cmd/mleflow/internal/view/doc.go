// Package view shows plans, events and tables to people and programs.
//
// Event views are event.Sinks: Plain writes one stable line per fact, JSON one
// object per event, Live keeps a few lines of a terminal up to date. All three
// read the same events; none of them changes what a run does. Texts that
// people see are covered by golden files in testdata (make golden rewrites
// them).
package view
