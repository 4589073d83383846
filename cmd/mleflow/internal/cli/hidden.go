package cli

import (
	"fmt"
	"os"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// lookForBreaches tries what standard input lists, from inside a sandbox.
func lookForBreaches() int {
	if err := breach.Main(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hidden are the sub-commands that mleflow starts itself with. They take the
// rest of the line as it is and are dispatched before anything is set up.
var hidden = map[string]func(args []string) int{
	agent.Command:          agent.Main,
	acp.Command:            acp.Main,
	sandbox.InitCommand:    func([]string) int { return sandbox.Init() },
	containerd.LogCommand:  containerd.Log,
	containerd.LookCommand: containerd.Look,
	breach.Command:         func([]string) int { return lookForBreaches() },
	confined.Command:       func([]string) int { return confined.Serve(competitions.Shipped, metric.All()) },
}
