package agentrun_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// submit leaves a submission in the folder that the spec mounts as /home.
func submit(spec executor.Spec, text string) error {
	for _, m := range spec.Mounts {
		if m.Guest == "/home" {
			return os.WriteFile(filepath.Join(m.Host, "submission", "submission.csv"), []byte(text), 0o644)
		}
	}
	return errors.New("no home")
}

// kill runs the step in a goroutine that ends like a killed process: nothing
// of it is cleaned up, but the lock of its folder is let go.
func kill(t *testing.T, b *steptest.Bench, m *machine, args map[string]cty.Value) {
	t.Helper()
	store := &mortal{Cache: b.Store}
	b.Store = store
	dead := make(chan struct{})
	m.die = func() { store.dead = true; runtime.Goexit() }
	dir := steptest.WorkDir(t)
	go func() {
		defer close(dead)
		_, _ = b.RunIn(t, t.Context(), dir, args)
	}()
	<-dead
	m.die, b.Store = nil, store.Cache
}

func kept(t *testing.T, b *steptest.Bench) []cache.Kept {
	t.Helper()
	list, err := b.Store.Kept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestResume kills the process that runs an agent, and sees that the next one
// continues with it and harvests what it did meanwhile.
func TestResume(t *testing.T) {
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error { return submit(s, "from the first\n") }}
	b := newBench(t, m.runtime())
	b.Limits.Timeout = time.Hour
	args := values(b, t, who([]string{"/agent"}, nil))
	kill(t, b, m, args)
	if list := kept(t, b); len(list) != 1 {
		t.Fatalf("kept %v", list)
	}
	r := run(t, b, args)
	if r.Submission["submission.csv"] != "from the first\n" || !r.Stats.Resumed || r.Logs["output.log"] != "started\n" {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff([]bool{false, true}, m.resumed); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
	if list := kept(t, b); len(list) != 0 {
		t.Errorf("still kept: %v", list)
	}
	if !strings.Contains(b.Log(), "goes on") {
		t.Errorf("the log does not say so:\n%s", b.Log())
	}
}

// TestLeft interrupts the process that runs an agent so that the agent is left, and
// sees that the next one continues with it.
func TestLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &machine{running: map[string]executor.Spec{}, leave: func() { cancel(executor.ErrLeave) }, command: func(s executor.Spec) error { return submit(s, "from the first\n") }}
	b := newBench(t, m.runtime())
	args := values(b, t, who([]string{"/agent"}, nil))
	if _, err := b.RunIn(t, ctx, steptest.WorkDir(t), args); !errors.Is(err, executor.ErrLeave) {
		t.Fatalf("got %v", err)
	}
	if list := kept(t, b); len(list) != 1 || list[0].Held {
		t.Fatalf("kept %v", list)
	}
	if n, err := agentrun.Abandoned(t.Context(), b.Store, executor.NewRegistry(m.runtime()), func(string) bool { return false }); n != 1 || err != nil {
		t.Errorf("abandoned: %d, %v", n, err)
	}
	if r := run(t, b, args); r.Submission["submission.csv"] != "from the first\n" || !r.Stats.Resumed {
		t.Errorf("got %+v", r)
	}
	if list := kept(t, b); len(list) != 0 {
		t.Errorf("still kept: %v", list)
	}
}

// TestResumeNothingLeft sees that an attempt whose agent is gone starts from scratch
// in empty folders.
func TestResumeNothingLeft(t *testing.T) {
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error { return submit(s, "old\n") }}
	b := newBench(t, m.runtime())
	args := values(b, t, who([]string{"/agent"}, nil))
	kill(t, b, m, args)
	for id, spec := range m.running {
		if err := submit(spec, "old\n"); err != nil {
			t.Fatal(err)
		}
		delete(m.running, id)
	}
	m.command = func(executor.Spec) error { return nil }
	if r := run(t, b, args); len(r.Submission) != 0 || r.Stats.Resumed || r.Outcome != "no_submission" {
		t.Errorf("got %+v", r)
	}
}

// TestOtherActionIsOther sees that attempts of other seeds do not meet.
func TestOtherActionIsOther(t *testing.T) {
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error { return submit(s, s.Env["MLEFLOW_SEED"]) }}
	b := newBench(t, m.runtime())
	args := values(b, t, who([]string{"/agent"}, nil))
	kill(t, b, m, args)
	args["seed"] = cty.NumberIntVal(8)
	if r := run(t, b, args); r.Submission["submission.csv"] != "8" || r.Stats.Resumed {
		t.Errorf("got %+v", r)
	}
	args["seed"] = cty.NumberIntVal(7)
	if r := run(t, b, args); r.Submission["submission.csv"] != "7" || !r.Stats.Resumed {
		t.Errorf("got %+v", r)
	}
}

