package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/agentrun/modelblock"
)

// session is one attempt while it goes on: its folders, its secrets and its arguments.
// With a runtime that can resume, the folders outlive the process.
type session struct {
	*attempt
	env  *step.Env
	mask *secret.Set
	dirs layout
	// id names the agent on this machine.
	id string
	// image is its container image, empty in runtimes without images.
	image string
	// kept says that the folders outlive the process.
	kept bool
	// started is when the agent was started, in nanoseconds since 1970, by this
	// process or an earlier one; continued says which. Until it is, it is when
	// its set-up ended.
	started   atomic.Int64
	continued bool
	// ended is how the agent ended, if an earlier process saw that and died
	// before it had the result.
	ended *end
	close []func(keep bool) error
	// shared are the data where other attempts read the same folder, and changed
	// what the agent changed in them.
	shared  cache.Shared
	changed string
	// python is the agent's virtual environment, nil if it has no packages.
	python *python
	gates  *gates
	shots  *snapshots
	codes  *codeSnapshots
	// models is the model gateway, nil if the agent has no models; keys are the
	// providers' keys.
	models *modelGate
	keys   map[string]string
	// health is how the providers did, once the gateway serves no more.
	health modelblock.Health
	// done says that the attempt has its result.
	done bool
	// phases tells people what the attempt is doing.
	phases *phases
	// imageWork counts the bytes read of the image until the agent runs, and unfollow
	// stops the sampling.
	imageWork progress.Work
	unfollow  func()
}

// open makes or finds the folders of the attempt.
func (a *attempt) open(ctx context.Context, env *step.Env, mask *secret.Set, keys map[string]string) (*session, error) {
	s := &session{attempt: a, env: env, mask: mask, keys: keys, phases: &phases{tell: env.Phase}}
	if err := s.find(ctx); err != nil {
		return s, err
	}
	s.dirs = a.layoutIn(s.dirs.root)
	if err := s.findImage(ctx); err != nil {
		return s, err
	}
	if err := s.mountVolume(ctx); err != nil {
		return s, err
	}
	if !s.continued {
		if err := s.fill(ctx); err != nil {
			return s, err
		}
		s.startedAt(time.Now())
	}
	s.unfollow = s.phases.starting(&s.imageWork)
	var err error
	if s.gates, err = s.openGates(ctx); err != nil {
		return s, err
	}
	if s.shots, err = s.openSnapshots(ctx); err != nil {
		return s, err
	}
	if s.codes, err = s.openCodeSnapshots(ctx); err != nil {
		return s, err
	}
	if s.continued {
		return s, nil
	}
	if err := s.tryIsolation(ctx); err != nil {
		return s, err
	}
	return s, s.remember()
}

// find decides where the attempt's folders are, and whether an earlier process
// left an agent there that goes on. Its ID follows from the action and the
// cache, so that the next process finds it.
func (s *session) find(ctx context.Context) error {
	s.dirs.root = s.env.WorkDir
	s.id = s.env.RunID + " " + s.env.Address + " " + fmt.Sprint(s.env.Attempt)
	if !s.runtime.Resumes && len(s.args.Agent.Models) == 0 {
		return nil
	}
	s.tidied.Do(func() { s.tidy(ctx, s.env.Store) })
	kind := Kind(s.deps)
	key, err := step.Key(&kind, s.raw, s.attempt)
	if err != nil {
		return fmt.Errorf("name attempt: %w", err)
	}
	if err := s.findModels(ctx, key.Sum().String()); err != nil || !s.runtime.Resumes {
		return err
	}
	dir, release, err := s.env.Store.Keep(ctx, keptPrefix+key.Sum().String())
	if err != nil {
		return err
	}
	s.close = append(s.close, release)
	s.dirs.root, s.kept = dir, true
	s.id = attemptID(key.Sum().String(), dir)
	if s.continued, err = s.left(ctx); err != nil || s.continued {
		return err
	}
	if err := s.dropVolume(ctx, dir); err != nil {
		return err
	}
	return empty(dir)
}

// findImage chooses the agent's image: that of its block or, for a built-in agent, one
// of this program alone.
func (s *session) findImage(ctx context.Context) (err error) {
	s.image = s.args.Agent.Image
	switch {
	case s.image != "" || !s.runtime.Images:
		return nil
	case s.args.Agent.Built != nil:
		return s.placeImage(ctx)
	case s.args.onHost(s.runtime):
		s.image = s.runtime.HostImage
		return nil
	}
	self := s.deps.Self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return fmt.Errorf("find the running program: %w", err)
		}
	}
	s.image, err = s.runtime.ProgramImage(ctx, self, BuiltIn)
	return err
}

// placeImage puts the image that another step made where the runtime can read
// it. An agent that goes on has it still.
func (s *session) placeImage(ctx context.Context) error {
	s.image = filepath.Join(s.dirs.root, "image.tar")
	if _, err := os.Lstat(s.image); err == nil {
		return nil
	}
	built := s.args.Agent.Built
	if built.Ref.Kind != cache.Blob {
		return fmt.Errorf("the image of agent %q, output %s of %s, is a tree; an image is one file, an OCI archive", s.args.Agent.Name, built.Output, built.From)
	}
	if _, err := tree.Materialise(ctx, s.env.Store, built.Ref, s.image, tree.Options{Mode: tree.Link}); err != nil {
		return fmt.Errorf("place the image of agent %q: %w", s.args.Agent.Name, err)
	}
	return nil
}

