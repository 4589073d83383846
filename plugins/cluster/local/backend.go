package local

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
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Config is a block of a cluster file.
type Config struct {
	// Folder holds the jobs and the caches of the nodes.
	Folder string `hcl:"folder,optional"`
	// Nodes are the names of the nodes that this machine simulates; each has a cache
	// of its own. By default there is one node, the machine.
	Nodes []string `hcl:"nodes,optional"`
	// CPUs is the number of CPUs that a node has for jobs.
	CPUs float64 `hcl:"cpus,optional"`
	// Binary is the path of the mleflow that workers run.
	Binary string `hcl:"binary,optional"`
	// Env is added to the workers' environment.
	Env map[string]string `hcl:"env,optional"`
}

// Backend starts workers as processes of this machine.
type Backend struct {
	c Config
	// wake makes Watch look at the jobs.
	wake cluster.Wake

	mu sync.Mutex // serialises changes to jobs in this process
}

// poll is the interval between two looks at the jobs.
const poll = 300 * time.Millisecond

// New returns a backend.
func New(c Config) (*Backend, error) {
	var err error
	if c.Binary == "" {
		if c.Binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the running program: %w", err)
		}
	}
	if c.Folder == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a folder for jobs: %w; write folder = \"…\"", err)
		}
		c.Folder = filepath.Join(base, "mleflow-workers")
	}
	if c.Folder, err = filepath.Abs(c.Folder); err != nil {
		return nil, err
	}
	if len(c.Nodes) == 0 {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("find the name of this machine: %w; write nodes = [\"…\"]", err)
		}
		c.Nodes = []string{name}
	}
	for _, n := range c.Nodes {
		if n == "" || n != filepath.Base(n) || n == ".." || n == "." {
			return nil, fmt.Errorf("nodes has %q, which is not a name", n)
		}
	}
	c.CPUs = cmp.Or(c.CPUs, float64(runtime.NumCPU()))
	if err := os.MkdirAll(filepath.Join(c.Folder, "jobs"), 0o700); err != nil {
		return nil, err
	}
	if err := cluster.Own(c.Folder); err != nil {
		return nil, err
	}
	return &Backend{c: c, wake: cluster.NewWake()}, nil
}

// Nodes implements cluster.Backend.
func (b *Backend) Nodes(context.Context) ([]cluster.Node, error) {
	used := map[string]float64{}
	for _, j := range b.jobs() {
		if j.alive {
			used[j.Node] += j.cpus()
		}
	}
	return lists.Of(b.c.Nodes, func(name string) cluster.Node {
		return cluster.Node{Name: name, Ready: true, Has: cluster.Needs{CPUs: b.c.CPUs}, Free: cluster.Needs{CPUs: b.c.CPUs - used[name]}}
	}), nil
}

// Start implements cluster.Backend.
func (b *Backend) Start(_ context.Context, spec cluster.Job) error {
	return b.change(func() error {
		if old := b.load(spec.Name); old != nil && !old.ended() {
			return nil
		}
		dir := b.dir(spec.Name)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		j := &job{dir: dir, Spec: spec}
		return j.save()
	})
}

// Cancel implements cluster.Backend.
func (b *Backend) Cancel(_ context.Context, names ...string) error {
	return b.each(names, false, func(j *job) error { return j.cancel(time.Now()) })
}

// each changes those of the named jobs that have ended, or those that have not.
func (b *Backend) each(names []string, ended bool, do func(*job) error) error {
	return b.change(func() error {
		var errs []error
		for _, name := range names {
			if j := b.load(name); j != nil && j.ended() == ended {
				errs = append(errs, do(j))
			}
		}
		return errors.Join(errs...)
	})
}

// Extend implements cluster.Backend.
func (b *Backend) Extend(_ context.Context, name string, deadline time.Duration) error {
	return b.change(func() error {
		j := b.load(name)
		if j == nil || j.Spec.Deadline >= deadline {
			return nil
		}
		j.Spec.Deadline = deadline
		return j.save()
	})
}

// Remove implements cluster.Backend.
func (b *Backend) Remove(_ context.Context, names ...string) error {
	return b.each(names, true, func(j *job) error { return os.RemoveAll(j.dir) })
}

