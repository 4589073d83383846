package agentrun_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/steptest"
)

// contained is an agent of words in an image of the test program alone: see
// actCommand.
func contained(t *testing.T, from string, secrets map[string]cty.Value, words ...string) cty.Value {
	t.Helper()
	changes := map[string]cty.Value{"image": cty.StringVal(from)}
	if len(secrets) > 0 {
		changes["secrets"] = cty.MapVal(secrets)
	}
	return who(append([]string{containerdtest.Program, actCommand}, words...), changes)
}

// TestContainerd runs agents in containers of a private daemon.
func TestContainerd(t *testing.T) {
	if testing.Short() { // the race detector runs the suite of the runtime
		t.Skip("-short")
	}
	d := containerdtest.Start(t)
	made := containerdtest.Image(t)
	t.Run("attempt", func(t *testing.T) { testContained(t, d, made) })
	t.Run("reference", func(t *testing.T) { testReferenceShape(t, d) })
	t.Run("shim", func(t *testing.T) { testContainedShim(t, d) })
	t.Run("models", func(t *testing.T) { testContainedModels(t, d, made) })
	t.Run("resume", func(t *testing.T) { testContainedResume(t, d, made) })
	t.Run("checkpoints", func(t *testing.T) { testContainedCheckpoints(t, d, made) })
}

// testContained leads an agent through everything that it is promised.
func testContained(t *testing.T, d *containerdtest.Daemon, made string) {
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	canary := rand.Text() // canaries are in the program, and so in the image
	t.Setenv("CANARY_SOURCE", canary)
	secrets := map[string]cty.Value{"E": cty.StringVal("env:CANARY_SOURCE")}

	b := newBench(t, e.Runtime())
	served := outside(t)
	store := t.TempDir()
	b.Store = openStore(t, store)
	b.Limits.Timeout, b.Limits.DiskBytes = time.Minute, 64<<20
	args := validating(b, t, contained(t, made, secrets,
		"submit", "id,y\n11,a\n", "wait", "1500", "score", "/home/validation/sample_submission.csv", "submit", "id,y\n11,b\n12,a\n", "validate", "/home/submission/submission.csv",
		"validate", "/home/data/sample_submission.csv", "budget", "", "get", "http://localhost:5000/health",
		"get", "https://example.com/", "get", "http://"+served+"/x", "get", "http://169.254.169.254/", "direct", "1.1.1.1:443", "lookup", "example.com",
		"write", "/home/data/new", "write", "/home/validation/new", "write", "/home/note", "write", "/etc/new", "write", "/tmp/new", "fill", "/home/code/big", "print", "E",
		"id", "", "unlink", "/home/code/big", "wait", "1200"), 3)
	args["runtime"], args["snapshot_every"] = cty.StringVal("containerd"), cty.StringVal("1s")
	args["network"] = cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("example.org:443"), cty.StringVal(served)})})
	found, done := make(chan string, 1), make(chan struct{})
	go func() { found <- searchUntil(done, d.Dir, canary) }()
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	close(done)
	if where := <-found + search(d.Dir, canary) + search(store, canary); where != "" {
		t.Errorf("the daemon's folder holds a secret: %s", where)
	}
	printed := b.Files(t, out["logs"].Ref)["output.log"]
	for _, want := range []string{
		"validate: 200 {\"result\":\"Submission is valid.\"}\nvalidate: 200 {\"result\":\"Submission is valid.\"}\n",
		"budget: 200 {\"limit_seconds\":60,", "get: 200 {\"status\":\"running\"}\n", "get: error\nget: 200 hello\nget: 403 mleflow: refused: 169.254.169.254:80",
		"score: 200 {\"best\":0.5,\"is_lower_better\":false,\"left\":2,\"score\":0.5}\n",
		"direct: failed", "lookup: failed", "write /home/data/new: failed", "write /home/validation/new: failed", "write /home/note: done", "write /etc/new: failed", "write /tmp/new: done",
		"fill: no space left on device", "print: ***\n", "id: 1000 1000\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("the agent's output lacks %q", want)
		}
	}
	// The data are links to the cache's own files. Counted, so that no copy can hide.
	wantCopied(t, b.Log(), none)
	stats := result2(t, out)
	if t.Failed() || !stats.Isolated || stats.Network != "allow" || stats.Connections != 3 || stats.Validations != 3 || stats.PeakMemoryBytes == 0 {
		t.Errorf("%+v\n%s", stats, printed)
	}
	if got := b.Files(t, out["submission"].Ref)["submission.csv"]; got != "id,y\n11,b\n12,a\n" {
		t.Errorf("submission %q", got)
	}
	if shots := b.Files(t, out["snapshots"].Ref); len(shots) < 2 {
		t.Errorf("snapshots %q", shots)
	}
	if calls := lines[validity.Call](t, b.Text(t, out["validation_log"].Ref)); len(calls) != 3 || !calls[0].Valid {
		t.Errorf("validation log %+v", calls)
	}
	if list, _ := queriesOf(t, b, out); len(list) != 1 || list[0].Number != 1 {
		t.Errorf("queries %+v", list)
	}
	if list := kept(t, b); len(list) > 0 {
		t.Errorf("still kept: %v", list)
	}
}

