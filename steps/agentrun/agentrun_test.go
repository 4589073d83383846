package agentrun_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

func TestMain(m *testing.M) {
	switch append(os.Args, "")[1] {
	case agent.Command:
		os.Exit(agent.Main(os.Args[2:]))
	case containerd.LogCommand:
		os.Exit(containerd.Log(os.Args[2:]))
	case breach.Command:
		if err := breach.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case actCommand:
		os.Exit(act(os.Args[2:]))
	case askCommand:
		os.Exit(ask(os.Args[2:]))
	}
	flag.Parse()
	err := errors.Join(os.Setenv("CANARY_KEY", canaryKey), flag.Set("test.parallel", "8")) // what is parallel here waits
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// catalog is one competition called "toy".
func catalog(t testing.TB) *competitions.Catalog {
	t.Helper()
	text := `competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  source "file" { path = "data.zip" }
	  reference { sha256 = "` + digest.Of([]byte(referenceText)).String() + `" }
	  prepare {}
	  grade {
	    metric  = "accuracy"
	    id      = "id"
	    targets = ["y"]
	    require {
	      columns   = ["id", "y"]
	      same_rows = true
	      same_ids  = true
	    }
	  }
	  medals { scores = [1, 0.5] }
	}`
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(text)}, "toy/data.zip": {}})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func newBench(t testing.TB, runtimes ...executor.Runtime) *steptest.Bench {
	if runtimes == nil {
		runtimes = []executor.Runtime{process.Runtime("")}
	}
	return steptest.New(agentrun.Kind(agentrun.Deps{Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(runtimes...)}))
}

// who returns an agent as the engine gives it.
func who(command []string, changes map[string]cty.Value) cty.Value {
	words := make([]cty.Value, len(command))
	for i, w := range command {
		words[i] = cty.StringVal(w)
	}
	attrs := map[string]cty.Value{
		"name": cty.StringVal("tester"), "image": cty.StringVal(""),
		"command": cty.ListVal(words), "args": cty.ListValEmpty(cty.String),
		"env": cty.MapValEmpty(cty.String), "secrets": cty.MapValEmpty(cty.String), "secrets_in": cty.MapValEmpty(cty.String), "built": cty.NullVal(step.ArtifactType), "python": cty.NullVal(step.ArtifactType), "venv": cty.StringVal(""), "files": cty.MapValEmpty(step.ArtifactType), "models": cty.ListValEmpty(step.ModelType),
	}
	maps.Copy(attrs, changes)
	return cty.ObjectVal(attrs)
}

func shell(line string) cty.Value { return who([]string{"/bin/sh", "-c", line}, nil) }

var toyData = map[string]string{
	"train.csv":             "id,x,y\n1,0,a\n2,5,b\n3,0.1,a\n4,5.1,b\n5,0.2,a\n6,4.9,b\n7,0,a\n8,5,b\n9,0.3,a\n10,5.3,b\n",
	"test.csv":              "id,x\n11,0.2\n12,5.2\n",
	"sample_submission.csv": "id,y\n11,a\n12,a\n",
	"deep/er/file.txt":      "content",
}

func values(b *steptest.Bench, t testing.TB, agent cty.Value) map[string]cty.Value {
	return map[string]cty.Value{"agent": agent, "competition": cty.StringVal("toy"), "seed": cty.NumberIntVal(7), "data": b.Tree(t, toyData)}
}

// result is what an attempt gave, read back.
type result struct {
	Outcome                string
	Stats                  agentrun.Stats
	Submission, Logs, Code map[string]string
}

func run(t *testing.T, b *steptest.Bench, args map[string]cty.Value) result {
	t.Helper()
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	var r result
	steptest.Decode(t, out["outcome"], &r.Outcome)
	steptest.Decode(t, out["stats"], &r.Stats)
	r.Submission, r.Logs, r.Code = b.Files(t, out["submission"].Ref), b.Files(t, out["logs"].Ref), b.Files(t, out["code"].Ref)
	return r
}

