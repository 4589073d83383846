package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// An attempt goes through stages. Each is made from the one before:
//
//	place     its folders, and an agent that an earlier process left in them
//	setup     its image, volume, data, packages and texts
//	running   its gates and snapshots, open while the agent runs
//	finished  the agent's end, from which the outputs follow

// place is the place of an attempt on this machine. With a runtime that can resume, its
// folders outlive the process.
type place struct {
	*attempt
	*clock
	env *step.Env
	// secrets are those of the agent and its models' keys. mask has the virtual keys,
	// too, which are worth nothing elsewhere.
	secrets, mask *secret.Set
	// keys are the providers' keys, by model name.
	keys map[string]string

	phases *phases
	dirs   layout
	// id identifies the agent on this machine.
	id string
	// kept means that the folders outlive the process.
	kept bool
	// continued means that an earlier process started the agent. ended is the agent's
	// end if that process saw it but died before it had the result.
	continued bool
	ended     *end
	// adopted is how often a process has continued with the agent of an earlier one.
	adopted int
	// models is the model gateway; nil if the agent has no models.
	models *modelGate
	// queried is the folder of the queries, which outlives the process; "" without a
	// validation score. queries counts them once the gates are open.
	queried string
	queries *validity.Queries
	// points takes checkpoints of the attempt.
	points *checkpoints
	// opens says which data the agent opened; nil if nobody watched.
	opens *Opened
	// opened are the functions that close what was opened, called in reverse order.
	opened []func(keep bool) error
	// room is the space on the disk for the harvest.
	room int64
	// lastOutput is when the agent last printed something.
	lastOutput lastWrite
	// steered says how people steered it; see step.Env.
	steered []string
	// begun ends the agent as an earlier run had begun to. stopped means that one was asked
	// to stop it, and lost that the agent is gone since, but not its folder.
	begun         error
	stopped, lost bool
	// setLimit replaces the time limit of the agent; nil before its start.
	setLimit atomic.Pointer[func(time.Duration) error]
	// done means that the attempt has its result, or was cancelled.
	done bool
}

func (a *attempt) place(env *step.Env, mask *secret.Set) *place {
	p := &place{attempt: a, env: env, secrets: mask, mask: mask, room: math.MaxInt64, phases: &phases{tell: env.Phase, gpus: gpusOf(env.Devices)}}
	p.clock = &clock{given: env.Limits.Timeout, pausable: pausable(a.args.Agent.Models), paused: func() time.Duration { return p.models.paused() }}
	p.dirs = a.layoutIn(env.WorkDir)
	p.points = &checkpoints{resumption: resumption{place: p}, memo: checkpoint.NewMemo()}
	p.id = env.RunID + " " + env.Address + " " + fmt.Sprint(env.Try)
	return p
}

// find chooses the attempt's folders and finds an agent that an earlier process left
// there. The folder's key follows from the action, so that the next process finds it.
func (p *place) find(ctx context.Context) error {
	if !p.runtime.Resumes && len(p.args.Agent.Models) == 0 && p.durable.onLoss == "" && !p.validates() {
		return nil
	}
	p.deps.tidied.Do(func() { p.tidy(ctx, p.env) })
	action := p.env.Action.String()
	if err := p.findBudgets(ctx, action); err != nil {
		return err
	}
	if err := p.findFolder(ctx, action); err != nil {
		return err
	}
	return p.points.find(ctx, p.env.Action)
}

// findFolder finds the folder of an attempt whose agent can outlive the process.
func (p *place) findFolder(ctx context.Context, action string) error {
	if !p.runtime.Resumes {
		return nil
	}
	dir, release, err := p.env.Store.Keep(ctx, keptPrefix+action)
	if err != nil {
		return err
	}
	p.opened = append(p.opened, release)
	p.dirs, p.kept = p.layoutIn(dir), true
	p.id = attemptID(action, dir)
	if p.continued, err = p.left(ctx); err != nil || p.continued {
		p.adopted++
		return err
	}
	if p.runtime.End != nil { // an agent whose folder is gone
		err = p.runtime.End(ctx, p.id)
	}
	if err = errors.Join(err, p.dropVolume(ctx, dir)); err != nil {
		return err
	}
	return empty(dir)
}

// end releases everything. With keep, it keeps what a later process needs to continue.
func (p *place) end(keep bool) error {
	var all error
	for i := len(p.opened) - 1; i >= 0; i-- {
		all = errors.Join(all, p.opened[i](keep))
	}
	return all
}

// layout are the folders of one attempt on the host.
type layout struct {
	// root contains all the others except home, which may be a volume below it.
	root string
	// home is /home for the agent, tmp is /tmp, data is /home/data, and validation is
	// /home/validation. The last two may be elsewhere, with a link in home.
	home, tmp, data, validation string
	// host has files that the agent does not see, shim the package mlebench, python the
	// virtual environment.
	host, shim, python string
	// volume is the mount point of a volume; "" without one.
	volume string
}

// homeFolders are the folders in the home.
var homeFolders = []string{"agent", "code", "logs", "submission"}

const (
	volumeFolder     = "volume"
	instructionsFile = "instructions.txt"
	notesFile        = "mleflow.txt"
	validateFile     = "validate_submission.sh"
)

