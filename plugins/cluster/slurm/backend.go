package slurm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Backend runs workers as batch jobs.
type Backend struct {
	settings
	// look makes Watch look at once.
	look cluster.Wake
	last lastQueue
}

// New returns a backend. The site decides on some of the cluster.Limits. It does not ask Slurm
// anything.
func New(c Config, site ...string) (*Backend, error) {
	s, err := settle(c, site...)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for jobs: %w", err)
	}
	return &Backend{settings: s, look: cluster.NewWake()}, nil
}

// path returns the path of one of a job's files.
func (s *settings) path(name, what string) string { return filepath.Join(s.Folder, name+"."+what) }

// Start implements cluster.Backend.
func (b *Backend) Start(ctx context.Context, job cluster.Job) error {
	for name := range job.Env {
		if !envName.Regexp().MatchString(name) {
			return fmt.Errorf("%q is not the name of an environment variable", name)
		}
	}
	if err := b.own(); err != nil {
		return err
	}
	known, err := b.queue(ctx)
	if err != nil {
		return err
	}
	if known[job.Name].active() {
		return b.note(job)
	}
	node, err := b.preferred(ctx, job)
	if err != nil {
		return err
	}
	if err := b.forget(job.Name); err != nil {
		return err
	}
	id, err := call(ctx, b.script(job), "sbatch", b.options(job, node)...)
	if err != nil && node != "" && !errors.Is(err, cluster.ErrLater) {
		// Slurm knows why the node cannot take the job, such as a reservation.
		id, err = call(ctx, b.script(job), "sbatch", b.options(job, "")...)
	}
	if err != nil {
		return err
	}
	defer b.look.Up()
	id, _, _ = strings.Cut(cluster.LastLine(id), ";") // a site's banner precedes, a cluster's name follows
	// Only now: until here Slurm may remember an earlier job of this name.
	return errors.Join(b.note(job), b.offer(job, id))
}

// note writes a job's file.
func (b *Backend) note(job cluster.Job) error {
	data, err := json.Marshal(job)
	if err != nil {
		return err
	}
	return nolink.WriteFile(b.path(job.Name, "json"), data, 0o600, false)
}

// noted reads a job's file; nil if there is none.
func (b *Backend) noted(name string) *cluster.Job {
	data, err := os.ReadFile(b.path(name, "json"))
	job := new(cluster.Job)
	if err != nil || json.Unmarshal(data, job) != nil {
		return nil
	}
	return job
}

// smallBytes is the size of inputs that a node fetches in seconds, so that no job waits
// for the node that has them.
const smallBytes = 1 << 30

func small(job cluster.Job) bool { return 0 < job.NearBytes && job.NearBytes <= smallBytes }

