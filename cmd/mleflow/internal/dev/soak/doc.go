// Package soak runs the full set of competitions on paper: their sizes by the
// definitions' own figures, the engine's real planning, forecast, preflight,
// reservation and scheduling, and a cache whose objects are only sizes. It
// tells what the set takes in disk, time and files, which docs/scale.md is
// generated from.
package soak
