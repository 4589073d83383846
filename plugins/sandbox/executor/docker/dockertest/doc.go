// Package dockertest starts private servers of Docker's API for tests: Docker and Podman of
// root, and Podman of an ordinary user.
package dockertest
