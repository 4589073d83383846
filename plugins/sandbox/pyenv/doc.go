// Package pyenv makes environments of Python packages: it finds an interpreter,
// locks what a file of requirements asks for, and installs it with uv.
//
// uv does what pip does in a tenth of the time, locks with the hashes of all
// platforms, and is one static program. It is the one that MLEFLOW_UV names or that
// is in PATH, else a wheel of it that pip fetches and that is pinned here by digest.
//
// An environment holds packages only. The interpreter is the machine's: a virtual
// environment is made around both where it is used.
package pyenv
