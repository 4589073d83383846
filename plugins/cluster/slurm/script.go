package slurm

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// script returns the batch script of a job. The script runs one worker, forwards
// SIGTERM to it, writes its exit status, and requeues itself if the worker failed.
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
	line(`cd "${TMPDIR:-/tmp}" || exit 1`)
	line("exit_file=%s stop_file=%s grace=%d retries=%d refused=%d", quote(s.path(job.Name, "exit")), quote(s.path(job.Name, "stop")), int(math.Ceil(job.Grace.Seconds())), job.Retries, cluster.ExitRefused)
	words := []string{quote(s.Binary)}
	for _, arg := range job.Args {
		words = append(words, quote(arg))
	}
	b.WriteString(`stopped=
stop() {
    stopped=1
    kill -TERM $pid 2>/dev/null
    (sleep $grace; kill -KILL $pid 2>/dev/null) &
}
trap stop TERM
[ -e "$stop_file" ] && exit 1
if [ "${SLURM_RESTART_COUNT:-0}" -gt $retries ]; then
    echo "started $SLURM_RESTART_COUNT times, by preemptions or lost nodes: retries allows $retries"
    exit 1
fi
`)
	line("%s &", strings.Join(words, " "))
	b.WriteString(`pid=$!
while :; do
    wait $pid
    status=$?
    kill -0 $pid 2>/dev/null || break
done
echo $status >"$exit_file.new" && mv "$exit_file.new" "$exit_file"
if [ $status != 0 ] && [ $status != $refused ] && [ -z "$stopped" ] && [ "${SLURM_RESTART_COUNT:-0}" -lt $retries ]; then
    scontrol requeue "$SLURM_JOB_ID" && sleep 600
fi
exit $status
`)
	return b.String()
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
	needs := job.Needs
	if needs.CPUs > 0 {
		add("cpus-per-task", strconv.Itoa(int(math.Ceil(needs.CPUs))))
	}
	if needs.MemoryBytes > 0 {
		add("mem", strconv.FormatInt((needs.MemoryBytes+1<<20-1)>>20, 10)+"M")
	}
	if needs.GPUs > 0 {
		add("gres", s.GRES+":"+strconv.Itoa(needs.GPUs))
	}
	if job.Deadline > 0 {
		add("time", strconv.Itoa(minutes(job.Deadline+job.Grace)))
		add("signal", "B:TERM@"+strconv.Itoa(int(math.Ceil(job.Grace.Seconds()))))
	}
	return append(o, s.Options...)
}

// minutes rounds up to minutes, the unit of Slurm's limits.
func minutes(d time.Duration) int { return int(math.Ceil(d.Minutes())) }

// quote quotes a string as one word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// doubleQuote quotes a string as one word in which the shell replaces variables.
func doubleQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$(", `\$(`).Replace(text) + `"`
}
