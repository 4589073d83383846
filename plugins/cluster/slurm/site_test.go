package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// TestReasons sorts all reasons that Slurm 22.05 to 25.11 has for a pending job
// (testdata/reasons.txt: job_reason_string of src/common/slurm_protocol_defs.c, and
// src/common/job_state_reason.c), and some that it has not.
func TestReasons(t *testing.T) {
	text, err := os.ReadFile("testdata/reasons.txt")
	if err != nil {
		t.Fatal(err)
	}
	const always = " BadConstraints DeadLine DependencyNeverSatisfied InvalidAccount InvalidQOS JobHoldMaxRequeue ReservationDeleted ReservationInvalid "
	const there = " PartitionConfig PartitionTimeLimit PartitionNodeLimit AccountNotAllowed QOSNotAllowed MaxMemPerLimit "
	for reason := range strings.FieldsSeq(string(text) + " None_of_these PartitionTimeLimits (null) Nodes_required_for_job_are_DOWN,_DRAINED") {
		ofJob := strings.HasSuffix(strings.TrimSuffix(reason, "Limit"), "PerJob") || strings.HasSuffix(reason, "PerNode")
		wantJob := strings.Contains(always, " "+reason+" ") || strings.HasPrefix(reason, "AssocMax") && ofJob
		wantThere := wantJob || strings.Contains(there, " "+reason+" ") || strings.HasPrefix(reason, "QOSMin") || strings.HasPrefix(reason, "QOSMax") && ofJob
		w := &watcher{Backend: &Backend{}, free: []cluster.Node{{Ready: true}}}
		if got := w.never(t.Context(), entry{reason: reason, partition: "a,b"}); got != wantJob {
			t.Errorf("%s in one of two partitions: never %v", reason, got)
		}
		if got := w.never(t.Context(), entry{reason: reason, partition: "a"}); got != wantThere {
			t.Errorf("%s: never %v", reason, got)
		}
		w.free[0].Ready = false
		if got := w.never(t.Context(), entry{reason: reason}); got != (wantThere && reason != "PartitionNodeLimit") {
			t.Errorf("%s while all nodes are down: never %v", reason, got)
		}
	}
}

// TestOptions: no option that the backend sets itself, abbreviated or not, nor a word that
// sbatch takes for a script; those of a limit if the site decides on it.
func TestOptions(t *testing.T) {
	for option, want := range map[string]string{
		"--nice=100": "", "--exclusive": "", "--mem-bind=local": "", "--gres-flags=enforce-binding": "", "--nodelist=n1": "", "--wait-all-nodes=1": "", "--licenses=a@b:1": "",
		"--tmp=10G": "", "--switches=1@10:00": "", "--mail-user=a@b": "", "--cpus-per-g=1": "cpus", "--mem=0": "memory", "--mem-per-gpu=1G": "memory", "--gpus=2": "gpus", "--time=60": "time",
		"--partition=x": "partition = ", "--part=x": "partition", "--qos=x": "qos = ", "--job-n=x": "follow", "--wrap=true": "follow", "--wra=true": "follow", "--get-user-env": "follow",
		"--quiet": "follow", "--array=1-3": "follow", "--output=/x": "follow", "--clusters=all": "follow", "--hold": "follow", "--export=ALL": "follow", "--test": "follow", "--uid=0": "follow",
		"": "long option", "--": "long option", "--=x": "long option", "-px": "long option", "-H": "long option", "100": "long option", "/tmp/script.sh": "long option", "-": "long option",
	} {
		err := checkOptions([]string{"--nice=1", option}, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", option, err, want)
		}
		if err := checkOptions([]string{option}, cluster.Limits); (err == nil) != (want == "" || strings.Contains("cpus memory gpus time", want)) {
			t.Errorf("%q where the site decides: %v", option, err)
		}
	}
}

// tool makes a program of Slurm that is a shell script.
func tool(t *testing.T, name, script string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestFull: what sbatch says of a limit on the number of jobs, and of a controller that is away,
// passes; what it says of anything else does not. It is not waited for where sbatch waits.
func TestFull(t *testing.T) {
	for script, want := range map[string]bool{
		`echo "sbatch: error: AssocMaxSubmitJobLimit" >&2; echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" >&2; exit 1`: true,
		`echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2; exit 1`:                                                                                                                                                   true,
		`echo "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying" >&2; exec sleep 60`:                                                                                                          true,
		`echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2; exit 1`:                                                                                             true,
		`echo "sbatch: error: AssocMaxWallDurationPerJobLimit" >&2; echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" >&2; exit 1`: false,
		`echo "sbatch: error: invalid partition specified: x" >&2; exit 1`:                                                                                                                                                false,
	} {
		tool(t, "sbatch", script)
		start := time.Now()
		if _, err := call(t.Context(), "", "sbatch"); err == nil || errors.Is(err, cluster.ErrLater) != want {
			t.Errorf("%s: %v", script, err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: after %s", script, took)
		}
	}
}

// TestAccepts: doctor says which limit the site refuses, and how to leave it to the site.
func TestAccepts(t *testing.T) {
	job := cluster.Job{Name: "mleflow-0", Needs: cluster.Needs{CPUs: 2, MemoryBytes: 1 << 30, GPUs: 1}, Deadline: time.Hour}
	for name, c := range map[string]struct{ script, fix string }{
		"memory":  {`case "$*" in *--mem=*) echo "sbatch: error: The --mem=... request is not allowed" >&2; exit 1 ;; esac`, `site_decides = ["memory"]`},
		"gpus":    {`case "$*" in *--gres=*) echo "sbatch: error: Invalid generic resource (gres) specification" >&2; exit 1 ;; esac`, `site_decides = ["gpus"]`},
		"several": {`case "$*" in *--gres=*|*--mem=*) echo no >&2; exit 1 ;; esac`, `["cpus", "memory", "disk", "gpus", "time"]`},
		"another": {`echo "sbatch: error: invalid partition specified: x" >&2; exit 1`, "compare partition"},
		"full":    {`echo "sbatch: error: AssocMaxSubmitJobLimit" >&2; exit 1`, "max_jobs"},
		"none":    {`exit 0`, ""},
	} {
		tool(t, "sbatch", c.script)
		b := &Backend{settings: settings{Config: Config{GRES: "gpu", Folder: t.TempDir()}}}
		got := b.accepts(t.Context(), job)
		if got.OK != (c.fix == "") || !strings.Contains(got.Fix, c.fix) || !strings.Contains(got.Detail, "--cpus-per-task=2 --mem=1024M --gres=gpu:1 --time=60") || got.Optional != (name == "full") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if s := (&settings{}).limits(job.Without(cluster.Limits...)); len(s) != 0 {
		t.Errorf("the site decides on all, and the job asks for %v", s)
	}
}
