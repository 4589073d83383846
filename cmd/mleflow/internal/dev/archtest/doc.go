// Package archtest holds the tests of the architecture: which package may
// import which, and which third-party library lives where.
package archtest
