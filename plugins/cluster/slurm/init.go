package slurm

import (
	_ "embed"
	"strings"
)

//go:embed init.txt
var initText string

// Setup returns a commented file with the requirements of a cluster: for its
// administrator a prolog and the settings of the nodes, for the user a cluster file. cache is the folder of the nodes' local disks.
func Setup(cache string) string { return strings.ReplaceAll(initText, "@CACHE@", cache) }
