// Package s3test starts a real S3-compatible server, versitygw, for tests, and
// a proxy in front of it that imitates bad networks and overloaded servers. The
// server keeps objects as plain files, so that a test can damage one.
//
// The server is the program that MLEFLOW_VERSITYGW names, or one that is built
// from Go modules, once, into the user's cache directory. That takes a minute
// or two the first time. It is not a dependency of this module, because its own
// dependencies would then decide which versions mleflow is built with.
package s3test
