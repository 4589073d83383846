// Package executortest is the suite that every runtime must pass.
//
// The commands it runs are the test program itself, started with the word
// ProbeCommand; its TestMain calls Probe for that. A runtime with images needs
// an image that holds the test program.
package executortest
