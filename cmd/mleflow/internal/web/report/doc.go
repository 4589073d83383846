// Package report writes a run as one HTML file: leaderboard, scores against
// the medal thresholds and the human distribution, timeline, step graph, table
// of steps, environment and pins.
//
// The file needs nothing else: no scripts, no fonts, no requests, which its
// content security policy also forbids. It follows the reader's light or dark
// theme and prints. Every text goes through html/template; drawings are SVG
// of package page, coloured by classes of the style sheet.
package report