func (a *attempt) layoutIn(root string) layout {
	l := layout{root: root, home: filepath.Join(root, "home"), tmp: filepath.Join(root, "tmp"), host: filepath.Join(root, "host"), shim: filepath.Join(root, "shim"), python: filepath.Join(root, "python")}
	above := l.home
	if a.runtime.MapsPaths {
		// The data are links into the cache, so they stay outside the home, which may
		// be a volume.
		above = root
	}
	l.data, l.validation = filepath.Join(above, "data"), filepath.Join(above, "validation")
	if a.runtime.Volume != nil && a.disk > 0 {
		l.volume = filepath.Join(root, volumeFolder)
		l.home, l.tmp = filepath.Join(l.volume, "home"), filepath.Join(l.volume, "tmp")
	}
	return l
}

// volume creates or opens the volume of an attempt.
func (a *attempt) volume(ctx context.Context, at string, bytes int64) (executor.Volume, error) {
	return a.runtime.Volume(ctx, executor.VolumeSpec{Dir: at, Bytes: bytes, User: a.sandbox.User})
}

// own writes a file that belongs to the agent.
func (p *place) own(path string, text []byte, mode fs.FileMode) error {
	return errors.Join(os.WriteFile(path, text, mode), p.give(path))
}

// give makes the agent's user the owner of a file, if that is a different user.
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

// at returns the path at which the agent sees a folder of its home, or the home itself.
func (p *place) at(name string) string {
	host := filepath.Join(p.dirs.home, name)
	switch name {
	case "data":
		host = p.dirs.data
	case "validation":
		host = p.dirs.validation
	}
	return p.runtime.Path(executor.Mount{Host: host, Guest: filepath.Join("/home", name)})
}

// mostPause limits the time of an attempt whose clock is paused, as a multiple of its
// time limit. The runtime enforces it even if this process dies.
const mostPause = 2

var errTime = errors.New("the agent exceeded its time limit")

// clock measures an agent's time.
type clock struct {
	// started is the start of the agent, in nanoseconds since 1970, even if an earlier
	// process started it. Before the start it is the end of the set-up.
	started atomic.Int64
	// before is the part of the limit that the attempt had used before, until the
	// checkpoint from which it goes on.
	before time.Duration
	// given is the time limit; 0 is none. more is what people added to it.
	given time.Duration
	more  atomic.Int64
	// pausable reports whether some model gives back the time that the agent waits for
	// its provider. paused returns the time given back so far.
	pausable bool
	paused   func() time.Duration
}

func pausable(models []step.Model) bool {
	return slices.ContainsFunc(models, func(m step.Model) bool { return m.PauseClock })
}

func (c *clock) startedAt(at time.Time) { c.started.Store(at.UnixNano()) }

func (c *clock) start() time.Time { return time.Unix(0, c.started.Load()) }

// elapsed is the time that the agent has used.
func (c *clock) elapsed() time.Duration { return c.before + time.Since(c.start()) }

// used is the part of the limit that the agent has used.
func (c *clock) used() time.Duration {
	if c.pausable {
		return c.elapsed() - c.paused()
	}
	return c.elapsed()
}

// granted is the time limit with what people added; 0 is none.
func (c *clock) granted() time.Duration { return c.given + time.Duration(c.more.Load()) }

// limit is the time limit plus the time given back so far.
func (c *clock) limit() time.Duration {
	if !c.pausable {
		return c.granted()
	}
	return min(mostPause*c.granted(), c.granted()+c.paused())
}

// hardLimit is the limit that the runtime enforces.
func (c *clock) hardLimit() time.Duration {
	if c.pausable {
		return c.rest(mostPause * c.granted())
	}
	return c.rest(c.granted())
}

// rest is what is left of a limit for an attempt that goes on. It is never 0, which is
// no limit.
func (c *clock) rest(limit time.Duration) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(limit-c.before, time.Second)
}

// over reports whether a pausable clock is past its limit.
func (c *clock) over() bool {
	return c.given > 0 && c.pausable && c.elapsed() > c.limit()
}

// harvested is the harvest of the agent's folders.
type harvested struct {
	out       cache.Outputs
	submitted bool
	left      []string
}

// finished is an attempt whose agent has ended.
type finished struct {
	*running
	exit executor.Exit
	// printed is the agent's output.
	printed cache.Ref
	// changed means that the agent changed its data.
	changed bool
	// use is the use of each model, and health the state of the providers.
	use    map[string]results.ModelUse
	health modelblock.Health
	// shimCalls is the number of calls that the shim reported.
	shimCalls int
}

// running is an attempt whose gates are open.
type running struct {
	*setup
	gates *gates
	shots *snapshots
	// imageWork counts the bytes read of the image until the agent runs; unfollow stops
	// the sampling.
	imageWork progress.Work
	unfollow  func()
}

// setup is an attempt whose folders contain everything that the agent needs.
type setup struct {
	*place
	// image is the agent's image; "" in runtimes without images.
	image string
	// shared are the data that other attempts read in the same folder.
	shared []cache.Shared
	// python is the agent's virtual environment; nil if it has no packages.
	python *python
}

// budgetFile is the gateway's ledger.
const budgetFile = "budget.jsonl"

// descriptionFile is the file in which agents expect the competition's description.
const descriptionFile = "description.md"

// OutputLog is the file in logs with the agent's output.
const OutputLog = "output.log"
