// Package runs has the commands for runs and their results.
package runs
