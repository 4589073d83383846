// Package importer makes competitions of folders that others wrote for MLE-bench or MLE-Dojo.
//
// # What it writes
//
// A definition with a block python, the given code in a folder of its own, the requirements
// of its packages, the leaderboard's scores, the description, and the checksums as a lock.
//
// # What it refuses
//
// A folder is a stranger's. It is read as text and YAML, and nothing of it is run. Links,
// files beyond the limits, paths that leave the prepared folder, and functions of modules
// that are not in the folder are mistakes, each with its place and a way to fix it.
package importer
