// Package sandbox is the runtime that isolates agents for any user.
package sandbox