// preferred returns the node to which a job is limited at first; "" for none.
func (b *Backend) preferred(ctx context.Context, job cluster.Job) (string, error) {
	if b.sticky == 0 || job.Near == "" || small(job) || slices.ContainsFunc(b.Options, func(o string) bool { return strings.HasPrefix(o, "--nodelist") }) {
		return "", nil
	}
	nodes, err := b.Nodes(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, n := range nodes {
		if n.Ready && n.Has.Hold(job.Needs) {
			names = append(names, n.Name)
		}
	}
	if len(names) < 2 {
		return "", nil
	}
	return cluster.Rank(job.Near, names)[0], nil
}

// Cancel implements cluster.Backend. The batch script ends its worker, with the
// grace period of the job. A script that is just starting misses the signal, so
// it also looks for a file, and Watch repeats the signal.
func (b *Backend) Cancel(ctx context.Context, names ...string) error {
	known, err := b.queue(ctx)
	if err != nil {
		return err
	}
	var waiting, running []string
	for _, name := range names {
		e := known[name]
		if !e.active() {
			continue
		}
		if err := os.WriteFile(b.path(name, "stop"), nil, 0o600); err != nil {
			return err
		}
		if e.runs() {
			running = append(running, e.id)
		} else {
			waiting = append(waiting, e.id)
		}
	}
	defer b.look.Up()
	if len(waiting) > 0 {
		var away unreachableError
		_, err = call(ctx, "", "scancel", append([]string{"--state=PENDING"}, waiting...)...)
		if errors.As(err, &away) {
			return err
		}
		if err != nil { // an empty message if none waits any more
			running = append(running, waiting...)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return terminate(ctx, running...)
}

// terminate sends SIGTERM to batch scripts. For scripts that have ended, scancel fails
// without a message, or says that the job is invalid.
func terminate(ctx context.Context, ids ...string) error {
	_, err := call(ctx, "", "scancel", append([]string{"--batch", "--signal=TERM"}, ids...)...)
	var silent *exec.ExitError
	if errors.As(err, &silent) || err != nil && strings.Contains(err.Error(), "Invalid job id") {
		return nil
	}
	return err
}

// Extend implements cluster.Backend. Slurm lets its operators raise the limit of a job.
func (b *Backend) Extend(ctx context.Context, name string, deadline time.Duration) error {
	known, err := b.queue(ctx)
	e, job := known[name], b.noted(name)
	if err != nil || !e.active() || job == nil {
		return err
	}
	has, err := call(ctx, "", "squeue", "--noheader", "--jobs="+e.id, "--format=%l")
	if err != nil {
		return err
	}
	want := minutes(deadline + job.Grace)
	if limit := span(strings.TrimSpace(has)); limit == 0 || minutes(limit) >= want { // 0 is UNLIMITED
		return nil
	}
	_, err = call(ctx, "", "scontrol", "update", "JobId="+e.id, "TimeLimit="+strconv.Itoa(want))
	if _, away := errors.AsType[unreachableError](err); err != nil && !away {
		err = fmt.Errorf("%w, except by an operator of Slurm: %w", cluster.ErrFixed, err)
	}
	return err
}

// Remove implements cluster.Backend.
func (b *Backend) Remove(ctx context.Context, names ...string) error {
	known, err := b.queue(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if !known[name].active() {
			errs = append(errs, b.forget(name))
		}
	}
	b.look.Up()
	return errors.Join(errs...)
}

// forget removes the files of a job.
func (b *Backend) forget(name string) error {
	entries, err := os.ReadDir(b.Folder)
	errs := []error{err}
	for _, e := range entries {
		if of, _, _ := strings.Cut(e.Name(), "."); of != name {
			continue
		}
		if err := os.Remove(filepath.Join(b.Folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// commands are those of Slurm that the backend calls.
var commands = []string{"sbatch", "squeue", "sinfo", "scontrol", "scancel"}

// Examine implements cluster.Backend.
func (b *Backend) Examine(ctx context.Context, jobs ...cluster.Job) []cluster.Check {
	for _, name := range commands {
		if _, err := checkout.Program(name); err != nil {
			return []cluster.Check{{Name: "commands", Detail: name + " is not in the path", Fix: "run mleflow where Slurm's commands are, such as on a login node"}}
		}
	}
	known, err := queue(ctx)
	checks := []cluster.Check{
		cluster.Found("commands", strings.Join(commands, ", "), nil, ""),
		cluster.Found("controller", fmt.Sprintf("squeue answers; it knows %d of mleflow's jobs", len(known)), err,
			"scontrol ping says whether slurmctld runs; munge must run, too, with the cluster's key"),
		b.canWrite(), b.program(), b.envFile(),
	}
	if !checks[1].OK {
		return checks // nothing else can be asked
	}
	checks = append(checks, cluster.ExamineNodes(ctx, b, "partition and constraint name no such nodes: sinfo lists those that there are"))
	return append(checks, lists.Of(jobs, func(j cluster.Job) cluster.Check { return b.accepts(ctx, j) })...)
}

func (b *Backend) canWrite() cluster.Check {
	f, err := os.CreateTemp(b.Folder, ".try-")
	if err != nil {
		return cluster.Found("folder", "", err, "write folder = \"…\", a folder that you may write to and that all nodes see")
	}
	f.Close()
	_ = os.Remove(f.Name())
	return cluster.Found("folder", b.Folder+"; all nodes must see it", b.own(), "name a folder and an env_file that only you may write to")
}

// own returns an error if other users may write what jobs run.
func (s *settings) own() error { return errors.Join(cluster.Own(s.Folder), cluster.Own(s.EnvFile)) }

// program looks at the program as this machine sees it.
func (b *Backend) program() cluster.Check {
	_, err := exec.LookPath(b.Binary)
	if err != nil {
		err = fmt.Errorf("not a program here: %w", err)
	}
	c := cluster.Found("binary", b.Binary+"; all nodes must have it", err, "each node must have it; otherwise write binary = \"…\", the path of mleflow there")
	c.Optional = true
	return c
}

func (b *Backend) envFile() cluster.Check {
	c := cluster.Check{Name: "env_file", OK: true, Optional: true, Detail: cmp.Or(b.EnvFile, "none")}
	if b.EnvFile == "" {
		return c
	}
	info, err := os.Stat(b.EnvFile)
	switch {
	case err != nil:
		c.OK, c.Detail, c.Fix = false, "not seen from here: "+err.Error(), "each node must have it"
	case info.Mode().Perm()&0o077 != 0:
		c.OK, c.Detail, c.Fix = false, b.EnvFile+" is open to other users", "chmod 600 "+b.EnvFile
	}
	return c
}

// accepts asks sbatch whether it would take a job. If not, it looks for the limit without which
// it would.
func (b *Backend) accepts(ctx context.Context, job cluster.Job) cluster.Check {
	asks := strings.Join(b.limits(job), " ")
	c := cluster.Check{Name: "job", OK: true, Detail: strings.TrimSpace("sbatch would take one (--test-only) " + asks)}
	err := b.test(ctx, job)
	if err == nil {
		return c
	}
	c.OK, c.Detail = false, fmt.Sprintf("sbatch refuses one with %s: %v", asks, err)
	if c.Optional = errors.Is(err, cluster.ErrLater); c.Optional {
		c.Fix = "jobs wait until there is room; max_jobs in the cluster file keeps their number below"
		return c
	}
	for _, l := range append(slices.Collect(slices.Chunk(cluster.Limits, 1)), cluster.Limits) {
		without := job.Without(l...)
		if len(b.limits(without)) < len(b.limits(job)) && b.test(ctx, without) == nil {
			c.Fix = fmt.Sprintf(`without %s it takes one: ask for less in the step, or leave it to the site in the `+
				`cluster file: site_decides = ["%s"]`, strings.Join(l, ", "), strings.Join(l, `", "`))
			return c
		}
	}
	c.Fix = "compare partition, account, qos, constraint, reservation and options with what sacctmgr show association and sinfo list for you"
	return c
}

// test asks sbatch about a job that it does not start.
func (b *Backend) test(ctx context.Context, job cluster.Job) error {
	_, err := call(ctx, b.script(job), "sbatch", append([]string{"--test-only"}, b.options(job, "")...)...)
	return err
}
