// Package modelblock reads the model blocks of pipelines for the step kinds
// that use models: the gateway's configuration, the possible costs, the keys,
// and the actual use.
package modelblock
