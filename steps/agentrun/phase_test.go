package agentrun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// TestPhases runs an agent that goes on when what it did was seen: it submits
// nothing, a wrong submission, a right one, a pipe, and hides that behind a link.
func TestPhases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Limits = step.Limits{CPUs: 1, Timeout: 2 * time.Minute}
	signs := t.TempDir()
	// Each state of the submission lets the agent take its next step.
	want := []string{"none ", "invalid ", "valid ", "none ", "valid ", "none "}
	var mu sync.Mutex
	var names []step.PhaseName
	var seen []string
	var placed, harvested step.Phase
	var memory int64
	b.Phase = func(p step.Phase) {
		mu.Lock()
		defer mu.Unlock()
		if len(names) == 0 || names[len(names)-1] != p.Name {
			names = append(names, p.Name)
		}
		switch p.Name {
		case step.Placing:
			placed = p
		case step.Harvesting:
			harvested = p
		case step.Running:
			memory = max(memory, p.MemoryBytes)
			if p.LimitMillis != (2*time.Minute).Milliseconds() || p.Started.IsZero() {
				t.Errorf("limit %d ms since %v", p.LimitMillis, p.Started)
			}
			state := string(p.Submission) + " " + p.Reason
			if len(seen) == len(want) || p.MemoryBytes == 0 || !strings.HasPrefix(strings.ToLower(state), want[len(seen)]) {
				return
			}
			seen = append(seen, state)
			if err := os.WriteFile(filepath.Join(signs, fmt.Sprint(len(seen))), nil, 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	r := run(t, b, values(b, t, shell(`await() { until [ -e "`+signs+`/$1" ]; do sleep 0.05; done; }
		cd $SUBMISSION_DIR
		await 1; echo wrong > submission.csv
		await 2; cp $DATA_DIR/sample_submission.csv new; mv new submission.csv
		await 3; rm submission.csv; mkfifo submission.csv
		await 4; rm submission.csv; cp $DATA_DIR/sample_submission.csv submission.csv; chmod u+w submission.csv
		await 5; mv submission.csv hidden; ln -s "$PWD/hidden" submission.csv
		await 6; echo log > $LOGS_DIR/log`)))
	if r.Outcome == "timed_out" || len(seen) != len(want) {
		t.Fatalf("the agent %s when this was seen: %q\n%s", r.Outcome, seen, b.Log())
	}
	if order := []step.PhaseName{step.Placing, step.Starting, step.Running, step.Harvesting}; !slices.Equal(names, order) {
		t.Errorf("phases %v, want %v", names, order)
	}
	if placed.Files == 0 || placed.Files != placed.TotalFiles || placed.Bytes == 0 || placed.Bytes != placed.TotalBytes {
		t.Errorf("in the end %+v is placed", placed)
	}
	if harvested.Files != 2 || harvested.Bytes == 0 { // hidden and log
		t.Errorf("harvested %+v", harvested)
	}
	if memory < 100<<10 || memory > 1<<30 {
		t.Errorf("a shell holds %d bytes", memory)
	}
}

// TestStartingTellsOfTheImage has a runtime that unpacks an image.
func TestStartingTellsOfTheImage(t *testing.T) {
	t.Parallel()
	m := &machine{running: map[string]executor.Spec{}, command: func(s executor.Spec) error {
		s.Work.Begin("pulling the image", 0, 5)
		s.Work.Add(0, 6) // a part of it twice
		s.Work.Begin("unpacking the image", 0, 7)
		s.Work.Add(0, 7)
		s.OnStart(time.Now())
		s.Work.Add(0, 1)
		return nil
	}}
	b := newBench(t, m.runtime())
	var mu sync.Mutex
	told := map[string]step.Phase{}
	b.Phase = func(p step.Phase) {
		mu.Lock()
		defer mu.Unlock()
		if p.What != "" {
			told[p.What] = p
		}
	}
	run(t, b, values(b, t, who([]string{"/agent"}, nil)))
	want := map[string]step.Phase{
		"pulling the image":   {Name: step.Starting, What: "pulling the image", Bytes: 6},
		"unpacking the image": {Name: step.Starting, What: "unpacking the image", Bytes: 7, TotalBytes: 7},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}
