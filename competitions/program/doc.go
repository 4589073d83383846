// Package program runs programs that come with a competition: a metric of its own, and the
// Python of a competition that was written for MLE-bench.
//
// # Vocabulary
//
//   - A call is one run of a program in a folder of its own.
//   - The code is the folder that a block python names. Its functions prepare and grade are
//     called as MLE-bench calls them.
//   - The packages are installed from a lock file and shown to the call read-only.
//
// # Invariants
//
//   - The executor decides how strictly a program is confined. It gets no network, an
//     environment that names nothing but paths, and the folders of the call.
//   - The code sees the raw data through a folder of links, so that it can unpack archives
//     beside them as MLE-bench's preparers do. The files themselves are mounted read-only.
//     Without isolation they are copies.
//   - What code leaves behind is a stranger's: a link is followed into the raw data only, and
//     anything but files and folders is refused.
package program
