// Package pipelines is the pipelines that ship with the program.
package pipelines

import "embed"

// Shipped holds the pipeline files of this folder, and the agents that they
// include.
//
//go:embed *.hcl agents/*.hcl
var Shipped embed.FS
