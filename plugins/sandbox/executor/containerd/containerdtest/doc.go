// Package containerdtest starts a private containerd for tests, with its own
// root, state and socket, and makes images for it. It needs root, containerd
// and runc; without them tests are skipped, saying why, and fail where CI is
// set.
package containerdtest
