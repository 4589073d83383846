// Package cachetest holds the suites that every implementation of the
// contracts of package cache must pass. An implementation calls them from its
// own tests; nothing is skipped, and a capability that the implementation
// lacks fails the suite.
package cachetest
