package agentrun_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
	"github.com/mleflow/mleflow/steps/steptest"
)

// counter is an agent with a journal: each line is appended at once, so that what was
// done is known wherever it is stopped. It ends after 40 lines.
const counter = `
cd "$AGENT_DIR"; touch journal
while n=$(wc -l < journal) && [ "$n" -lt 40 ]; do
  echo "line $n" >> journal
  [ "$n" = 0 ] && ln -s journal latest && mkfifo pipe && mkdir -p deep/er && echo kept > deep/er/file && chmod 700 deep/er/file
  echo "step $n"
  sleep 0.05
done
(echo id,y; cat journal) > "$SUBMISSION_DIR/submission.csv"
readlink latest > "$CODE_DIR/link"; stat -c %a deep/er/file > "$CODE_DIR/mode"
echo "$MLEFLOW_RESUMED $MLEFLOW_RESUME_COUNT" > "$CODE_DIR/resumed"
`

// machineOf returns a bench of a machine with its own cache, which shares a remote one.
func machineOf(t *testing.T, afar remote.Location) (*steptest.Bench, *remote.Tier) {
	t.Helper()
	local, err := disk.Open(filepath.Join(steptest.WorkDir(t), "cache"), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tier := remote.New(local, afar, remote.Options{})
	t.Cleanup(func() { _, _ = tier.Close(), local.Close() })
	b := newBench(t)
	b.Store = tier
	return b, tier
}

func durableArgs(b *steptest.Bench, t testing.TB, onLoss, line string) map[string]cty.Value {
	args := values(b, t, shell(line))
	args["on_loss"], args["checkpoint_every"] = cty.StringVal(onLoss), cty.StringVal("1s")
	return args
}

// until returns a context that ends soon after an agent has made a file.
func until(t *testing.T, sign string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(sign); err == nil {
				time.Sleep(100 * time.Millisecond)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return ctx
}

// signOf returns the path of a file that an agent makes when it may be interrupted.
func signOf(t *testing.T) string { return filepath.Join(t.TempDir(), "sign") }

// powerless is a cache that keeps no record once its machine is gone.
type powerless struct {
	cache.Cache
	gone atomic.Bool
	// first is called when the first record was kept.
	first func()
	once  sync.Once
}

func (p *powerless) Record(ctx context.Context, rec *cache.Record) error {
	if p.gone.Load() {
		return errors.New("the machine is gone")
	}
	err := p.Cache.Record(ctx, rec)
	p.once.Do(p.first)
	return err
}

func location(t *testing.T) remote.Location {
	t.Helper()
	loc, err := remote.ParseLocation("file://" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// everything returns the text of all files of a cache.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// benchOnDisk returns a bench with a cache on disk, and the cache's folder.
func benchOnDisk(t testing.TB) (*steptest.Bench, *disk.Cache, string) {
	t.Helper()
	dir := filepath.Join(steptest.WorkDir(t), "cache")
	local, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	b := newBench(t)
	b.Store = local
	return b, local, dir
}

// TestDurableCollect sees that the checkpoint of an unfinished attempt is not collected,
// and that of a finished one is.
func TestDurableCollect(t *testing.T) {
	t.Parallel()
	b, _, dir := benchOnDisk(t)
	sign := signOf(t)
	agent := "[ -e $AGENT_DIR/state ] || { echo one-of-a-kind > $AGENT_DIR/state; touch " + sign + "; sleep 60; }"
	if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), durableArgs(b, t, "resume", agent)); err == nil {
		t.Fatal("not interrupted")
	}
	collect := func() {
		t.Helper()
		_ = b.Store.(*disk.Cache).Close()   // a live process keeps what it wrote,
		time.Sleep(1100 * time.Millisecond) // and all keep what is of this second
		local, err := disk.Open(dir, disk.Options{})
		if err == nil {
			_, err = local.GC(t.Context(), disk.GCOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = local.Close() })
		b.Store = local
	}
	collect()
	if !strings.Contains(everything(t, filepath.Join(dir, "objects")), "one-of-a-kind\n") {
		t.Error("the checkpoint of an unfinished attempt was collected")
	}
	run(t, b, durableArgs(b, t, "resume", agent))
	collect()
	if strings.Contains(everything(t, filepath.Join(dir, "objects")), "one-of-a-kind\n") {
		t.Error("the checkpoint of a finished attempt was kept")
	}
}

// TestDurableUnrecorded runs an attempt again whose process died before its result was
// recorded: the agent does not start again.
func TestDurableUnrecorded(t *testing.T) {
	t.Parallel()
	b, _, _ := benchOnDisk(t)
	sign := signOf(t)
	b.Store = &powerless{Cache: b.Store, first: func() {
		if err := os.WriteFile(sign, nil, 0o644); err != nil {
			t.Error(err)
		}
	}}
	args := durableArgs(b, t, "resume", "until [ -e "+sign+" ]; do sleep 0.05; done; cp /proc/uptime $CODE_DIR/ended")
	want := run(t, b, args)
	if got := run(t, b, args); got.Code["ended"] == "" || got.Code["ended"] != want.Code["ended"] {
		t.Errorf("the agent ended at %q, and then at %q\n%s", want.Code["ended"], got.Code["ended"], b.Log())
	}
}

// TestDurable interrupts an attempt on two machines, and sees that it goes on on a third
// one, with the result of an attempt that nobody disturbed.
func TestDurable(t *testing.T) {
	t.Parallel()
	afar := location(t)
	undisturbed := newBench(t)
	want := run(t, undisturbed, values(undisturbed, t, shell(counter)))
	var used time.Duration
	sign := signOf(t)
	agent := "(sleep 0.5; touch " + sign + ") & " + counter
	for life := range 2 {
		b, _ := machineOf(t, afar)
		b.Limits.Timeout = time.Minute
		began := time.Now()
		_, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), durableArgs(b, t, "resume", agent))
		if used += time.Since(began); !errors.Is(err, context.Canceled) {
			t.Fatalf("life %d: %v\n%s", life, err, b.Log())
		}
		if err := os.Remove(sign); err != nil {
			t.Fatal(err)
		}
	}
	b, tier := machineOf(t, afar)
	b.Limits.Timeout = time.Minute
	began := time.Now()
	got := run(t, b, durableArgs(b, t, "resume", agent))
	used += time.Since(began)
	if got.Submission["submission.csv"] != want.Submission["submission.csv"] || got.Outcome != "finished" {
		t.Errorf("got %q, want %q", got.Submission["submission.csv"], want.Submission["submission.csv"])
	}
	for name, want := range map[string]string{"link": "journal\n", "mode": "700\n", "resumed": "1 2\n"} {
		if got.Code[name] != want {
			t.Errorf("%s: %q, want %q", name, got.Code[name], want)
		}
	}
	for n := range 40 {
		if line := fmt.Sprintf("step %d\n", n); !strings.Contains(got.Logs["output.log"], line) {
			t.Errorf("the log lacks %q:\n%s", line, got.Logs["output.log"])
		}
	}
	wall := time.Duration(got.Stats.WallSeconds * float64(time.Second))
	if own := time.Since(began); wall <= own || wall > used {
		t.Errorf("wall time %v of %v in three lives, the last of which took %v", wall, used, own)
	}
	if b.Resumes() != 2 || !strings.Contains(strings.Join(b.Warnings(), "\n"), "goes on from checkpoint") {
		t.Errorf("resumes %d\n%s", b.Resumes(), b.Log())
	}
	if tier.Finish(t.Context()) != 0 {
		t.Error("not all is in the remote cache")
	}
}

