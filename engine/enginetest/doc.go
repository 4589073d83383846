// Package enginetest provides step kinds and random pipelines for testing the
// engine. The result of each step is a pure function of its inputs, so a model
// can predict independently which steps must run.
package enginetest
