// Package try runs one try at a step: it gives the step its
// environment, turns its reports into events, and checks its outputs. Apply on
// this machine and a worker on another machine both use it, so a step cannot
// tell the difference.
//
// It neither waits for resources nor records results; its callers do.
package try
