// Package checkout reads the files of a repository that may be a stranger's, and finds
// the programs of this machine that the repository did not bring along.
//
// Planning a pipeline runs nothing of its repository, and shows no text from elsewhere.
// A repository can hold symbolic links, and names paths in its files. Both can lead to
// the caller's environment in /proc, to a pipe that never ends, or to a private key.
//
// # What it refuses
//
// The kernel's files in /proc, /sys and /dev, wherever they are mounted, and by
// whichever link; everything but regular files; and, if folders are given, files that
// are in none of them.
package checkout
