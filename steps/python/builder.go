package python

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// Builder finds environments in a cache or builds them.
type Builder struct {
	Store cache.Cache
	// WorkDir is a folder for the builder's exclusive use.
	WorkDir string
	Offline bool
	// Sandbox is the runtime in which packages are resolved and installed.
	Sandbox executor.Runtime
	// Locks means that a lock file may be written.
	Locks bool
	// Say is called with each action, and Stored with the amount stored so far. Stored
	// may be nil.
	Say    func(line string)
	Stored func(files, bytes int64)
	// Wheels means that WorkDir has the wheels that the requirements name by path.
	Wheels bool
	// Address and Run are recorded in the cache as the origin of an environment.
	Address, Run string
}

// Packages provides the packages of metrics that are graded in a step.
func Packages(env *step.Env, offline bool, sandbox executor.Runtime) program.Packages {
	return func(ctx context.Context, r pyenv.Requirements, dir string) (string, func() error, error) {
		return Builder{
			Store: env.Store, WorkDir: dir, Offline: offline, Sandbox: sandbox, Address: env.Address, Run: env.RunID,
			Say: func(line string) { fmt.Fprintln(env.Log, line) },
		}.Place(ctx, r)
	}
}

// Place lays out the environment of a metric in WorkDir. Its content is determined by
// the lock file. If there is no fitting lock file, and the metric does not say where to
// write one, Place returns an error.
func (b Builder) Place(ctx context.Context, r pyenv.Requirements) (venv string, release func() error, err error) {
	i, err := pyenv.Find(ctx, r.Version)
	if err != nil {
		return "", nil, err
	}
	asked, err := pyenv.Parse(r.Name, r.Text)
	if err != nil {
		return "", nil, err
	}
	if wheels := asked.Wheels(); len(wheels) > 0 {
		return "", nil, fmt.Errorf("%s names %s: the packages of a metric must come from an index", r.Name, wheels[0])
	}
	source := pyenv.Source(r.Text, i.Minor())
	resolved, ok := pyenv.LockOf(r.Lock, source)
	if !ok {
		if resolved, err = b.relock(ctx, r, i, source, asked); err != nil {
			return "", nil, err
		}
	}
	ref, err := b.environment(ctx, i, asked, resolved)
	if err != nil {
		return "", nil, err
	}
	return pyenv.Place(ctx, b.Store, ref, b.WorkDir)
}

// relock resolves requirements into their lock file. Several processes may do so at the
// same time.
func (b Builder) relock(ctx context.Context, r pyenv.Requirements, i pyenv.Interpreter, source string, asked pyenv.List) (string, error) {
	if r.LockPath == "" || !b.Locks {
		return "", r.Unlocked(i.Minor())
	}
	dir, release, err := b.Store.Keep(ctx, tools)
	if err != nil {
		return "", err
	}
	defer func() { _ = release(true) }()
	if text, err := os.ReadFile(r.LockPath); err == nil {
		if resolved, ok := pyenv.LockOf(string(text), source); ok {
			return resolved, nil
		}
	}
	list, err := b.resolve(ctx, dir, i, asked, nil)
	if err != nil {
		return "", err
	}
	resolved := list.String()
	return resolved, b.writeLock(r.LockPath, pyenv.Locked(resolved, source))
}

// writeLock writes a lock file and asks people to commit it.
func (b Builder) writeLock(path, lock string) error {
	if err := wholefile.Replace(path, wholefile.Bytes([]byte(lock))); err != nil {
		return fmt.Errorf("the lock file cannot be written: %w", err)
	}
	b.Say("wrote " + filepath.Base(path) + "; commit it")
	return nil
}

// resolve resolves requirements, with the versions of pins if there are any. dir is the
// folder of the tools.
func (b Builder) resolve(ctx context.Context, dir string, i pyenv.Interpreter, asked pyenv.List, pins *pyenv.List) (pyenv.List, error) {
	uv, err := b.uv(ctx, dir, i)
	if err != nil {
		return pyenv.List{}, err
	}
	return uv.Lock(ctx, asked, pins)
}

func (b Builder) uv(ctx context.Context, dir string, i pyenv.Interpreter) (*pyenv.Tool, error) {
	return pyenv.Open(ctx, pyenv.Options{Dir: dir, Work: b.WorkDir, Python: i, Sandbox: b.Sandbox, Offline: b.Offline, Say: b.Say, Wheels: b.Wheels})
}

// environment returns the environment of a lock of requirements, and installs it if no
// record has it.
func (b Builder) environment(ctx context.Context, i pyenv.Interpreter, asked pyenv.List, resolved string) (cache.Ref, error) {
	h := digest.NewHasher(installed, version)
	h.String("python", i.Minor()+" "+i.Tag)
	h.String("packages", resolved)
	known := func() (cache.Ref, bool) {
		rec, err := b.Store.Lookup(ctx, h.Sum())
		if err != nil {
			return cache.Ref{}, false
		}
		ref := rec.Outputs["environment"].Ref
		return ref, ref.Kind == cache.Tree
	}
	if ref, ok := known(); ok {
		return ref, nil
	}
	dir, release, err := b.Store.Keep(ctx, tools)
	if err != nil {
		return cache.Ref{}, err
	}
	defer func() { _ = release(true) }()
	if ref, ok := known(); ok { // another process has made it meanwhile
		return ref, nil
	}
	began := time.Now()
	ref, err := b.install(ctx, dir, i, asked, resolved)
	if err != nil {
		return cache.Ref{}, err
	}
	return ref, b.Store.Record(ctx, &cache.Record{
		Action: h.Sum(), Address: b.Address, Kind: installed, Fields: h.Fields(), Run: b.Run,
		Outputs:          cache.Outputs{"environment": {Ref: ref}},
		StartedUnixMilli: began.UnixMilli(), DurationMillis: time.Since(began).Milliseconds(),
	})
}

// install builds the environment and stores it. A person may have written the lock, so
// it is parsed and compared with the requirements.
func (b Builder) install(ctx context.Context, dir string, i pyenv.Interpreter, asked pyenv.List, resolved string) (cache.Ref, error) {
	lock, err := pyenv.Pins("the lock file", resolved)
	if err != nil {
		return cache.Ref{}, err
	}
	uv, err := b.uv(ctx, dir, i)
	if err != nil {
		return cache.Ref{}, err
	}
	root := filepath.Join(b.WorkDir, "environment")
	if err := uv.Verify(ctx, asked, lock); err != nil {
		return cache.Ref{}, err
	}
	if err := uv.Install(ctx, root, lock); err != nil {
		return cache.Ref{}, err
	}
	about, err := json.Marshal(i.Packed())
	if err != nil {
		return cache.Ref{}, err
	}
	if err := os.WriteFile(filepath.Join(root, pyenv.About), about, fs.FileMode(0o644)); err != nil {
		return cache.Ref{}, err
	}
	ref, err := tree.Import(ctx, b.Store, root, tree.ImportOptions{SkipSpecial: true, Progress: b.Stored})
	if err != nil {
		return cache.Ref{}, fmt.Errorf("store the environment: %w", err)
	}
	return ref, nil
}