// Watch implements cluster.Backend. It also starts waiting jobs that fit and restarts
// failed ones, as no other process does.
func (b *Backend) Watch(ctx context.Context, fn func(cluster.Status), all func()) error {
	return b.wake.Follow(ctx, poll, poll, func(map[string]cluster.Status) (map[string]cluster.Status, error) {
		now := map[string]cluster.Status{}
		return now, b.locked(func() error {
			err := b.advance()
			for _, j := range b.jobs() {
				s := j.status()
				now[s.Job] = s
			}
			return err
		})
	}, fn, all)
}

// advance starts the workers that fit, oldest job first.
func (b *Backend) advance() error {
	if err := b.sweep(); err != nil {
		return err
	}
	jobs := b.jobs()
	slices.SortFunc(jobs, func(x, y *job) int { return x.Created.Compare(y.Created) })
	free := map[string]float64{}
	for _, n := range b.c.Nodes {
		free[n] = b.c.CPUs
	}
	now := time.Now()
	for _, j := range jobs {
		if j.alive {
			free[j.Node] -= j.cpus()
			if err := j.curb(now); err != nil {
				return err
			}
		}
	}
	for _, j := range jobs {
		if j.ended() || j.alive {
			continue
		}
		for _, node := range cluster.Rank(j.Spec.Near, b.c.Nodes) {
			if free[node] >= min(j.cpus(), b.c.CPUs) {
				free[node] -= j.cpus()
				if err := b.start(j, node); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// start starts a worker of a job.
func (b *Backend) start(j *job, node string) error {
	env := append(os.Environ(), "MLEFLOW_NODE="+node, "MLEFLOW_CACHE_DIR="+filepath.Join(b.c.Folder, "nodes", node))
	for _, more := range []map[string]string{b.c.Env, j.Spec.Env} {
		for name, value := range more {
			env = append(env, name+"="+value)
		}
	}
	j.Node, j.Began = node, time.Now()
	j.Starts++
	if err := j.save(); err != nil {
		return err
	}
	return j.run(append([]string{b.c.Binary}, j.Spec.Args...), env)
}

// sweep removes the folders of jobs left by a process that was killed while it created
// or removed them.
func (b *Backend) sweep() error {
	entries, err := os.ReadDir(filepath.Join(b.c.Folder, "jobs"))
	for _, e := range entries {
		if _, missing := os.Stat(filepath.Join(b.dir(e.Name()), "job.json")); errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(b.dir(e.Name())))
		}
	}
	return err
}

func (b *Backend) dir(name string) string { return filepath.Join(b.c.Folder, "jobs", name) }

// jobs lists all jobs.
func (b *Backend) jobs() (list []*job) {
	entries, _ := os.ReadDir(filepath.Join(b.c.Folder, "jobs"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), cluster.Label+"-") {
			if j := b.load(e.Name()); j != nil {
				list = append(list, j)
			}
		}
	}
	return list
}

// load returns a job, or nil.
func (b *Backend) load(name string) *job {
	dir := b.dir(name)
	data, err := os.ReadFile(filepath.Join(dir, "job.json"))
	j := &job{dir: dir}
	if err != nil || json.Unmarshal(data, j) != nil {
		return nil
	}
	j.look()
	return j
}

// change runs fn while no other process changes jobs, and wakes Watch.
func (b *Backend) change(fn func() error) error {
	defer b.wake.Up()
	return b.locked(fn)
}

// locked runs fn while no other process changes jobs.
func (b *Backend) locked(fn func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(b.c.Folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := flock.Lock(f); err != nil {
		return err
	}
	if err := fn(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("local workers in %s: %w", b.c.Folder, err)
	}
	return nil
}

// Examine implements cluster.Backend.
func (b *Backend) Examine(context.Context, ...cluster.Job) []cluster.Check {
	dir, folder := os.MkdirTemp(filepath.Join(b.c.Folder, "jobs"), ".try-")
	_ = os.Remove(dir)
	_, binary := exec.LookPath(b.c.Binary)
	return []cluster.Check{
		cluster.Found("folder", b.c.Folder, folder, "write folder = \"…\", a folder that you may write to"),
		cluster.Found("binary", b.c.Binary, binary, "write binary = \"…\", the path of mleflow"),
		cluster.Found("nodes", fmt.Sprintf("%d, played by this machine: %q", len(b.c.Nodes), b.c.Nodes), nil, ""),
	}
}