// TestTidy sees that the folders of attempts are removed that nobody can
// continue, and no others.
func TestTidy(t *testing.T) {
	m := &machine{running: map[string]executor.Spec{}, command: func(executor.Spec) error { return nil }}
	b := newBench(t, m.runtime())
	keeper := b.Store
	now := time.Now().Format(time.RFC3339Nano)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{
		"agent-rebooted": `{"started":"` + now + `","boot":"another"}`,
		"agent-old":      `{"started":"2020-01-01T00:00:00Z","boot":"` + strings.TrimSpace(string(boot)) + `"}`,
		"agent-running":  `{"started":"` + now + `","boot":"` + strings.TrimSpace(string(boot)) + `"}`,
		"agent-new":      "", "other": `{"boot":"another"}`,
	} {
		dir, release, err := keeper.Keep(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if text != "" {
			err = os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600)
		}
		if err := errors.Join(err, release(true)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, k := range kept(t, b) {
			os.RemoveAll(k.Dir)
		}
	})
	run(t, b, values(b, t, who([]string{"/agent"}, nil)))
	var left []string
	for _, k := range kept(t, b) {
		left = append(left, k.Key)
	}
	if diff := cmp.Diff([]string{"agent-new", "agent-running", "other"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s\n%s", diff, b.Log())
	}
}

// TestMachineFails sees that an attempt the machine spoilt is told in the log,
// leaves nothing behind and may be repeated.
func TestMachineFails(t *testing.T) {
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error {
		return errors.Join(errBroken, submit(s, "half\n"))
	}}
	b := newBench(t, m.runtime())
	args := values(b, t, who([]string{"/agent"}, nil))
	if _, err := b.Run(t, args); !errors.Is(err, errBroken) || !strings.Contains(b.Log(), "its output submission is in the cache for now: tree ") {
		t.Errorf("got %v\n%s", err, b.Log())
	}
	if list := kept(t, b); len(list) != 0 {
		t.Errorf("kept: %v", list)
	}
	m.command = func(executor.Spec) error { return nil }
	if r := run(t, b, args); len(r.Submission) != 0 {
		t.Errorf("the second attempt sees the first: %+v", r)
	}
}

// TestSpecOfSandbox sees that what is asked of the sandbox arrives there.
func TestSpecOfSandbox(t *testing.T) {
	var spec executor.Spec
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error { spec = s; return nil }}
	b := newBench(t, m.runtime())
	args := values(b, t, who([]string{"/agent"}, nil))
	args["handler"], args["shm"], args["user"] = cty.StringVal("runsc"), cty.StringVal("4GiB"), cty.StringVal("1234:5678")
	args["capabilities"] = cty.ListVal([]cty.Value{cty.StringVal("CAP_SYS_PTRACE")})
	args["network"] = cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("api.openai.com:443")})})
	run(t, b, args)
	want := executor.Sandbox{Handler: "runsc", User: "1234:5678", Capabilities: []string{"CAP_SYS_PTRACE"}, ShmBytes: 4 << 30}
	if diff := cmp.Diff(want, spec.Sandbox); diff != "" {
		t.Errorf("sandbox (-want +got):\n%s", diff)
	}
	ports, proxied := map[string]int{}, ""
	for _, s := range spec.Services {
		ports[s.Name] = s.Port
		proxied += s.Env["https_proxy"]
	}
	if diff := cmp.Diff(map[string]int{"validity server": 5000, "network proxy": 3128}, ports); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	if spec.Network.Open || len(spec.Network.Allow) > 0 || proxied != executor.Address || spec.Limits.Processes != 16384 || spec.Limits.Setup != 30*time.Minute || !spec.Resume {
		t.Errorf("spec %+v", spec)
	}
}

func TestRefusesSandbox(t *testing.T) {
	tests := map[string]cty.Value{
		"shm": cty.StringVal("4 apples"), "user": cty.StringVal("root"), "processes": cty.NumberIntVal(0),
		"setup_timeout": cty.StringVal("soon"), "snapshot_every": cty.StringVal("10ms"),
		"network": cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("*:443")})}),
	}
	for name, v := range tests {
		b := newBench(t)
		args := values(b, t, who([]string{"/agent"}, nil))
		args[name] = v
		if _, err := b.Run(t, args); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
