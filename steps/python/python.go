// Package python is the step kind "python": it installs Python packages once for all
// attempts of agents that name it.
package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

const (
	name    = "python"
	version = "1"
	// tools is the key of the kept folder with uv and the packages that it fetched.
	tools = "python-tools"
	// installed is the kind of the records of environments by lock.
	installed = "python environment"
)

// Kind returns the step kind "python", which installs in the given runtime. With
// offline, only packages that were fetched before can be installed. An environment of
// this machine must not contain a private folder.
func Kind(offline bool, sandbox executor.Runtime, private ...string) step.Kind {
	found := &sync.Map{}
	return step.Kind{
		Name: name, Version: version,
		Doc:      "Installs Python packages with uv, in an environment that an agent's attempts or a command's instances share read-only. At first it resolves the requirements into a lock file with hashes beside them, which holds from then on. Only wheels are installed, in the sandbox if the machine has it, so no package runs code. A block python in an agent block or in a step of kind exec adds this step.",
		Varies:   true,
		InBlocks: &step.InBlocks{Output: "environment", From: "requirements", Lock: "lock", LockNames: pyenv.LockNames, Named: "wheels", NamedBy: pyenv.WheelsOf, Place: "venv"},
		Args:     step.Attrs(arguments{}, nil),
		Outputs: []step.Output{
			{Name: "environment", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The packages, a tree."},
			{Name: "lock", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The lock file that was used."},
			{Name: "packages", Type: cty.Map(cty.String), Secrecy: step.Public, Doc: "The version of each package."},
		},
		New: func(args step.Args) (step.Step, error) { return newBuild(args, offline, sandbox, found, private) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Requirements *step.Artifact   `cty:"requirements" doc:"What to install: file(\"requirements.txt\"), or file(\"pyproject.toml\")."`
	Lock         *step.Artifact   `cty:"lock" doc:"The lock file, if any; made again if requirements or version have changed. A uv.lock next to the requirements comes first."`
	Wheels       []*step.Artifact `cty:"wheels" doc:"The wheels that the requirements name by path, such as ./wheels/tool-1.0-py3-none-any.whl, in their order. A block python finds them itself."`
	Venv         *string          `cty:"venv" is:"cosmetic" doc:"Instead of requirements: a virtual environment of this machine (venv, virtualenv, conda, uv), read-only. The key has its packages and versions. Results are marked, since nobody else can have it."`
	Version      *string          `cty:"version" doc:"Version of Python, such as \"3.11\", on this machine; by default that of /usr/bin/python3."`
}

// build is one instance of the kind.
type build struct {
	args    arguments
	offline bool
	sandbox executor.Runtime
	// found holds the interpreters that this process found, by requested version.
	found *sync.Map
	// private are folders that no environment may contain.
	private []string
}

func newBuild(args step.Args, offline bool, sandbox executor.Runtime, found *sync.Map, private []string) (step.Step, error) {
	b := &build{offline: offline, sandbox: sandbox, found: found, private: private}
	if err := args.Decode(&b.args); err != nil {
		return nil, err
	}
	if err := pyenv.CheckVersion(b.version()); err != nil {
		return nil, step.WrongArg("version", err)
	}
	switch {
	case (b.args.Requirements == nil) == (b.args.Venv == nil):
		return nil, step.WrongArg("requirements", errors.New("it needs requirements, such as \"requirements.txt\", or venv, the folder of a virtual environment, and not both"))
	case b.args.Venv != nil && b.args.Version != nil:
		return nil, step.WrongArg("version", errors.New("a virtual environment has its own Python: leave version out"))
	case b.args.Venv != nil:
		return b, nil
	}
	if b.args.Requirements.Local != nil { // otherwise an output, or an artifact given to a worker
		if err := pyenv.CheckName(b.args.Requirements.Name()); err != nil {
			return nil, step.WrongArg("requirements", err)
		}
	}
	// The requirements and the lock are checked before their content is in the cache.
	return b, errors.Join(check("requirements", b.args.Requirements, pyenv.Parse), check("lock", b.args.Lock, pyenv.Pins), b.checkUnread())
}

// checkUnread refuses a uv.lock next to the requirements that is not the lock.
func (b *build) checkUnread() error {
	path := b.lockPath()
	if path == "" || b.args.Lock != nil {
		return nil
	}
	if _, err := os.Stat(pyenv.LockNames(path)[0]); err != nil {
		return nil
	}
	return step.WrongArg("lock", errors.New("there is a uv.lock next to the requirements: add lock = file(\"uv.lock\") with its path, or move the requirements to a folder without it"))
}

// check rejects a local file with anything but packages of indexes.
func check(arg string, a *step.Artifact, parse func(name, text string) (pyenv.List, error)) error {
	if a == nil || a.Local == nil {
		return nil
	}
	text, err := a.Local.Text()
	if err != nil {
		return nil // Run reads and rejects it
	}
	_, err = parse(a.Name(), string(text))
	return step.WrongArg(arg, err)
}

// version returns the requested version, or "" for the machine's.
func (b *build) version() string { return step.Text(b.args.Version) }

// python returns the interpreter.
func (b *build) python() (pyenv.Interpreter, error) {
	find, _ := b.found.LoadOrStore(b.version(), sync.OnceValues(func() (pyenv.Interpreter, error) {
		return pyenv.Find(context.Background(), b.version())
	}))
	return find.(func() (pyenv.Interpreter, error))()
}

// Fingerprint implements step.Fingerprinter. Packages are compiled for an interpreter.
func (b *build) Fingerprint(h *digest.Hasher) error {
	if b.args.Venv != nil {
		list, err := pyenv.Inspect(*b.args.Venv, b.private...)
		h.String("host venv", list.Text())
		return err
	}
	i, err := b.python()
	h.String("python", i.Minor()+" "+i.Tag)
	return err
}

// Again implements step.Restless: a deleted lock file is written again.
func (b *build) Again() string {
	if b.args.Requirements == nil || b.args.Lock != nil || b.lockPath() == "" {
		return ""
	}
	return "there is no " + filepath.Base(b.lockPath()) + " beside the requirements"
}

// lockPath returns the path of the lock file, or "" if none is written.
func (b *build) lockPath() string {
	if local, ok := b.args.Requirements.Local.(interface{ Place() string }); ok && local.Place() != "" {
		return pyenv.LockName(local.Place())
	}
	return ""
}

// Run implements step.Step.
func (b *build) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if b.args.Venv != nil {
		return b.describe(ctx, env)
	}
	i, err := b.python()
	if err != nil {
		return nil, err
	}
	maker := b.builder(env)
	text, err := read(ctx, env.Store, b.args.Requirements)
	if err != nil {
		return nil, err
	}
	asked, err := pyenv.Parse(b.args.Requirements.Name(), text)
	if err != nil {
		return nil, err
	}
	if maker.Wheels, err = b.placeWheels(ctx, env, asked); err != nil {
		return nil, err
	}
	lock, resolved, err := b.lock(ctx, env, maker, i, pyenv.Source(text+b.wheelDigests(), i.Minor()), asked)
	if err != nil {
		return nil, err
	}
	stored, err := cache.PutBytes(ctx, env.Store, []byte(lock))
	if err != nil {
		return nil, err
	}
	list, err := pyenv.Pins("the lock file", resolved)
	if err != nil {
		return nil, err
	}
	ref, err := maker.environment(ctx, i, asked, resolved)
	if err != nil {
		return nil, err
	}
	out := cache.Outputs{"lock": {Ref: stored}, "environment": {Ref: ref}}
	return out, out.Encode(map[string]any{"packages": list.Versions()})
}

// placeWheels lays out the wheels that the requirements name and reports whether there
// are any. Their hashes become those of the packages, which an index may have, too.
func (b *build) placeWheels(ctx context.Context, env *step.Env, asked pyenv.List) (bool, error) {
	names := asked.Wheels()
	if len(names) != len(b.args.Wheels) {
		return false, fmt.Errorf("the requirements name %d wheels by path, and wheels has %d: a block python takes them from the folder of the requirements; a step python needs wheels = [file(\"…\")] in their order", len(names), len(b.args.Wheels))
	}
	next := 0
	for i, p := range asked.Packages {
		if p.Wheel == "" {
			continue
		}
		wheel := b.args.Wheels[next]
		next++
		at := filepath.Join(env.WorkDir, pyenv.WheelsFolder, filepath.Base(p.Wheel))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return false, err
		}
		if _, err := tree.Materialise(ctx, env.Store, wheel.Ref, at, tree.Options{Mode: tree.Link}); err != nil {
			return false, fmt.Errorf("place %s: %w", p.Wheel, err)
		}
		own := "sha256:" + wheel.Ref.ID.String()
		if len(p.Hashes) > 0 && !slices.Contains(p.Hashes, own) {
			return false, fmt.Errorf("%s has the hash %s, which the requirements do not name", p.Wheel, own)
		}
		asked.Packages[i].Hashes = []string{own}
	}
	return next > 0, nil
}

// wheelDigests returns what makes a lock one of these wheels.
func (b *build) wheelDigests() (text string) {
	for _, wheel := range b.args.Wheels {
		text += "\n" + wheel.Ref.ID.String()
	}
	return text
}

func (b *build) builder(env *step.Env) Builder {
	return Builder{
		Store: env.Store, WorkDir: env.WorkDir, Offline: b.offline, Sandbox: b.sandbox, Address: env.Address, Run: env.RunID,
		Say: func(line string) {
			fmt.Fprintln(env.Log, line)
			env.Progress(step.Progress{What: line, Unit: "steps"})
		},
		Stored: func(files, bytes int64) {
			env.Progress(step.Progress{What: "store the environment", Done: files, Unit: "files", Bytes: bytes})
		},
	}
}

// describe stores a description of a virtual environment of this machine.
func (b *build) describe(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	list, err := pyenv.Inspect(*b.args.Venv, b.private...)
	if err != nil {
		return nil, err
	}
	text, err := cache.PutBytes(ctx, env.Store, []byte(list.Text()))
	if err != nil {
		return nil, err
	}
	ref, err := tree.Put(ctx, env.Store, []tree.Entry{tree.NewEntry("packages.txt", text, false)})
	if err != nil {
		return nil, err
	}
	out := cache.Outputs{"environment": {Ref: ref}, "lock": {Ref: text}}
	return out, out.Encode(map[string]any{"packages": list.Packages})
}

// lock returns the text of the lock file and the requirements that it pins. It uses the
// existing lock file if it was made from these requirements. Otherwise it writes a new
// one next to them. A uv.lock is followed and stays the only one.
func (b *build) lock(ctx context.Context, env *step.Env, maker Builder, i pyenv.Interpreter, source string, asked pyenv.List) (lock, resolved string, err error) {
	var pins *pyenv.List
	if b.args.Lock != nil {
		old, err := read(ctx, env.Store, b.args.Lock)
		if err != nil {
			return "", "", err
		}
		if resolved, ok := pyenv.LockOf(old, source); ok {
			return old, resolved, nil
		}
		if pyenv.IsUVLock(old) {
			list, err := pyenv.Pins(b.args.Lock.Name(), old)
			if err != nil {
				return "", "", err
			}
			pins = &list
		} else {
			maker.Say("the lock file was made of other requirements or for another Python")
		}
	}
	dir, release, err := env.Store.Keep(ctx, tools)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = release(true) }()
	list, err := maker.resolve(ctx, dir, i, asked, pins)
	if err != nil && pins != nil {
		err = fmt.Errorf("%s does not fit the requirements: %w: %s", b.args.Lock.Name(), err, pyenv.LeaveUVLock)
	}
	if err != nil {
		return "", "", err
	}
	resolved = list.String()
	lock = pyenv.Locked(resolved, source)
	if path := b.lockPath(); path != "" && pins == nil {
		if err := maker.writeLock(path, lock); err != nil {
			env.Warn(fmt.Sprintf("%v; the packages are resolved again next time", err))
		}
	}
	return lock, resolved, nil
}

// read returns the text of a small artifact.
func read(ctx context.Context, store cache.Store, a *step.Artifact) (string, error) {
	text, err := cache.Get(ctx, store, a.Ref.ID, 16<<20)
	return pyenv.Lines(string(text)), err
}
