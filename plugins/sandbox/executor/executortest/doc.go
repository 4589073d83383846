// Package executortest is the suite that every runtime must pass.
//
// Its commands are the test program itself, started with ProbeCommand as first
// argument; TestMain must call Probe for it. A runtime with images needs an image that
// contains the test program.
package executortest