// outside is a server of this machine, at an address that is not its loopback's
// where it has one: programs do not ask a proxy for that.
func outside(t *testing.T) string {
	t.Helper()
	host := "127.0.0.1"
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			host = n.IP.String()
		}
	}
	if host == "127.0.0.1" {
		t.Fatal("this machine has no address but its loopback's; give it one: ip link add d0 type dummy && ip addr add 192.0.2.1/32 dev d0")
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }), ReadHeaderTimeout: time.Second}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

func openStore(t *testing.T, dir string) *disk.Cache {
	t.Helper()
	store, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// searchUntil looks for a text while an agent runs. What the agent prints
// itself is in a file of the runtime's until it is passed on.
func searchUntil(done <-chan struct{}, dir, text string) (found string) {
	for {
		select {
		case <-done:
			return found
		case <-time.After(200 * time.Millisecond):
			for path := range strings.FieldsSeq(search(dir, text)) {
				if filepath.Base(path) != "output" && !strings.Contains(found, path) {
					found += path + " "
				}
			}
		}
	}
}

// search looks for a text in the files below a folder and returns where it is.
func search(dir, text string) string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // what is gone holds nothing
		}
		if info, err := e.Info(); err != nil || info.Size() > 4<<20 {
			return nil //nolint:nilerr // the image's program is large, and the same for all
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	return strings.Join(found, " ")
}

// The variables that tell TestContainerdChild what to run.
const childVariables = "MLEFLOW_TEST_CHILD"

// TestContainerdChild is no test of its own: testContainedResume kills it.
func TestContainerdChild(t *testing.T) {
	told := strings.Split(os.Getenv(childVariables), "\n")
	if len(told) != 6 {
		t.Log("this is a part of TestContainerd")
		return
	}
	b, args := resumable(t, told[0], containerd.Options{Socket: told[1], StateDir: told[2], Namespace: told[4]}, told[3], told[5])
	_, err := b.Run(t, args)
	t.Fatalf("the child outlived its killer: %v", err)
}

// resumable is an attempt that waits for a time before it goes on.
func resumable(t *testing.T, store string, opts containerd.Options, made, milliseconds string) (*steptest.Bench, map[string]cty.Value) {
	e := containerd.New(opts)
	t.Cleanup(func() { e.Close() })
	b := newBench(t, e.Runtime())
	b.Store = openStore(t, store)
	b.Limits.Timeout, b.Limits.DiskBytes = 5*time.Minute, 32<<20
	args := values(b, t, contained(t, made, nil, "submit", "id,y\n", "write", "/home/logs/started", "wait", milliseconds,
		"validate", "/home/data/sample_submission.csv", "submit", "id,y\n11,a\n12,b\n"))
	args["runtime"], args["snapshot_every"] = cty.StringVal("containerd"), cty.StringVal("1s")
	return b, args
}

