// Package enginetest has step kinds and random pipelines for testing the
// engine: steps whose result is a pure function of their inputs, so that a
// model can say independently what must run.
package enginetest
