package cli

import (
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// hidden are the sub-commands that mleflow starts itself with. They take the
// rest of the line as it is and are dispatched before anything is set up.
var hidden = map[string]func(args []string) int{
	agent.Command:          agent.Main,
	sandbox.InitCommand:    func([]string) int { return sandbox.Init() },
	containerd.LogCommand:  containerd.Log,
	containerd.LookCommand: containerd.Look,
	confined.Command:       func([]string) int { return confined.Serve(competitions.Shipped, metric.All()) },
}
