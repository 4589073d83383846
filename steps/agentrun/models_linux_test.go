package agentrun_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// testContainedModels lets an agent without any network talk to
// a model.
func testContainedModels(t *testing.T, d *containerdtest.Daemon, made string) {
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	key := "sk-canary-" + rand.Text() // not in the program, and so not in the image
	t.Setenv("CANARY_KEY", key)
	server := &modeltest.Server{Key: key, Models: []string{"m-1"}}
	url := modeltest.Start(t, server)
	b := newBench(t, e.Runtime())
	store := t.TempDir()
	b.Store = openStore(t, store)
	b.Limits.Timeout, b.Limits.DiskBytes = time.Minute, 64<<20
	agent := who([]string{containerdtest.Program, actCommand, "chat", "hello", "direct", strings.TrimPrefix(url, "http://"), "lookup", "example.com",
		"print", "OPENAI_BASE_URL", "print", "OPENAI_API_KEY", "submit", "id,y\n11,a\n12,b\n"},
		map[string]cty.Value{"image": cty.StringVal(made), "models": cty.ListVal([]cty.Value{block("main", "openai", url+"/v1", nil)})})
	args := values(b, t, agent)
	args["runtime"] = cty.StringVal("containerd")
	found, done := make(chan string, 1), make(chan struct{})
	go func() { found <- searchUntil(done, d.Dir, key) }()
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	close(done)
	if where := <-found + search(d.Dir, key) + search(store, key); where != "" {
		t.Errorf("the provider's key is in %s", where)
	}
	printed := b.Files(t, out["logs"].Ref)["output.log"]
	for _, want := range []string{"You said: hello", "direct: failed", "lookup: failed", "print: http://127.0.0.1:4000/main/v1\n", "print: ***\n"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the agent's output lacks %q:\n%s", want, printed)
		}
	}
	var stats agentrun.Stats
	steptest.Decode(t, out["stats"], &stats)
	if u := stats.Models["main"]; stats.Network != "none" || !stats.Isolated || u.Requests != 1 || u.OutputTokens == 0 || len(server.Calls()) != 1 {
		t.Errorf("stats %+v", stats)
	}
}
