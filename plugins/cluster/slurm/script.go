package slurm

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// script returns the batch script of a job. The script runs one worker, forwards
// SIGTERM to it, writes its exit status, and requeues itself if the worker failed. For
// job.Stay it goes on with waiting jobs of the same shape; see the package comment.
func (s *settings) script(job cluster.Job) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/sh")
	line("umask 077")
	line(`export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"`) // a user without a home folder has none
	if s.EnvFile != "" {
		line("set -a; . %s || exit 1; set +a", quote(s.EnvFile))
	}
	if s.CacheDir != "" {
		line("export MLEFLOW_CACHE_DIR=%s", doubleQuote(s.CacheDir))
	}
	if s.CacheQuota != "" {
		line("export MLEFLOW_CACHE_QUOTA=%s", quote(s.CacheQuota))
	}
	for _, env := range []map[string]string{s.Env, job.Env} {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			line("export %s=%s", name, quote(env[name]))
		}
	}
	line(`export MLEFLOW_NODE="$SLURMD_NODENAME"`)
	line("folder=%s name=%s shape=%s", quote(s.Folder), quote(job.Name), s.shape(job))
	line("grace=%d retries=%d stay=%d", int(math.Ceil(job.Grace.Seconds())), job.Retries, int(min(s.stay, job.Stay).Seconds()))
	if job.Preemptible {
		line("preemptible=1")
	}
	line("final='%s'", strings.Trim(fmt.Sprint(cluster.FinalExits), "[]"))
	b.WriteString(s.worker(job))
	b.WriteString(batch)
	return b.String()
}

// worker defines the shell function that becomes the worker of a job.
func (s *settings) worker(job cluster.Job) string {
	words := lists.Of(slices.Concat([]string{s.Binary}, job.Args), quote)
	return "worker() { exec " + strings.Join(words, " ") + "; }\n"
}

// batch is the part of the script that all jobs share. A process that has the trap
// would miss a signal before it becomes the worker; a subshell does not inherit it.
//
//go:embed batch.sh
var batch string

// shape identifies what a job asks for. Of jobs with one shape, one can do the work of
// another: they differ only in their actions, and in small inputs.
func (s *settings) shape(job cluster.Job) string {
	near := job.Near
	if small(job) {
		near = ""
	}
	alike := cluster.Job{Env: job.Env, Needs: job.Needs, Deadline: job.Deadline, Grace: job.Grace, Retries: job.Retries, Stay: job.Stay, Preemptible: job.Preemptible}
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v\n%+v\n%s\n%q", *s, alike, near, s.options(alike, "")))
	return hex.EncodeToString(sum[:6])
}

// offer writes the file by which a running job takes over a waiting one.
func (s *settings) offer(job cluster.Job, id string) error {
	if min(s.stay, job.Stay) <= 0 {
		return nil
	}
	text := fmt.Sprintf("id=%s address=%s\n%s", quote(id), quote(job.Address), s.worker(job))
	return nolink.WriteFile(s.path(job.Name, "next-"+s.shape(job)), []byte(text), 0o600, false)
}

// options returns sbatch's options for a job.
func (s *settings) options(job cluster.Job, node string) []string {
	o := []string{
		"--parsable", "--job-name=" + job.Name, "--comment=" + job.Address, "--output=" + s.path(job.Name, "log"), "--open-mode=append",
		"--requeue", "--dependency=singleton", "--export=NIL", "--nodes=1", "--ntasks=1",
	}
	add := func(option, value string) {
		if value != "" {
			o = append(o, "--"+option+"="+value)
		}
	}
	add("partition", s.Partition)
	add("account", s.Account)
	add("qos", s.QOS)
	add("constraint", s.Constraint)
	add("exclude", s.Exclude)
	add("reservation", s.Reservation)
	add("nodelist", node)
	if job.Grace > 0 {
		add("signal", "B:TERM@"+strconv.Itoa(int(math.Ceil(job.Grace.Seconds()))))
	}
	return append(append(o, s.limits(job)...), s.Options...)
}

// limits returns the options by which a job asks for cluster.Limits.
func (s *settings) limits(job cluster.Job) (o []string) {
	needs := job.Needs
	if needs.CPUs > 0 {
		o = append(o, "--cpus-per-task="+strconv.Itoa(int(math.Ceil(needs.CPUs))))
	}
	if needs.MemoryBytes > 0 {
		o = append(o, "--mem="+strconv.FormatInt((needs.MemoryBytes+1<<20-1)>>20, 10)+"M")
	}
	if needs.GPUs > 0 {
		o = append(o, "--gres="+s.GRES+":"+strconv.Itoa(needs.GPUs))
	}
	if job.Deadline > 0 {
		o = append(o, "--time="+strconv.Itoa(minutes(job.Deadline+job.Grace)))
	}
	return o
}

// minutes rounds up to minutes, the unit of Slurm's limits.
func minutes(d time.Duration) int { return int(math.Ceil(d.Minutes())) }

// quote quotes a string as one word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// doubleQuote quotes a string as one word in which the shell replaces variables.
func doubleQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$(", `\$(`).Replace(text) + `"`
}
