// Package containerdtest starts a private containerd for tests, with its own root,
// state and socket, and builds images for it. It needs root, containerd and runc.
// Without them, tests are skipped with the reason or, if CI is set, fail.
package containerdtest