// TestDurableLimit sees that the clock of an attempt goes on, whatever its agent does.
func TestDurableLimit(t *testing.T) {
	b := newBench(t)
	b.Limits.Timeout = 4 * time.Second
	sign := signOf(t)
	args := durableArgs(b, t, "resume", "echo id,y > $SUBMISSION_DIR/submission.csv; sleep 2; touch "+sign+"; sleep 60")
	if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), args); err == nil {
		t.Fatal("not interrupted")
	}
	// An agent with all the time again would have six seconds.
	if got := run(t, b, args); got.Outcome != "timed_out" || got.Stats.WallSeconds < 3.9 || got.Stats.WallSeconds > 5.9 {
		t.Errorf("%s, wall time %v", got.Outcome, got.Stats.WallSeconds)
	}
}

// TestOnLoss sees what becomes of an interrupted attempt.
func TestOnLoss(t *testing.T) {
	t.Parallel()
	const line = `echo x >> $AGENT_DIR/lives; cp $AGENT_DIR/lives $SUBMISSION_DIR/submission.csv; echo "$TIME_LIMIT_SECS,$MLEFLOW_RESUMED,$MLEFLOW_RESUME_COUNT" > $CODE_DIR/env; [ "$MLEFLOW_RESUME_COUNT" ] || { sleep 1.2; touch `
	tests := map[string]struct{ submission, env string }{
		"resume": {"x\nx\n", "1,1"}, "restart": {"x\n", ",1"},
	}
	for onLoss, want := range tests {
		t.Run(onLoss, func(t *testing.T) {
			b := newBench(t)
			b.Limits.Timeout = time.Hour
			sign := signOf(t)
			agent := line + sign + "; sleep 60; }"
			if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), durableArgs(b, t, onLoss, agent)); err == nil {
				t.Fatal("not interrupted")
			}
			fails := durableArgs(b, t, "fail", agent)
			if _, err := b.Run(t, fails); err == nil || !strings.Contains(err.Error(), "on_loss") {
				t.Fatalf("got %v", err)
			}
			got := run(t, b, durableArgs(b, t, onLoss, agent))
			left, rest, _ := strings.Cut(strings.TrimSpace(got.Code["env"]), ",")
			seconds, _ := strconv.Atoi(left) // 1.2 s were used, or more on a slow machine
			if got.Submission["submission.csv"] != want.submission || rest != want.env || seconds < 3500 || seconds > 3598 {
				t.Errorf("got %q, %q of %q\n%s", got.Submission, rest, left, b.Log())
			}
			again := run(t, b, durableArgs(b, t, onLoss, "cp /dev/null $SUBMISSION_DIR/submission.csv; ls $AGENT_DIR > $CODE_DIR/ls"))
			if again.Code["ls"] != "" {
				t.Errorf("another attempt begins with %q", again.Code["ls"])
			}
		})
	}
}