func (s *session) volume(ctx context.Context, at string) (executor.Volume, error) {
	return s.runtime.Volume(ctx, executor.VolumeSpec{Dir: at, Bytes: s.disk, User: s.sandbox.User})
}

// end lets go of everything. What a later process needs to go on is kept if it is to.
func (s *session) end(keep bool) error {
	if s == nil {
		return nil
	}
	var all error
	if s.unfollow != nil {
		s.unfollow()
	}
	if s.gates != nil {
		all = s.gates.close()
	}
	all = errors.Join(all, s.models.close())
	for i := len(s.close) - 1; i >= 0; i-- {
		all = errors.Join(all, s.close[i](keep))
	}
	return all
}

// layout are the folders of one attempt on the host.
type layout struct {
	// root holds all others but for home, which may be a volume below it.
	root string
	// home is /home for the agent, tmp /tmp, data /home/data; the last may be
	// elsewhere, with a link in home.
	home, tmp, data string
	// host is for files that the agent does not see, shim the package mlebench, python
	// the virtual environment.
	host, shim, python string
	// volume is where a volume is mounted; empty without one.
	volume string
}

// The folders below the home.
var homeFolders = []string{"agent", "code", "logs", "submission"}

const (
	volumeFolder     = "volume"
	instructionsFile = "instructions.txt"
	notesFile        = "mleflow.txt"
	validateFile     = "validate_submission.sh"
)

func (a *attempt) layoutIn(root string) layout {
	l := layout{root: root, home: filepath.Join(root, "home"), tmp: filepath.Join(root, "tmp"), host: filepath.Join(root, "host"), shim: filepath.Join(root, "shim"), python: filepath.Join(root, "python")}
	l.data = filepath.Join(l.home, "data")
	if a.runtime.MapsPaths {
		// Beside the home, which may be a volume: data are links into the cache.
		l.data = filepath.Join(root, "data")
	}
	if a.runtime.Volume != nil && a.disk > 0 {
		l.volume = filepath.Join(root, volumeFolder)
		l.home, l.tmp = filepath.Join(l.volume, "home"), filepath.Join(l.volume, "tmp")
	}
	return l
}

// mountVolume mounts the volume that limits the agent's files.
func (s *session) mountVolume(ctx context.Context) error {
	if s.dirs.volume == "" {
		return nil
	}
	v, err := s.volume(ctx, s.dirs.volume)
	if err != nil {
		return fmt.Errorf("limit the agent's disk: %w", err)
	}
	s.close = append(s.close, func(keep bool) error {
		if keep {
			return v.Keep()
		}
		return v.Close()
	})
	return nil
}

// fill makes the folders and places the data and texts.
func (s *session) fill(ctx context.Context) error {
	if err := s.makeFolders(); err != nil {
		return fmt.Errorf("make agent's folders: %w", err)
	}
	if err := s.placeFiles(ctx); err != nil {
		return err
	}
	if err := s.placeData(ctx); err != nil {
		return fmt.Errorf("place data: %w", err)
	}
	if err := s.placePython(ctx); err != nil {
		return fmt.Errorf("place packages: %w", err)
	}
	if err := s.placeShim(); err != nil {
		return err
	}
	return s.writeTexts(ctx)
}

// makeFolders makes the folders that the agent may write to.
func (s *session) makeFolders() error {
	if err := os.Mkdir(s.dirs.host, 0o700); err != nil {
		return err
	}
	list := []string{s.dirs.home, s.dirs.tmp}
	for _, name := range homeFolders {
		list = append(list, filepath.Join(s.dirs.home, name))
	}
	for _, dir := range list {
		if err := errors.Join(os.Mkdir(dir, 0o755), s.give(dir)); err != nil {
			return err
		}
	}
	return nil
}

// own writes a file that belongs to the agent.
func (s *session) own(path string, text []byte, mode fs.FileMode) error {
	return errors.Join(os.WriteFile(path, text, mode), s.give(path))
}

// give makes the agent's user the owner, where that is another.
func (s *session) give(path string) error {
	if !s.runtime.Isolates || os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := executor.ParseUser(s.sandbox.User)
	if err != nil {
		return err
	}
	return os.Lchown(path, uid, gid)
}

// at returns where the agent sees a folder of its home, or the home itself.
func (s *session) at(name string) string {
	host := filepath.Join(s.dirs.home, name)
	if name == "data" {
		host = s.dirs.data
	}
	return s.runtime.Path(executor.Mount{Host: host, Guest: filepath.Join("/home", name)})
}

// mounts are the host's folders that the agent sees.
func (s *session) mounts() []executor.Mount {
	list := []executor.Mount{
		{Host: s.dirs.home, Guest: "/home", CopyUp: true},
		{Host: s.dirs.data, Guest: "/home/data", ReadOnly: true},
		{Host: s.dirs.tmp, Guest: "/tmp"},
	}
	if s.args.Shim {
		list = append(list, s.shimMount())
	}
	return append(list, s.pythonMounts()...)
}

// elapsed is the time that the agent has used.
func (s *session) elapsed() time.Duration { return time.Since(time.Unix(0, s.started.Load())) }

func (s *session) startedAt(at time.Time) { s.started.Store(at.UnixNano()) }

// running notes that the agent runs, since a time.
func (s *session) running(since time.Time) {
	s.unfollow()
	s.startedAt(since)
	s.phases.running(since, s.env.Limits.Timeout)
}
