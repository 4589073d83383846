// Package attempt runs one attempt at a step: it gives the step its
// environment, turns what it reports into events, and checks what it returns.
// Apply on this machine and a worker on another one run steps by nothing else,
// so that a step cannot tell the difference.
//
// It neither waits for resources nor records results; its callers do.
package attempt
