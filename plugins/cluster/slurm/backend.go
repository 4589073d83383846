package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

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

var _ cluster.Backend = (*Backend)(nil)

// New returns a backend. It does not ask Slurm anything.
func New(c Config) (*Backend, error) {
	s, err := settle(c)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for jobs: %w", err)
	}
	return &Backend{settings: s, look: cluster.NewWake()}, nil
}

// Close implements cluster.Backend.
func (b *Backend) Close() error { return nil }

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
	if away := (unreachableError{}); err != nil && node != "" && !errors.As(err, &away) {
		// Slurm knows why the node cannot take the job, such as a reservation.
		id, err = call(ctx, b.script(job), "sbatch", b.options(job, "")...)
	}
	if err != nil {
		return err
	}
	defer b.look.Up()
	id, _, _ = strings.Cut(strings.TrimSpace(id), ";") // a cluster's name follows
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