func TestBuiltInAgents(t *testing.T) {
	for name, want := range map[string]string{"dummy": "id,y\n11,a\n12,a\n", "baseline": "id,y\n11,a\n12,b\n"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r := run(t, b, values(b, t, who([]string{"mleflow", "agent", name}, nil)))
			if r.Outcome != "finished" || r.Submission["submission.csv"] != want {
				t.Errorf("outcome %s, submission %q\n%s", r.Outcome, r.Submission, b.Log())
			}
			if r.Logs[name+".log"] == "" || r.Logs["output.log"] != r.Logs[name+".log"] {
				t.Errorf("logs: %v", r.Logs)
			}
			if r.Stats.Runtime != "process" || r.Stats.Isolated || r.Stats.WallSeconds <= 0 || r.Stats.PeakMemoryBytes <= 0 {
				t.Errorf("stats: %+v", r.Stats)
			}
			if !strings.Contains(b.Log(), "does not isolate") {
				t.Errorf("the log does not say that the runtime does not isolate:\n%s", b.Log())
			}
		})
	}
}

func TestContract(t *testing.T) {
	t.Setenv("LEAK", "must not be seen")
	t.Setenv("TOKEN_SOURCE", "s3cr3t-value")
	b := newBench(t)
	b.Limits = step.Limits{Timeout: time.Minute, CPUs: 1.5, MemoryBytes: 8 << 30}
	args := values(b, t, who([]string{"/bin/sh", "-c",
		`env | sort | sed "s|$(dirname $DATA_DIR)|HOME|" > $CODE_DIR/env
		 cp $INSTRUCTIONS_FILE $CODE_DIR/instructions
		 cat $DATA_DIR/deep/er/file.txt > $CODE_DIR/data
		 cp $DATA_DIR/description.md $CODE_DIR
		 pwd | sed "s|$(dirname $DATA_DIR)|HOME|" > $CODE_DIR/pwd
		 ls -l $DATA_DIR/train.csv | cut -c1-10 > $CODE_DIR/mode
		 touch $AGENT_DIR/own $LOGS_DIR/log $TMPDIR/tmp
		 printf s3cr; printf "3t-value\n"; echo "token $TOKEN" > $LOGS_DIR/leak`,
		"-"}, map[string]cty.Value{
		"env":     cty.MapVal(map[string]cty.Value{"A": cty.StringVal("agent"), "B": cty.StringVal("agent")}),
		"secrets": cty.MapVal(map[string]cty.Value{"TOKEN": cty.StringVal("env:TOKEN_SOURCE")}),
	}))
	args["env"] = cty.MapVal(map[string]cty.Value{"B": cty.StringVal("step")})
	r := run(t, b, args)
	env := map[string]string{}
	for line := range strings.Lines(r.Code["env"]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	for _, name := range []string{"PWD", "SHLVL", "_", "OLDPWD", "PATH", "TMPDIR", "MLEFLOW_DEADLINE", "MLEFLOW_GATEWAY", process.MarkerVariable} {
		delete(env, name)
	}
	want := map[string]string{
		"A": "agent", "B": "step", "TOKEN": "s3cr3t-value", "LANG": "C.UTF-8", "HOME": "HOME/agent", "PYTHONUNBUFFERED": "1",
		"AGENT_DIR": "HOME/agent", "CODE_DIR": "HOME/code", "LOGS_DIR": "HOME/logs", "SUBMISSION_DIR": "HOME/submission", "DATA_DIR": "HOME/data",
		"COMPETITION_ID": "toy", "INSTRUCTIONS_FILE": "HOME/instructions.txt", "MLEFLOW_SEED": "7", "MLEFLOW_SAMPLE": "HOME/data/sample_submission.csv",
		"MLEFLOW_RUNTIME": "process", "MLEFLOW_NOTES": "HOME/mleflow.txt",
		"MLEFLOW_CPUS": "1.5", "MLEFLOW_MEMORY_BYTES": "8589934592", "MLEFLOW_DEVICES": "", "MLEFLOW_TIMEOUT_SECONDS": "60", "TIME_LIMIT_SECS": "60",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if r.Code["data"] != "content" || r.Code["pwd"] != "HOME\n" || r.Code["mode"] != "-r--r--r--\n" {
		t.Errorf("data %q, working directory %q, mode %q", r.Code["data"], r.Code["pwd"], r.Code["mode"])
	}
	if r.Outcome != "no_submission" || r.Logs["output.log"] != "***\n" || r.Logs["leak"] != "token s3cr3t-value\n" || strings.Contains(b.Log(), "s3cr3t") {
		t.Errorf("outcome %s, logs %q, step's log %q", r.Outcome, r.Logs, b.Log())
	}
	if got, want := r.Code["description.md"], "# Toy\n\nA toy.\n"; got != want {
		t.Errorf("description %q, want %q", got, want)
	}
	for _, phrase := range []string{"toy", "/submission/submission.csv", "1m0s", "Seed          7", "test labels"} {
		if !strings.Contains(r.Code["instructions"], phrase) {
			t.Errorf("instructions lack %q:\n%s", phrase, r.Code["instructions"])
		}
	}
}

func TestOutcomes(t *testing.T) {
	submit := "echo x > $SUBMISSION_DIR/submission.csv; "
	tests := []struct {
		name, line, outcome string
		code                int
		limits              step.Limits
		submitted           bool
	}{
		{name: "finished", line: submit, outcome: "finished", submitted: true},
		{name: "nothing", line: "true", outcome: "no_submission"},
		{name: "folder instead", line: "mkdir $SUBMISSION_DIR/submission.csv", outcome: "no_submission"},
		{name: "failed", line: submit + "exit 5", outcome: "agent_failed", code: 5, submitted: true},
		{name: "crashed", line: submit + "kill -SEGV $$", outcome: "agent_failed", code: 139, submitted: true},
		{name: "timed out", line: submit + "sleep 60", outcome: "timed_out", code: 143, limits: step.Limits{Timeout: 3 * time.Second}, submitted: true},
		{name: "memory", line: submit + "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 60", outcome: "out_of_memory", code: 137, limits: step.Limits{MemoryBytes: 64 << 20}, submitted: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Limits = tt.limits
			r := run(t, b, values(b, t, shell(tt.line)))
			if r.Outcome != tt.outcome || r.Stats.ExitCode != tt.code || (r.Submission["submission.csv"] == "x\n") != tt.submitted {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestInterrupted(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := b.RunIn(t, ctx, steptest.WorkDir(t), values(b, t, shell("sleep 60")))
	if _, retry := step.IsRetryable(err); retry || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v (retryable %v), want the interruption", err, retry)
	}
}

// TestPythonPrints sees that what an agent in Python printed is in the log when it is
// stopped at its limit, unless it wants its output to be buffered.
func TestPythonPrints(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	for _, tt := range []struct {
		env  map[string]cty.Value
		want string
	}{{nil, "printed\n"}, {map[string]cty.Value{"env": cty.MapVal(map[string]cty.Value{"PYTHONUNBUFFERED": cty.StringVal("")})}, ""}} {
		executortest.Slower(t, func(factor int) (problem string) {
			b := newBench(t)
			b.Limits = step.Limits{Timeout: time.Duration(factor) * time.Second} // the interpreter starts within it
			r := run(t, b, values(b, t, who([]string{"python3", "-c", "import time; print('printed'); time.sleep(600)"}, tt.env)))
			if r.Outcome != "timed_out" || r.Logs["output.log"] != tt.want {
				return fmt.Sprintf("%v: outcome %s, log %q", tt.env, r.Outcome, r.Logs["output.log"])
			}
			return ""
		})
	}
}

var errBroken = errors.New("the daemon is gone")

func TestInfrastructure(t *testing.T) {
	b := newBench(t, executor.Runtime{Name: "process", Doc: "x", Executor: failing{errBroken}})
	_, err := b.Run(t, values(b, t, shell("true")))
	if _, retry := step.IsRetryable(err); !retry || !errors.Is(err, errBroken) {
		t.Errorf("got %v (retryable %v), want a retryable failure", err, retry)
	}
	b = newBench(t)
	_, err = b.Run(t, values(b, t, who([]string{"/no/such/agent"}, nil)))
	if _, retry := step.IsRetryable(err); retry || !errors.Is(err, executor.ErrStart) {
		t.Errorf("got %v (retryable %v), want ErrStart", err, retry)
	}
}

func TestRefuses(t *testing.T) {
	texts := func(name, value string) cty.Value {
		return cty.MapVal(map[string]cty.Value{name: cty.StringVal(value)})
	}
	run := []string{"/bin/true"}
	tests := []struct {
		name    string
		agent   cty.Value
		changes map[string]cty.Value
		want    string
	}{
		{"unknown competition", who(run, nil), map[string]cty.Value{"competition": cty.StringVal("tox")}, `did you mean "toy"`},
		{"unknown runtime", who(run, nil), map[string]cty.Value{"runtime": cty.StringVal("apptainer")}, `no runtime "apptainer"`},
		{"image", who(run, map[string]cty.Value{"image": cty.StringVal("x")}), nil, "has an image"},
		{"unknown built-in", who([]string{"mleflow", "agent", "aide"}, nil), nil, `no built-in agent "aide"`},
		{"other command", who([]string{"mleflow", "apply", "x.hcl"}, nil), nil, `["mleflow", "agent", NAME]`},
		{"contract variable", who(run, map[string]cty.Value{"env": texts("DATA_DIR", "/x")}), nil, "DATA_DIR is set by mleflow itself"},
		{"own prefix", who(run, nil), map[string]cty.Value{"env": texts("MLEFLOW_SEED", "8")}, "MLEFLOW_SEED is set by mleflow itself"},
		{"bad name", who(run, map[string]cty.Value{"env": texts("A=B", "x")}), nil, `"A=B"`},
		{"secret as text", who(run, map[string]cty.Value{"secrets": texts("TOKEN", "sk-12345")}), nil, "secret TOKEN: not a reference"},
		{"secret not set", who(run, map[string]cty.Value{"secrets": texts("TOKEN", "env:NOT_SET_ANYWHERE")}), nil, "NOT_SET_ANYWHERE is not set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			args := values(b, t, tt.agent)
			maps.Copy(args, tt.changes)
			_, err := b.Run(t, args)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sk-12345") {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestKey(t *testing.T) {
	b := newBench(t)
	dummy := who([]string{"mleflow", "agent", "dummy"}, nil)
	key := b.Key(t, values(b, t, dummy))
	for _, label := range []string{"agent.command", "agent.image", "competition", "seed", "data", "runtime", "timeout", "resources.cpus", "built-in agent version", "instructions", "description"} {
		if _, ok := key[label]; !ok {
			t.Errorf("the key lacks %q: %v", label, key)
		}
	}
	other := values(b, t, who([]string{"/bin/true"}, nil))
	if _, ok := b.Key(t, other)["built-in agent version"]; ok {
		t.Error("the version of built-in agents is in the key of another agent")
	}
	for name, changed := range map[string]cty.Value{
		"seed": cty.NumberIntVal(8), "data": b.Blob(t, "x"),
		"network": cty.ObjectVal(map[string]cty.Value{"open": cty.True}),
	} {
		args := values(b, t, dummy)
		args[name] = changed
		if cmp.Equal(key, b.Key(t, args)) {
			t.Errorf("%s changes the conditions and not the key", name)
		}
	}
}

// TestConditions sees that the key says how an attempt is isolated.
func TestConditions(t *testing.T) {
	for want, runtime := range map[string]executor.Runtime{
		"none": process.Runtime(""), "container": {Name: "process", Doc: "x", Isolates: true, Executor: failing{errBroken}},
	} {
		b := newBench(t, runtime)
		key := b.Key(t, values(b, t, shell("true")))
		if key["condition.isolation"] != want || key["condition.runtime"] != "process" {
			t.Errorf("%s: %v", want, key)
		}
	}
}

// TestClassConditions sees that the key says what an attempt can use.
func TestClassConditions(t *testing.T) {
	conditions := func(runtime executor.Runtime, limits step.Limits, extra map[string]cty.Value) string {
		b := newBench(t, runtime)
		b.Limits = limits
		args := values(b, t, shell("true"))
		maps.Copy(args, extra)
		key := b.Key(t, args)
		var out []string
		for _, name := range []string{"time", "cpus", "memory", "gpus", "network", "host", "budget", "feedback", "knowledge"} {
			out = append(out, name+"="+key["condition."+name])
		}
		return strings.Join(out, " ")
	}
	isolating := executor.Runtime{Name: "process", Doc: "x", Isolates: true, Executor: failing{errBroken}}
	allow := cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("b.example:443"), cty.StringVal("*.a.example:443")})})
	for _, tt := range []struct{ got, want string }{
		{
			conditions(isolating, step.Limits{Timeout: 24 * time.Hour, CPUs: 8, MemoryBytes: 64 << 30, GPUs: 2}, nil),
			"time=24h cpus=8 memory=64GiB gpus=2 network=none host= budget=none feedback=verdicts knowledge=none",
		},
		{
			conditions(process.Runtime(""), step.Limits{Timeout: 90 * time.Second, CPUs: 0.5, MemoryBytes: 1000}, nil),
			"time=1m30s cpus=0.5 memory=1000B gpus=0 network=open host= budget=none feedback=verdicts knowledge=none",
		},
		{
			conditions(isolating, step.Limits{}, map[string]cty.Value{"network": allow, "shim": cty.True}),
			"time=unlimited cpus=unlimited memory=unlimited gpus=0 network=allow host=*.a.example:443, b.example:443 budget=none feedback=verdicts knowledge=shim",
		},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\nwant %s", tt.got, tt.want)
		}
	}
}

func TestNetworkWarning(t *testing.T) {
	b := newBench(t)
	args := values(b, t, shell("true"))
	args["network"] = cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("example.com:443")})})
	run(t, b, args)
	if !slices.ContainsFunc(b.Warnings(), func(w string) bool { return strings.Contains(w, "network.allow") }) {
		t.Errorf("no warning that the network is open: %q", b.Warnings())
	}
}

// TestMappedPaths runs under a runtime that shows folders elsewhere.
func TestMappedPaths(t *testing.T) {
	seen := make(chan executor.Spec, 1)
	b := newBench(t, executor.Runtime{Name: "process", Doc: "x", Isolates: true, MapsPaths: true, Executor: recording{seen}})
	r := run(t, b, values(b, t, shell("true")))
	spec := <-seen
	if spec.Env["DATA_DIR"] != "/home/data" || spec.Env["SUBMISSION_DIR"] != "/home/submission" || spec.Env["TMPDIR"] != "/tmp" || spec.Dir != "/home" {
		t.Errorf("paths: %v, working directory %s", spec.Env, spec.Dir)
	}
	guests := map[string]bool{}
	for _, m := range spec.Mounts {
		guests[m.Guest] = m.ReadOnly
		if _, err := os.Stat(filepath.Dir(m.Host)); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
	want := map[string]bool{"/home": false, "/home/data": true, "/tmp": false}
	if diff := cmp.Diff(want, guests); diff != "" {
		t.Errorf("mounts and whether they are read-only (-want +got):\n%s", diff)
	}
	if !r.Stats.Isolated {
		t.Errorf("stats: %+v", r.Stats)
	}
}
