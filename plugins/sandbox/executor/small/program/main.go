// Program is the small program that package small embeds.
package main

import (
	_ "github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
	_ "github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

func main() {}
