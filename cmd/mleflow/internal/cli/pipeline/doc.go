// Package pipeline has the commands for pipelines, from init to apply.
package pipeline
