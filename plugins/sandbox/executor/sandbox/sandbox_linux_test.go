package sandbox_test

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case sandbox.InitCommand:
		os.Exit(sandbox.Init())
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	needNamespaces(t)
	e := sandbox.New(sandbox.Options{Dir: t.TempDir()})
	executortest.Run(t, executortest.Target{
		Runtime: e.Runtime(), Program: containerdtest.Program, Image: containerdtest.Image(t), Extra: []string{"HOME"},
	})
}