// TestDurableKill lets the process of an attempt die without a word, and sees that the
// next one goes on from the last checkpoint of the interval.
func TestDurableKill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := &powerless{Cache: b.Store}
	store.first = func() { store.gone.Store(true); cancel() } // of the first checkpoint
	b.Store = store
	args := durableArgs(b, t, "resume", counter)
	if _, err := b.RunIn(t, ctx, steptest.WorkDir(t), args); err == nil {
		t.Fatal("not interrupted")
	}
	store.gone.Store(false)
	if got := run(t, b, args); strings.Count(got.Submission["submission.csv"], "line") != 40 || got.Code["resumed"] != "1 1\n" {
		t.Errorf("got %q after %q\n%s", got.Submission, got.Code["resumed"], b.Log())
	}
}

// TestAskCheckpoint lets the agent ask for a checkpoint, and sees what it has.
func TestAskCheckpoint(t *testing.T) {
	const secretText = "hunter2-hunter2"
	t.Setenv("PLANTED", secretText)
	b, _, dir := benchOnDisk(t)
	sign := signOf(t)
	args := values(b, t, who([]string{"/bin/sh", "-c", `
		echo "$KEY" > $AGENT_DIR/$KEY.txt; ln -s "/$KEY" $AGENT_DIR/link; dd if=/dev/zero of=$AGENT_DIR/big bs=1M count=8 2>&1
		ask() { curl -s -X POST -o $CODE_DIR/reply -w '%{http_code}\n' "$MLEFLOW_GATEWAY/checkpoint" >> $CODE_DIR/status; }
		ask; ask; cat $CODE_DIR/reply; touch ` + sign + `; sleep 60`},
		map[string]cty.Value{"secrets": cty.MapVal(map[string]cty.Value{"KEY": cty.StringVal("env:PLANTED")})}))
	args["on_loss"], args["checkpoint_limit"] = cty.StringVal("resume"), cty.StringVal("4MiB")
	if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), args); err == nil {
		t.Fatal("not interrupted")
	}
	if !strings.Contains(b.Log(), "not in checkpoint 1: agent/big: 8388608 bytes") {
		t.Errorf("the log does not name the large file:\n%s", b.Log())
	}
	all := everything(t, dir)
	if !strings.Contains(all, secretText+".txt") {
		t.Errorf("the checkpoint has not the file as it is")
	}
	if !strings.Contains(all, "200\n429\n") {
		t.Errorf("no replies")
	}
}

// TestAskByFile lets the agent ask for a checkpoint by a file, and wait until it is taken.
func TestAskByFile(t *testing.T) {
	t.Parallel()
	askByFile(t, process.Runtime(""))
}

