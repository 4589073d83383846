package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/clustertest"
)

// cancelled: someone cancels a job. It is not started again, and says why it ended.
func cancelled(t *testing.T, b cluster.Backend) {
	job := cluster.Job{Name: cluster.JobName(strings.Repeat("c", 40)), Args: []string{clustertest.Command, "sleep", "1h", "0"}, Retries: 3, Grace: time.Second}
	last := follow(t, b, job, func(s cluster.Status) {
		if s.State == cluster.Running {
			if out, err := exec.Command("scancel", s.ID).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	if last.State != cluster.Failed || !last.Final || last.Starts != 1 || !strings.Contains(last.Message, "from outside, such as by scancel") {
		t.Errorf("%+v", last)
	}
}

// killed: a worker is killed, then the batch script with it. Both times the job is soon
// started again, and says why.
func killed(t *testing.T, b cluster.Backend, folder string) {
	job := cluster.Job{Name: cluster.JobName(strings.Repeat("d", 40)), Args: []string{clustertest.Command, "marked", folder}, Retries: 3, Grace: time.Second}
	var told []string
	start := time.Now()
	last := follow(t, b, job, func(s cluster.Status) {
		if s.State == cluster.Pending && s.Starts > 0 && (len(told) == 0 || told[len(told)-1] != s.Message) {
			told = append(told, s.Message)
		}
		if s.State == cluster.Running && s.Starts <= 2 {
			killMarked(t, folder, s.Starts == 2)
		}
	})
	text := strings.Join(told, "|")
	if last.State != cluster.Succeeded || last.Starts != 3 || !strings.Contains(text, "status 137") || !strings.Contains(text, "script was killed") {
		t.Errorf("%+v, told %q", last, told)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("two restarts took %s", took)
	}
}

// killMarked kills the worker that left its number in the folder, and the batch script
// above it if script is set.
func killMarked(t *testing.T, folder string, script bool) {
	path := filepath.Join(folder, "marked")
	var pid, parent int
	for limit := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		_, _ = fmt.Sscan(string(text), &pid, &parent)
	}
	if pid == 0 {
		t.Error("no worker left its number")
		return
	}
	_ = os.Remove(path)
	if script {
		_ = syscall.Kill(parent, syscall.SIGKILL)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// furtherLost: a job goes on with another one and is killed with it, or cancelled. The
// other one's own place in the queue starts it again, or is given up.
func furtherLost(t *testing.T, b cluster.Backend, folder string, kill bool) {
	job := func(digit string, args ...string) cluster.Job {
		return cluster.Job{Name: cluster.JobName(strings.Repeat(digit+fmt.Sprint(kill)[:1], 20)), Args: append([]string{clustertest.Command}, args...), Needs: cluster.Needs{CPUs: 2}, Stay: time.Minute, Grace: time.Second, Retries: 3}
	}
	full, first, other := job("1", "sleep", "1h", "0"), job("2", "sleep", "3s", "0"), job("3", "marked", folder)
	if !kill { // its own place may start for a moment before it is given up
		other = job("3", "sleep", "1h", "0")
	}
	for _, j := range []cluster.Job{full, first} {
		if err := b.Start(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	last := follow(t, b, other, func(s cluster.Status) {
		if s.State != cluster.Running || slices.Contains(ids, s.ID) {
			return
		}
		if ids = append(ids, s.ID); len(ids) > 1 {
			return
		}
		if kill {
			killMarked(t, folder, true)
		} else if out, err := exec.Command("scancel", s.ID).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if err := b.Cancel(t.Context(), full.Name, first.Name); err != nil {
		t.Error(err)
	}
	switch {
	case kill && (last.State != cluster.Succeeded || len(ids) != 2):
		t.Errorf("%+v in the jobs %v, want it started by itself", last, ids)
	case !kill && (!last.Final || len(ids) != 1):
		t.Errorf("%+v in the jobs %v, want it cancelled", last, ids)
	}
}

// follow starts a job and watches it until it has ended.
func follow(t *testing.T, b cluster.Backend, job cluster.Job, saw func(cluster.Status)) (last cluster.Status) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	if err := b.Start(ctx, job); err != nil {
		t.Fatal(err)
	}
	err := b.Watch(ctx, func(s cluster.Status) {
		if s.Job != job.Name {
			return
		}
		last = s
		if saw(s); s.State.Ended() {
			stop()
		}
	}, nil)
	if err := errors.Join(err, b.Cancel(t.Context(), job.Name)); err != nil {
		t.Error(err)
	}
	return last
}
