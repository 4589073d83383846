// Command mleflow plans and applies declarative pipelines that reproduce
// MLE-bench.
package main

import (
	"os"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