func askByFile(t *testing.T, runtime executor.Runtime) {
	b, _, _ := benchOnDisk(t)
	b.Kind = newBench(t, runtime).Kind
	args := durableArgs(b, t, "resume", `cd $AGENT_DIR; mkdir checkpoint.request; touch $CODE_DIR/asked; sleep 1.5; rmdir checkpoint.request
		echo state > state; touch checkpoint.request; while [ -e checkpoint.request ]; do sleep 0.05; done`)
	args["runtime"], args["checkpoint_every"] = cty.StringVal(runtime.Name), cty.StringVal("1h")
	key, _ := keyOf(t, b, args)
	args["checkpoint_keep"] = cty.StringVal("1s")
	run(t, b, args)
	if log := b.Log(); strings.Count(log, "checkpoint 1 after") != 1 || strings.Contains(log, "checkpoint 2 after") || strings.Contains(log, "no checkpoint") {
		t.Errorf("not one checkpoint:\n%s", log)
	}
	fork, err := checkpoint.Place{Cache: b.Store, Attempt: key}.Choose(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := fork.Find(t.Context(), checkpoint.Place{Cache: b.Store})
	if err != nil || c.Why != checkpoint.Asked || b.Files(t, c.Files)["agent/state"] != "state\n" {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestDurableModels lets an attempt with models go on on another machine: what it asked
// stays asked and paid, and is in the transcript once. An agent that starts from the
// beginning gets the recorded answers.
func TestDurableModels(t *testing.T) {
	t.Parallel()
	ask := func(text string) string { return strings.ReplaceAll(hello("m-1"), "hello", text) }
	sign := signOf(t)
	for onLoss, line := range map[string]string{
		"resume":  `[ "$MLEFLOW_RESUMED" ] || { ` + ask("first") + ` echo "$MLEFLOW_MODEL_MAIN_KEY" > $AGENT_DIR/key; touch ` + sign + `; sleep 60; }; `,
		"restart": ask("first") + `[ "$MLEFLOW_RESUME_COUNT" ] || { touch ` + sign + `; sleep 60; }; `,
	} {
		t.Run(onLoss, func(t *testing.T) {
			server := solver()
			url := modeltest.Start(t, server)
			afar := location(t)
			life := func(ctx context.Context) (*steptest.Bench, cache.Outputs, error) {
				b, _ := machineOf(t, afar)
				args := durableArgs(b, t, onLoss, "")
				args["agent"] = withModels(chat+line+ask("second")+ask("third")+"echo id > $SUBMISSION_DIR/submission.csv", block("main", "openai", url+"/v1", map[string]cty.Value{
					"budget": cty.ObjectVal(map[string]cty.Value{"requests": cty.NumberIntVal(2)}),
				}))
				out, err := b.RunIn(t, ctx, steptest.WorkDir(t), args)
				return b, out, err
			}
			_ = os.Remove(sign) // of the other test
			if b, _, err := life(until(t, sign)); err == nil || len(server.Calls()) != 1 {
				t.Fatalf("%v after %d calls\n%s", err, len(server.Calls()), b.Log())
			}
			b, out, err := life(t.Context())
			if err != nil {
				t.Fatalf("%v\n%s", err, b.Log())
			}
			var stats agentrun.Stats
			steptest.Decode(t, out["stats"], &stats)
			use := stats.Models["main"]
			if calls := len(server.Calls()); calls != 2 || use.Requests != 2 || use.Refused != 1 {
				t.Errorf("%d calls, used %+v\n%s", calls, use, b.Log())
			}
			events := b.Files(t, out["transcript"].Ref)["events.jsonl"]
			if n := strings.Count(events, "\n"); n != 3 {
				t.Errorf("the transcript has %d exchanges:\n%s", n, events)
			}
		})
	}
}

// TestDurableSignalled sees that an attempt is no result if the machine ends its agent
// just before it interrupts mleflow.
func TestDurableSignalled(t *testing.T) {
	b := newBench(t)
	const agent = `[ "$MLEFLOW_RESUMED" ] && exec touch $CODE_DIR/resumed; echo id,y > $SUBMISSION_DIR/submission.csv; touch ` + "%s" + `; kill -TERM $$`
	sign := signOf(t)
	args := durableArgs(b, t, "resume", fmt.Sprintf(agent, sign))
	if _, err := b.RunIn(t, until(t, sign), steptest.WorkDir(t), args); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if got := run(t, b, args); got.Submission["submission.csv"] != "id,y\n" || b.Resumes() != 1 {
		t.Errorf("%+v after %d resumes\n%s", got, b.Resumes(), b.Log())
	}
}
