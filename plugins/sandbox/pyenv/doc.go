// Package pyenv creates environments of Python packages: it finds an interpreter, locks
// a file of requirements, and installs the lock with uv.
//
// uv does the work of pip in a tenth of the time, locks with the hashes of all
// platforms, and is one static program. It is the one that MLEFLOW_UV names or that is
// in PATH. Otherwise pip fetches a wheel of uv that is pinned here by its digest.
//
// Requirements and locks come from strangers. They are parsed into a List, and uv gets
// what is written of it, an empty environment and a sandbox with the network of the
// indexes. It never gets the file, another file next to it, or the working directory.
//
// An environment contains only packages. The interpreter is the machine's. Where both
// are used, a virtual environment is created around them.
package pyenv