// testContainedResume kills the process that runs an agent, and sees that the
// next one continues with it.
func testContainedResume(t *testing.T, d *containerdtest.Daemon, made string) {
	executortest.Slower(t, func(factor int) string { return containedResume(t, d, made, 2*factor) })
}

// containedResume does that with an agent that waits for some seconds. It says why it
// could not.
func containedResume(t *testing.T, d *containerdtest.Daemon, made string, seconds int) string {
	wait := fmt.Sprint(1000 * seconds)
	store := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestContainerdChild$") //nolint:gosec // this program
	// It is killed, and what it leaves in the folder of temporary files goes with the test.
	child.Env = append(os.Environ(), "TMPDIR="+t.TempDir(),
		childVariables+"="+strings.Join([]string{store, d.Options.Socket, d.Options.StateDir, made, d.Options.Namespace, wait}, "\n"))
	var said bytes.Buffer
	child.Stdout, child.Stderr = &said, &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill() //nolint:errcheck // it is dead
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for started(store) == "" {
		if ctx.Err() != nil {
			t.Fatalf("the agent does not start:\n%s", said.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	b, args := resumable(t, store, d.Options, made, wait)
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	stats := result2(t, out)
	printed := b.Files(t, out["logs"].Ref)["output.log"]
	if !stats.Resumed || !strings.Contains(printed, validity.Valid) {
		return "the agent is not resumed while it waits:\n" + printed
	}
	if strings.Count(printed, "write /home/logs/started: done") != 1 || stats.WallSeconds < float64(seconds) {
		t.Errorf("%+v\n%s", stats, printed)
	}
	if got := b.Files(t, out["submission"].Ref)["submission.csv"]; got != "id,y\n11,a\n12,b\n" {
		t.Errorf("submission %q", got)
	}
	if list := kept(t, b); len(list) > 0 {
		t.Errorf("still kept: %v", list)
	}
	return ""
}

// testContainedCheckpoints freezes a container for checkpoints, and sees that its agent
// goes on each time; then that another cache goes on from a checkpoint.
func testContainedCheckpoints(t *testing.T, d *containerdtest.Daemon, made string) {
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	afar := location(t)
	live := func(ctx context.Context) (*steptest.Bench, cache.Outputs, error) {
		b, _ := machineOf(t, afar)
		b.Kind = newBench(t, e.Runtime()).Kind
		b.Limits.Timeout, b.Limits.DiskBytes = time.Minute, 32<<20
		args := values(b, t, contained(t, made, nil, "write", "/home/agent/state", "write", "/home/agent/checkpoint.request", "wait", "5000", "write", "/home/code/done", "submit", "id,y\n"))
		args["runtime"], args["on_loss"], args["checkpoint_every"] = cty.StringVal("containerd"), cty.StringVal("resume"), cty.StringVal("1s")
		out, err := b.RunIn(t, ctx, steptest.WorkDir(t), args)
		return b, out, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	b, _, err := live(ctx)
	all, none := strings.Count(b.Log(), "stood still for"), strings.Count(b.Log(), "stood still for 0s") // before it began
	if err == nil || all-none < 1 {
		t.Fatalf("%v, frozen %d times of %d\n%s", err, all-none, all, b.Log())
	}
	b, out, err := live(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	if !strings.Contains(b.Log(), "at the agent's request") {
		t.Errorf("no checkpoint at the agent's request:\n%s", b.Log())
	}
	if got := b.Files(t, out["code"].Ref); got["done"] != "x" || b.Resumes() != 1 {
		t.Errorf("%q after %d resumes\n%s", got, b.Resumes(), b.Log())
	}
}

// started finds the file by which the agent says that it runs.
func started(store string) (found string) {
	_ = filepath.WalkDir(store, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.Name() == "started" {
			found = path
		}
		return nil
	})
	return found
}
