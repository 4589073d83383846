// Package modelblock reads the model blocks of pipelines for the step kinds that use
// models: what the gateway serves of them, what they may cost, where their keys
// are, and what was used.
package modelblock
