package cli

import (
	"fmt"
	"os"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/executor/process"
	"github.com/mleflow/mleflow/steps/exec"
)

// parts are the concrete things that the engine knows by contract only.
type parts struct {
	kinds     *step.Registry
	functions map[string]function.Function
}

// concretes makes them. It is called once a command.
func concretes() (*parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	return &parts{kinds: step.NewRegistry(exec.Kind(process.New(self)))}, nil
}
