package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// modes are the ways in which the rogue breaks limits, and how each must end.
// All ignore every signal that can be ignored.
var modes = map[string]string{
	"memory": "out_of_memory", "memory-fork": "out_of_memory", "disk": "agent_failed", "daemon": "finished",
	"pids": "timed_out", "fork": "timed_out", "stop": "timed_out", "spin": "timed_out", "ignore": "timed_out",
}

// late is how long after the limit something may be alive, on a busy machine too.
const late = 20 * time.Second

const limitsPipeline = `
variable "round" { type = number }
locals { modes = toset(["memory", "memory-fork", "disk", "daemon", "pids", "fork", "stop", "spin", "ignore"]) }
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
agent "rogue" {
  image   = %[1]q
  command = ["/usr/bin/rogue"]
}
step "agent-run" "resist" {
  for_each    = local.modes
  agent       = merge(agent.rogue, { args = ["resist", each.key] })
  competition = "demo-cancer"
  seed        = var.round
  data        = step.prepare.data.public
  runtime     = "containerd"
  timeout     = "%[2]s"
  processes   = 40
  resources {
    cpus   = 0.5
    memory = "96MiB"
    disk   = "32MiB"
  }
}
output "outcomes" { value = jsonencode({ for k, s in step.agent-run.resist : k => s.outcome }) }
output "stats" { value = jsonencode({ for k, s in step.agent-run.resist : k => s.stats }) }
`

// TestLimits lets agents break every limit and refuse to die, MLEFLOW_LIMIT_RUNS
// times in all: nothing is alive long after the limit, what was submitted is
// harvested, and the outcome is the right one. The limit is doubled for a machine on
// which an agent does not break its own limit before.
func TestLimits(t *testing.T) {
	h := newHost(t)
	limit := 2 * time.Second
	w := watch()
	total, goal := 0, times(t, "MLEFLOW_LIMIT_RUNS", 6)
	for round := 0; total < goal; round++ {
		outputs, _ := h.apply(h.write("limits.hcl", fmt.Sprintf(limitsPipeline, h.image, limit)), "-var", fmt.Sprint("round=", round))
		var got map[string]string
		must(t, json.Unmarshal([]byte(outputs["outcomes"]), &got))
		if limit < time.Minute && early(got) {
			limit *= 2
			continue
		}
		if diff := cmp.Diff(modes, got); diff != "" {
			t.Errorf("round %d: outcomes:\n%s\nstats %s", round, diff, outputs["stats"])
		}
		for mode := range modes {
			dir := h.materialise(t, fmt.Sprintf("step.agent-run.resist[%q]", mode), "submission")
			if text, err := os.ReadFile(filepath.Join(dir, "submission.csv")); err != nil || string(text) != "resist "+mode+"\n" {
				t.Errorf("round %d: %s: submission %q, %v", round, mode, text, err)
			}
			total++
		}
		h.clean()
		if t.Failed() {
			break
		}
	}
	spans := w.stop()
	longest := time.Duration(0)
	for group, s := range spans {
		longest = max(longest, s.last.Sub(s.first))
		if d := s.last.Sub(s.first); d > limit+late {
			t.Errorf("something was alive %v after its start: %s", d, group)
		}
	}
	if len(spans) < total*2/3 {
		t.Errorf("only %d of %d attempts were seen alive: the watcher is too slow to tell anything", len(spans), total)
	}
	fmt.Printf("BenchmarkLimits\t1\t%d kills\t%.4g s-late\n", total, (longest - limit).Seconds())
}

// early reports whether an agent reached the time limit that should have ended before.
func early(outcomes map[string]string) bool {
	for mode, outcome := range outcomes {
		if outcome == "timed_out" && modes[mode] != outcome {
			return true
		}
	}
	return false
}

// span is when processes of a control group were first and last seen.
type span struct{ first, last time.Time }

// watcher looks at the machine's processes, over and over.
type watcher struct {
	mu    sync.Mutex
	spans map[string]span
	// workers are the processes that were seen, by number and start.
	workers map[string]bool
	end     chan struct{}
	done    sync.WaitGroup
}

func watch() *watcher {
	w := &watcher{spans: map[string]span{}, workers: map[string]bool{}, end: make(chan struct{})}
	w.done.Go(func() {
		for {
			w.look()
			select {
			case <-w.end:
				return
			case <-time.After(30 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *watcher) look() {
	list := processes()
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range list {
		s, ok := w.spans[p.group]
		if !ok {
			s.first = now
		}
		s.last = now
		w.spans[p.group] = s
		w.workers[p.group+" "+fmt.Sprint(p.pid)] = true
	}
}

func (w *watcher) stop() map[string]span {
	close(w.end)
	w.done.Wait()
	return w.spans
}
