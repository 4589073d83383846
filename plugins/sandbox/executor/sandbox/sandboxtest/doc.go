// Package sandboxtest runs a program in containers with the settings of Docker and
// Kubernetes. Tests use it to find out what the sandbox can do inside. It needs root
// and runc.
package sandboxtest
