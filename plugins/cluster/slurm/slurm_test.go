package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/clustertest"
	"github.com/mleflow/mleflow/plugins/cluster/slurm"
	"github.com/mleflow/mleflow/plugins/cluster/slurm/slurmtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == clustertest.Command {
		os.Exit(clustertest.Worker(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// TestSuite runs the suite on a real Slurm of two nodes.
func TestSuite(t *testing.T) {
	c := slurmtest.Start(t)
	open := func(t *testing.T, change func(*slurm.Config)) cluster.Backend {
		t.Helper()
		config := slurm.Config{Folder: filepath.Join(c.Dir, "jobs"), Poll: "200ms", Sticky: "1m"}
		change(&config)
		b, err := slurm.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	clustertest.Run(t, clustertest.Bed{
		Open:     func(t *testing.T) cluster.Backend { return open(t, func(*slurm.Config) {}) },
		Patience: 3 * time.Minute,
		LoseNode: c.LoseNode,
		Restart:  c.Restart,
		Broken: func(t *testing.T) cluster.Backend {
			return open(t, func(c *slurm.Config) { c.Binary = "/nonexistent/mleflow" })
		},
	})
	t.Run("Beside", func(t *testing.T) { // each leaves space for the others
		for name, test := range map[string]func(*testing.T){
			"NodeIsExcluded": func(t *testing.T) {
				for _, node := range slurmtest.Nodes { // one of them is the preferred one
					excluded(t, open(t, func(c *slurm.Config) { c.Exclude = node }), node)
				}
			},
			"Killed":    func(t *testing.T) { killed(t, open(t, func(*slurm.Config) {}), filepath.Join(c.Dir, "jobs")) },
			"Cancelled": func(t *testing.T) { cancelled(t, open(t, func(*slurm.Config) {})) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("NodeIsFull", func(t *testing.T) {
		released(t, open(t, func(c *slurm.Config) { c.Sticky = "3s" }))
	})
	t.Run("TimeLimit", func(t *testing.T) {
		nodes, err := open(t, func(c *slurm.Config) { c.Partition = "short" }).Nodes(t.Context())
		if want := 26*time.Hour + 30*time.Minute; err != nil || len(nodes) != 1 || nodes[0].MaxTime != want {
			t.Errorf("%v: %+v, want one node with the limit %s", err, nodes, want)
		}
	})
	t.Run("Never", func(t *testing.T) {
		never(t, open(t, func(c *slurm.Config) { c.Partition = "short" }), "PartitionTimeLimit PartitionConfig")
	})
	t.Run("Refused", func(t *testing.T) { refuses(t, open(t, func(c *slurm.Config) { c.Partition = "short" })) })
	t.Run("SmallInputs", func(t *testing.T) { small(t, open(t, func(*slurm.Config) {})) })
	t.Run("Further", func(t *testing.T) { further(t, open(t, func(*slurm.Config) {})) })
	t.Run("FurtherIsKilled", func(t *testing.T) {
		furtherLost(t, open(t, func(*slurm.Config) {}), filepath.Join(c.Dir, "jobs"), true)
	})
	t.Run("FurtherIsCancelled", func(t *testing.T) {
		furtherLost(t, open(t, func(*slurm.Config) {}), filepath.Join(c.Dir, "jobs"), false)
	})
	t.Run("LargeInputsAreThere", func(t *testing.T) { moved(t, open) })
	t.Run("Preempted", func(t *testing.T) { preempted(t, open(t, func(*slurm.Config) {})) })
	t.Run("Preemptible", func(t *testing.T) { preemptible(t, open(t, func(*slurm.Config) {})) })
	t.Run("GPUs", func(t *testing.T) { gpus(t, open(t, func(*slurm.Config) {})) })
}

// released: a job whose node stays full runs on another one.
func released(t *testing.T, b cluster.Backend) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var names []string
	for i, args := range [][]string{{"sleep", "1h", "0"}, {"exit", "0"}} {
		job := cluster.Job{
			Name: cluster.JobName(strings.Repeat(string(rune('a'+i)), 40)), Args: append([]string{clustertest.Command}, args...),
			Needs: cluster.Needs{CPUs: 2}, Near: "full", Grace: time.Second,
		}
		names = append(names, job.Name)
		if err := b.Start(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]string{}
	err := b.Watch(ctx, func(s cluster.Status) {
		if at[s.Job] = s.Node; s.Job == names[1] && s.State.Ended() {
			stop()
		}
	}, nil)
	if err := b.Cancel(t.Context(), names...); err != nil {
		t.Error(err)
	}
	if err != nil || at[names[0]] == "" || at[names[1]] == "" || at[names[0]] == at[names[1]] {
		t.Errorf("%v: the jobs ran on %v", err, at)
	}
}

// preempted: more urgent jobs take both nodes. The job is started again when they
// have ended, but one that may not be retried fails.
func preempted(t *testing.T, b cluster.Backend) {
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	again, once := cluster.JobName(strings.Repeat("e", 40)), cluster.JobName(strings.Repeat("f", 40))
	for name, retries := range map[string]int{again: 1, once: 0} {
		job := cluster.Job{Name: name, Args: []string{clustertest.Command, "sleep", "1h", "0"}, Needs: cluster.Needs{CPUs: 2}, Retries: retries, Grace: time.Second}
		if err := b.Start(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	first, last := map[string]bool{}, map[string]cluster.Status{}
	err := b.Watch(ctx, func(s cluster.Status) {
		if !last[s.Job].State.Ended() {
			last[s.Job] = s
		}
		if s.State == cluster.Running && !first[s.Job] {
			if first[s.Job] = true; len(first) == 2 {
				for range slurmtest.Nodes {
					if out, err := exec.Command("sbatch", "--partition=urgent", "--nodes=1", "--exclusive", "--output=/dev/null", "--wrap=sleep 2").CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
						stop()
					}
				}
			}
		}
		if last[again].State == cluster.Running && last[again].Starts == 2 && last[once].State.Ended() {
			stop()
		}
	}, nil)
	if err := b.Cancel(t.Context(), again, once); err != nil {
		t.Error(err)
	}
	if s := last[again]; err != nil || s.State != cluster.Running || s.Starts != 2 {
		t.Errorf("%v: %+v, want it running again", err, s)
	}
	if s := last[once]; s.State != cluster.Failed || s.Final || s.Reason != "TooManyRestarts" && !strings.Contains(s.Message, "by preemptions or lost nodes") {
		t.Errorf("%+v, want it failed by the machines", s)
	}
}

// preemptible: Slurm warns the batch script of a job, which ends by itself and is started
// again. Without preemptible, it would have failed.
func preemptible(t *testing.T, b cluster.Backend) {
	for again, name := range map[bool]string{true: cluster.JobName(strings.Repeat("9", 40)), false: cluster.JobName(strings.Repeat("8", 40))} {
		folder := t.TempDir()
		job := cluster.Job{Name: name, Args: []string{clustertest.Command, "sleep", "25s", "0", folder}, Retries: 3, Grace: 20 * time.Second, Preemptible: again}
		last := follow(t, b, job, func(s cluster.Status) {
			if s.State == cluster.Running && s.Starts == 1 {
				for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
					if _, err := os.Stat(filepath.Join(folder, "marked")); err == nil {
						break // Slurm calls a job running before it starts the script
					}
				}
				if out, err := exec.Command("scancel", "--batch", "--signal=TERM", s.ID).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
		if again && (last.State != cluster.Succeeded || last.Starts != 2) || !again && last.State != cluster.Failed {
			t.Errorf("preemptible %v: %+v", again, last)
		}
	}
}

// gpus: the node with GPUs is told, and is where a job that wants them runs.
func gpus(t *testing.T, b cluster.Backend) {
	nodes, err := b.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		want := 0
		if n.Name == slurmtest.Nodes[0] {
			want = 2
		}
		if n.Has.GPUs != want || n.Has.CPUs != 2 || n.Has.MemoryBytes != 2000<<20 {
			t.Errorf("%+v", n)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	job := cluster.Job{
		Name: cluster.JobName("1234567812345678123456781234567812345678"), Args: []string{clustertest.Command, "env", "CUDA_VISIBLE_DEVICES", "0,1"},
		Needs: cluster.Needs{GPUs: 2}, Near: "x", Grace: time.Second,
	}
	if err := b.Start(ctx, job); err != nil {
		t.Fatal(err)
	}
	var last cluster.Status
	err = b.Watch(ctx, func(s cluster.Status) {
		if s.Job != job.Name {
			return
		}
		if last = s; s.State.Ended() {
			stop()
		}
	}, nil)
	if err != nil || last.State != cluster.Succeeded || last.Node != slurmtest.Nodes[0] {
		t.Errorf("%v: %+v", err, last)
	}
}

// excluded: an excluded node is not listed, and the jobs run on the other one.
func excluded(t *testing.T, b cluster.Backend, node string) {
	nodes, err := b.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Name == node {
		t.Errorf("%v: the nodes without %s are %+v", err, node, nodes)
	}
	job := cluster.Job{Name: cluster.JobName(strings.Repeat("9", 39) + node[4:]), Args: []string{clustertest.Command, "exit", "0"}, Near: "some", Grace: time.Second}
	if at := places(t, b, job); at[job.Name] == node || at[job.Name] == "" {
		t.Errorf("the job ran on %q, and %s is excluded", at[job.Name], node)
	}
}

// small: jobs with the same small inputs fill both nodes.
func small(t *testing.T, b cluster.Backend) {
	var jobs []cluster.Job
	for i := range 4 {
		jobs = append(jobs, cluster.Job{
			Name: cluster.JobName(strings.Repeat(string(rune('2'+i)), 40)), Args: []string{clustertest.Command, "sleep", "3s", "0"},
			Needs: cluster.Needs{CPUs: 1}, Near: "small", NearBytes: 1000, Grace: time.Second,
		})
	}
	used := map[string]int{}
	for _, node := range places(t, b, jobs...) {
		used[node]++
	}
	if len(used) != 2 {
		t.Errorf("the jobs ran on %v, want both nodes", used)
	}
}

// places runs jobs and returns the node of each.
func places(t *testing.T, b cluster.Backend, jobs ...cluster.Job) map[string]string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	left := map[string]bool{}
	for _, job := range jobs {
		if err := b.Start(ctx, job); err != nil {
			t.Fatal(err)
		}
		left[job.Name] = true
	}
	at := map[string]string{}
	err := b.Watch(ctx, func(s cluster.Status) {
		if left[s.Job] && s.State.Ended() {
			if s.State != cluster.Succeeded {
				t.Errorf("%+v", s)
			}
			at[s.Job] = s.Node
			if delete(left, s.Job); len(left) == 0 {
				stop()
			}
		}
	}, nil)
	if err != nil || len(left) > 0 {
		t.Fatalf("%v: %v have not ended", err, left)
	}
	return at
}

// further: of jobs that ask for the same, those that run do the work of those that wait.
func further(t *testing.T, b cluster.Backend) {
	var jobs []cluster.Job
	for i := range 8 {
		jobs = append(jobs, cluster.Job{
			Name: cluster.JobName(strings.Repeat(fmt.Sprint(i)+"f", 20)), Args: []string{clustertest.Command, "sleep", "100ms", "0"},
			Address: "step.x.y[\"it's a job\"]", Needs: cluster.Needs{CPUs: 2}, Stay: time.Minute, Grace: time.Second,
		})
	}
	places(t, b, jobs...)
	started := 0
	for _, job := range jobs {
		out, err := exec.Command("squeue", "--noheader", "--states=COMPLETED,COMPLETING,RUNNING", "--name="+job.Name).Output()
		if err != nil {
			t.Fatal(err)
		}
		if started += strings.Count(string(out), "\n"); b.Remove(t.Context(), job.Name) != nil {
			t.Error("the remains of a job stay")
		}
	}
	if started == 0 || started > 5 {
		t.Errorf("Slurm started %d jobs for %d", started, len(jobs))
	}
}

// moved: a job waits for the node that cluster.Rank prefers, which is full. Another node
// has run a job with the same large inputs and is idle, so it runs there at once.
func moved(t *testing.T, open func(*testing.T, func(*slurm.Config)) cluster.Backend) {
	first, other := cluster.Rank("large", slurmtest.Nodes)[0], ""
	for _, node := range slurmtest.Nodes {
		if node != first {
			other = node
		}
	}
	at := func(digit, node string, args ...string) cluster.Job {
		b := open(t, func(c *slurm.Config) {
			if node != "" {
				c.Options = []string{"--nodelist=" + node}
			}
		})
		job := cluster.Job{Name: cluster.JobName(strings.Repeat(digit, 40)), Args: append([]string{clustertest.Command}, args...), Needs: cluster.Needs{CPUs: 2}, Near: "large", NearBytes: 8 << 30, Grace: time.Second}
		if err := b.Start(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		return job
	}
	b := open(t, func(*slurm.Config) {}) // its jobs wait for a minute
	full, warm := at("1", first, "sleep", "1h", "0"), at("2", other, "sleep", "2s", "0")
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var waits cluster.Job
	var since time.Time
	err := b.Watch(ctx, func(s cluster.Status) {
		switch {
		case s.Job == warm.Name && s.State == cluster.Running && waits.Name == "":
			waits, since = at("3", "", "exit", "0"), time.Now()
		case s.Job == waits.Name && s.State.Ended():
			if s.Node != other {
				t.Errorf("%+v, want it on %s", s, other)
			}
			stop()
		}
	}, nil)
	if took := time.Since(since); err != nil || since.IsZero() || took > 30*time.Second {
		t.Errorf("%v: it waited for %s", err, took)
	}
	if err := b.Cancel(t.Context(), full.Name, warm.Name, waits.Name); err != nil {
		t.Error(err)
	}
}

// never: a job that Slurm has taken and never starts is Pending and Final, within a minute.
func never(t *testing.T, b cluster.Backend, reasons string) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	job := cluster.Job{Name: cluster.JobName(fmt.Sprintf("%040x", time.Now().UnixNano())), Args: []string{"version"}, Deadline: 100 * time.Hour, Grace: time.Second}
	if err := b.Start(ctx, job); err != nil {
		t.Fatal(err)
	}
	var last cluster.Status
	err := b.Watch(ctx, func(s cluster.Status) {
		if s.Job != job.Name {
			return
		}
		if last = s; s.State != cluster.Pending || s.Final {
			stop()
		}
	}, nil)
	if err != nil || last.State != cluster.Pending || !last.Final || !strings.Contains(reasons, last.Reason) || !strings.Contains(last.Message, "--time=6001") {
		t.Errorf("%v %+v, want one of %s", err, last, reasons)
	}
	if err := b.Cancel(t.Context(), job.Name); err != nil {
		t.Error(err)
	}
	if err := b.Remove(t.Context(), job.Name); err != nil {
		t.Error(err)
	}
}

// refuses: a request that Slurm refuses is found by a job that is not started, with the limit
// that it concerns. It does not refuse a time that is longer than the partition's.
func refuses(t *testing.T, b cluster.Backend) {
	for limit, job := range map[string]cluster.Job{
		"":       {Needs: cluster.Needs{CPUs: 1, MemoryBytes: 1 << 29}, Deadline: time.Hour},
		"memory": {Needs: cluster.Needs{CPUs: 1, MemoryBytes: 1 << 40}, Deadline: time.Hour},
		"cpus":   {Needs: cluster.Needs{CPUs: 100}, Deadline: time.Hour},
		"gpus":   {Needs: cluster.Needs{CPUs: 1, GPUs: 1}},
	} {
		job.Name, job.Args = cluster.JobName("0"), []string{"version"}
		checks := b.Examine(t.Context(), job)
		c := checks[len(checks)-1]
		if c.OK != (limit == "") || !strings.Contains(c.Fix, limit) || c.Name != "job" {
			t.Errorf("%s: %+v", limit, c)
		}
	}
}

// TestQueueFull: a full queue passes (MaxJobCount); a job that has been taken is no second one.
func TestQueueFull(t *testing.T) {
	c := slurmtest.Start(t, "MaxJobCount=3")
	b, err := slurm.New(slurm.Config{Folder: filepath.Join(c.Dir, "jobs"), Poll: "200ms"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 3 {
		job := cluster.Job{Name: cluster.JobName(fmt.Sprintf("%040x", i)), Args: []string{clustertest.Command, "sleep", "1h", "0"}, Grace: time.Second, Needs: cluster.Needs{CPUs: 2}}
		if err := b.Start(t.Context(), job); errors.Is(err, cluster.ErrLater) != (i == 2) || i < 2 && err != nil {
			t.Errorf("job %d: %v", i, err)
		}
		names = append(names, job.Name)
	}
	if err := b.Start(t.Context(), cluster.Job{Name: names[0]}); err != nil {
		t.Errorf("the first once more: %v", err)
	}
	if err := b.Cancel(t.Context(), names...); err != nil {
		t.Error(err)
	}
}
