package slurm

import (
	_ "embed"
	"strings"
)

//go:embed init.txt
var initText string

// Setup is what a cluster needs before it runs workers, as a commented file: for
// its administrator a prolog and what the nodes must allow, for the user a
// cluster file. cache is the folder of the nodes' local disks.
func Setup(cache string) string { return strings.ReplaceAll(initText, "@CACHE@", cache) }
