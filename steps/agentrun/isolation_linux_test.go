package agentrun_test

import (
	"context"
	"debug/elf"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// TestIsolationIsTried runs an attempt in a sandbox, from which nothing forbidden is
// reached; in a runtime that says that it isolates and does not; and in a sandbox
// with an open network. Only in the first one the agent starts.
func TestIsolationIsTried(t *testing.T) {
	if f, err := elf.Open("/proc/self/exe"); err != nil || f.Section(".interp") != nil {
		t.Skip("the test program is linked with libraries, which may be missing in a sandbox; make test builds it with CGO_ENABLED=0")
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	t.Setenv("A_TOKEN", "s3cret")
	boxed := sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()
	liar := process.Runtime("")
	liar.Name, liar.Isolates = "sandbox", true
	for _, tt := range []struct {
		name    string
		runtime executor.Runtime
		open    bool
		want    []string // what the refusal names; nil if there is none
	}{
		{"sandbox", boxed, false, nil},
		{"no sandbox", liar, false, []string{"a server of the worker", "a socket of the worker", "trap-", server.Addr().String(), "the agent was not started"}},
		{"open network", boxed, true, []string{server.Addr().String(), "network.allow"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := steptest.New(agentrun.Kind(agentrun.Deps{
				Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(tt.runtime),
				Forbidden: func(ctx context.Context) (*breach.Targets, func() error, error) {
					env := append(os.Environ(), breach.Variable+"="+server.Addr().String())
					targets, closeAll, err := breach.Around(ctx, breach.Machine{Env: env, Dir: t.TempDir(), Remote: server.Addr().String()})
					if err == nil && tt.open { // the machine of the test may have a metadata service
						targets.Addresses = slices.DeleteFunc(targets.Addresses, func(a breach.Address) bool { return a.What == "a metadata service" })
					}
					return targets, closeAll, err
				},
			}))
			args := values(b, t, shell("echo started"))
			args["runtime"] = cty.StringVal("sandbox")
			if tt.open {
				args["network"] = cty.ObjectVal(map[string]cty.Value{"open": cty.True})
			}
			_, err := b.Run(t, args)
			if started := strings.Contains(b.Log(), "started\n"); started != (tt.want == nil) || (err == nil) != (tt.want == nil) {
				t.Fatalf("started %v, error %v\n%s", started, err, b.Log())
			}
			if err == nil && !strings.Contains(b.Log(), "none was reached") {
				t.Errorf("the log does not say that the isolation was tried:\n%s", b.Log())
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if tt.open && strings.Contains(err.Error(), "server of the worker") {
				t.Errorf("an open network reaches the machine's servers, as it should: %v", err)
			}
		})
	}
}

func TestAskByFileInSandbox(t *testing.T) {
	t.Parallel()
	askByFile(t, sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime())
}

// TestModelsWithOpenNetwork sees that an agent in a sandbox with the machine's network
// reaches its gateways, whose usual ports others may have there.
func TestModelsWithOpenNetwork(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:4000")
	if err == nil {
		defer taken.Close()
	}
	b := steptest.New(agentrun.Kind(agentrun.Deps{
		Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()},
		Runtimes: executor.NewRegistry(sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()),
	}))
	args := values(b, t, withModels("curl -sS $MLEFLOW_MODELS/budget; curl -sS $MLEFLOW_GATEWAY/health", block("main", "openai", "http://127.0.0.1:1/v1", nil)))
	args["runtime"], args["network"] = cty.StringVal("sandbox"), cty.ObjectVal(map[string]cty.Value{"open": cty.True})
	if _, err := b.Run(t, args); err != nil || !strings.Contains(b.Log(), `"limit"`) || !strings.Contains(b.Log(), "running") {
		t.Errorf("%v\n%s", err, b.Log())
	}
}
