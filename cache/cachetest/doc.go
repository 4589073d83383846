// Package cachetest holds the suites that every implementation of the contracts
// of package cache must pass. An implementation calls them from its own tests.
// Nothing is skipped: an implementation without a capability fails the suite.
package cachetest
