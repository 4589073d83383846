package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// An attempt goes through stages, and each is made by the one before:
//
//	place     its folders, and the agent that an earlier process left in them
//	setup     its image, volume, data, packages and texts
//	running   its gates and snapshots, open while the agent runs
//	finished  the agent's end, from which the outputs follow

// place is where an attempt is on this machine. With a runtime that can resume,
// its folders outlive the process.
type place struct {
	*attempt
	*clock
	env    *step.Env
	mask   *secret.Set
	phases *phases
	dirs   layout
	// id names the agent on this machine.
	id string
	// kept says that the folders outlive the process.
	kept bool
	// continued says that an earlier process started the agent, and ended is the
	// agent's end if that process saw it and died before it had the result.
	continued bool
	ended     *end
	// models is the model gateway, nil if the agent has no models.
	models *modelGate
	// opened are to be closed, the last one first.
	opened []func(keep bool) error
	// done says that the attempt has its result.
	done bool
}

func (a *attempt) place(env *step.Env, mask *secret.Set) *place {
	p := &place{attempt: a, env: env, mask: mask, phases: &phases{tell: env.Phase}}
	p.clock = &clock{given: env.Limits.Timeout, pausable: pausable(a.args.Agent.Models), paused: func() time.Duration { return p.models.paused() }}
	p.dirs = a.layoutIn(env.WorkDir)
	p.id = env.RunID + " " + env.Address + " " + fmt.Sprint(env.Attempt)
	return p
}

// find decides where the attempt's folders are, and whether an earlier process
// left an agent there that goes on. The folder's key follows from the action, so
// that the next process finds it.
func (p *place) find(ctx context.Context, keys map[string]string) error {
	if !p.runtime.Resumes && len(p.args.Agent.Models) == 0 {
		return nil
	}
	p.tidied.Do(func() { p.tidy(ctx, p.env) })
	kind := Kind(p.deps)
	key, err := step.Key(&kind, p.raw, p.attempt)
	if err != nil {
		return fmt.Errorf("name attempt: %w", err)
	}
	action := key.Sum().String()
	if err := p.findModels(ctx, action, keys); err != nil || !p.runtime.Resumes {
		return err
	}
	dir, release, err := p.env.Store.Keep(ctx, keptPrefix+action)
	if err != nil {
		return err
	}
	p.opened = append(p.opened, release)
	p.dirs, p.kept = p.layoutIn(dir), true
	p.id = attemptID(action, dir)
	if p.continued, err = p.left(ctx); err != nil || p.continued {
		return err
	}
	if err := p.dropVolume(ctx, dir); err != nil {
		return err
	}
	return empty(dir)
}

// end lets go of everything. What a later process needs to go on is kept if it is to.
func (p *place) end(keep bool) error {
	var all error
	for i := len(p.opened) - 1; i >= 0; i-- {
		all = errors.Join(all, p.opened[i](keep))
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

// volume makes or opens the volume of an attempt.
func (a *attempt) volume(ctx context.Context, at string, bytes int64) (executor.Volume, error) {
	return a.runtime.Volume(ctx, executor.VolumeSpec{Dir: at, Bytes: bytes, User: a.sandbox.User})
}

// own writes a file that belongs to the agent.
func (p *place) own(path string, text []byte, mode fs.FileMode) error {
	return errors.Join(os.WriteFile(path, text, mode), p.give(path))
}

// give makes the agent's user the owner, where that is another.
func (p *place) give(path string) error {
	if !p.runtime.Isolates || os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := executor.ParseUser(p.sandbox.User)
	if err != nil {
		return err
	}
	return os.Lchown(path, uid, gid)
}

// at returns where the agent sees a folder of its home, or the home itself.
func (p *place) at(name string) string {
	host := filepath.Join(p.dirs.home, name)
	if name == "data" {
		host = p.dirs.data
	}
	return p.runtime.Path(executor.Mount{Host: host, Guest: filepath.Join("/home", name)})
}
