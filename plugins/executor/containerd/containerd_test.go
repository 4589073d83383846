package containerd_test

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/plugins/executor/containerd"
	"github.com/mleflow/mleflow/plugins/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/executor/executortest"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case containerd.LogCommand:
		os.Exit(containerd.Log(os.Args[2:]))
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	d := containerdtest.Start(t)
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	executortest.Run(t, executortest.Target{
		Runtime: e.Runtime(), Program: containerdtest.Program, Image: containerdtest.Image(t), UTF8: true, Extra: []string{"HOME"},
	})
}
