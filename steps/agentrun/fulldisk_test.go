package agentrun_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// diskOf returns a bench whose disk has 100 MiB, or left as soon as the file in the home
// of an attempt exists.
func diskOf(t *testing.T, file string, left int64) *steptest.Bench {
	t.Helper()
	return steptest.New(agentrun.Kind(agentrun.Deps{
		Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(process.Runtime("")),
		Free: func(path string) (int64, error) {
			if _, err := os.Stat(filepath.Join(path, "home", file)); err == nil {
				return left, nil
			}
			return 100 << 20, nil
		},
	}))
}

// TestFullDisk fills the disk by an agent, which ends as out of disk whether it goes on or
// ends by itself, and keeps what it submitted.
func TestFullDisk(t *testing.T) {
	for name, after := range map[string]string{"goes on": "sleep 600", "ends": "exit 0", "fails": "exit 1"} {
		t.Run(name, func(t *testing.T) {
			b := diskOf(t, "agent/full", 1000)
			r := run(t, b, values(b, t, shell(`echo id > $SUBMISSION_DIR/submission.csv; truncate -s 60M $AGENT_DIR/big; touch $AGENT_DIR/full; `+after)))
			if r.Outcome != "out_of_disk" || r.Submission["submission.csv"] != "id\n" {
				t.Errorf("got %s and %v", r.Outcome, r.Submission)
			}
		})
	}
}

// TestFullDiskOfOthers fills the disk from outside: that is no result of the agent,
// unless it got done.
func TestFullDiskOfOthers(t *testing.T) {
	for name, after := range map[string]string{"goes on": "sleep 600", "fails": "exit 1", "submits nothing": "rm $SUBMISSION_DIR/*"} {
		t.Run(name, func(t *testing.T) {
			b := diskOf(t, "agent/full", 1000)
			_, err := b.Run(t, values(b, t, shell(`echo id > $SUBMISSION_DIR/submission.csv; touch $AGENT_DIR/full; `+after)))
			if _, again := step.IsRetryable(err); !again || !errors.Is(err, cache.ErrSpace) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestReservedDisk never blames an agent for what it reserved.
func TestReservedDisk(t *testing.T) {
	b := diskOf(t, "agent/full", 1000)
	b.Limits.DiskBytes = 80 << 20
	_, err := b.Run(t, values(b, t, shell(`truncate -s 60M $AGENT_DIR/big; touch $AGENT_DIR/full; sleep 600`)))
	if !errors.Is(err, cache.ErrSpace) {
		t.Errorf("got %v", err)
	}
}

// TestNoSpaceToStart starts no agent whose results cannot be stored, and says how much
// there is.
func TestNoSpaceToStart(t *testing.T) {
	b := diskOf(t, "..", 3<<20)
	_, err := b.Run(t, values(b, t, shell("true")))
	if _, again := step.IsRetryable(err); !again || !strings.Contains(err.Error(), "3 MiB are free") {
		t.Errorf("got %v", err)
	}
}
