//go:build linux

package agentrun_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

func names(opened *results.Opened) (list []string) {
	for _, f := range opened.First {
		list = append(list, f.Name)
	}
	return list
}

// TestOpened sees which files an agent opened, in a sandbox and alone without one, and that
// a setting turns it off.
func TestOpened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shared, _ := sharing(t)
	boxed := newBench(t, sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime())
	for name, bench := range map[string]struct {
		of      *steptest.Bench
		runtime string
	}{"process": {b, "process"}, "a folder of its own in process": {shared, "process"}, "sandbox": {boxed, "sandbox"}} {
		t.Run(name, func(t *testing.T) {
			args := values(bench.of, t, shell(`ls $DATA_DIR; cat $DATA_DIR/deep/er/file.txt $DATA_DIR/description.md; sleep 0.3; cat $DATA_DIR/train.csv; cat /etc/none $DATA_DIR/none; true`))
			args["runtime"] = cty.StringVal(bench.runtime)
			got := run(t, bench.of, args).Stats.Opened
			if got == nil || got.Files != 4 || got.Opened != 2 || got.Unknown+got.Partly != "" || !slices.Equal(names(got), []string{"deep/er/file.txt", "train.csv"}) ||
				!slices.Equal(got.Never, []string{"sample_submission.csv", "test.csv"}) || got.First[0].Seconds > got.First[1].Seconds || len(got.Digest) != 64 {
				t.Errorf("got %+v", got)
			}
			args["watch_data"] = cty.False
			if got := run(t, bench.of, args).Stats.Opened; got != nil {
				t.Errorf("watched all the same: %+v", got)
			}
		})
	}
}

// TestOpenedTogether lets two attempts read one copy of the data: nobody can know which one
// opened a file.
func TestOpenedTogether(t *testing.T) {
	b, _ := sharing(t)
	meet := t.TempDir()
	agent := shell(`touch ` + meet + `/$MLEFLOW_SEED; while [ ! -e ` + meet + `/1 ] || [ ! -e ` + meet + `/2 ]; do sleep 0.05; done; cat $DATA_DIR/train.csv`)
	var both sync.WaitGroup
	args := []map[string]cty.Value{values(b, t, agent), values(b, t, agent)}
	for i, a := range args {
		a["seed"] = cty.NumberIntVal(int64(i + 1))
		both.Go(func() {
			if got := run(t, b, a).Stats.Opened; got == nil || !strings.Contains(got.Unknown, "at the same time") || got.Opened != 0 || got.First != nil {
				t.Errorf("got %+v", got)
			}
		})
	}
	both.Wait()
}

// TestOpenedIsBounded gives an agent many files of one content in many folders.
func TestOpenedIsBounded(t *testing.T) {
	b := newBench(t)
	files := map[string]string{}
	for i := range 300 {
		files["many/"+strings.Repeat("x", i%50+1)+"/"+string(rune('a'+i%26))+".txt"] = strings.Repeat("y", i)
	}
	args := values(b, t, shell(`find $DATA_DIR/ -type f -exec cat {} + >/dev/null`))
	args["data"] = b.Tree(t, files)
	got := run(t, b, args).Stats.Opened
	text, err := json.Marshal(got)
	if err != nil || got.Opened != got.Files || len(got.First) > 10 || len(text) > 8<<10 {
		t.Errorf("%d bytes, %d of %d, %d names: %v", len(text), got.Opened, got.Files, len(got.First), err)
	}
}

// TestOpenedIsNotTheAgents lets an agent of a rehearsal write the file that says what it
// opened: the file is mleflow's, in two forms, and also if nobody watched.
func TestOpenedIsNotTheAgents(t *testing.T) {
	b := newBench(t)
	for name, line := range map[string]string{"a file": `echo '{"files":1,"opened":1}' >$LOGS_DIR/opened.json`, "a folder": `mkdir -p $LOGS_DIR/opened.json/x`} {
		t.Run(name, func(t *testing.T) {
			args := values(b, t, shell(line+`; cat $DATA_DIR/test.csv`))
			args["data"] = steptest.Under(args["data"], conditions.Data+"="+conditions.Rehearsal)
			r := run(t, b, args)
			var got agentrun.Opened
			if err := json.Unmarshal([]byte(r.Logs[agentrun.OpenedFile]), &got); err != nil || got.Files != 4 || got.Formats[".csv"].Opened != 1 || len(r.Stats.LeftOut) != 1 {
				t.Errorf("%v: %v, left out %q", r.Logs, err, r.Stats.LeftOut)
			}
			args["watch_data"] = cty.False
			if r := run(t, b, args); r.Logs[agentrun.OpenedFile] != "" {
				t.Errorf("the agent's file was taken: %v", r.Logs)
			}
		})
	}
}

// TestWatchDataIsNotInTheKey sees that the setting changes no key.
func TestWatchDataIsNotInTheKey(t *testing.T) {
	b := newBench(t)
	args := values(b, t, shell("true"))
	on := b.Key(t, args)
	args["watch_data"] = cty.False
	if off := b.Key(t, args); !maps.Equal(on, off) {
		t.Errorf("the keys %v and %v differ", on, off)
	}
}
