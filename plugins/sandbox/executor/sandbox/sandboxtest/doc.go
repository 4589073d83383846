// Package sandboxtest runs a program in containers with the settings of Docker and
// Kubernetes, for tests of what the sandbox can do inside. It needs root and runc.
package sandboxtest
