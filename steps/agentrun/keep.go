package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// keptPrefix is the prefix of the keys of attempts among the cache's kept folders.
const keptPrefix = "agent-"

// keptFor is the time after which the folder of an attempt that nobody continued is
// removed.
const keptFor = 7 * 24 * time.Hour

// state is the state of an attempt that a later process needs.
type state struct {
	// Started is the start of the agent; Boot identifies the machine's boot.
	Started time.Time `json:"started"`
	Boot    string    `json:"boot"`
	// Before and Resumes are those of an attempt that went on from a checkpoint.
	Before  time.Duration `json:"before_ns,omitempty"`
	Resumes int           `json:"resumes,omitempty"`
	// Adopted is how often a later process has continued with the agent.
	Adopted int `json:"adopted,omitempty"`
}

const stateFile = "state.json"

// tellLeft reports whether an agent of an interrupted run goes on.
func (p *place) tellLeft(ctx context.Context) {
	switch {
	case p.leaves(ctx):
		p.env.Note("mleflow was interrupted and leaves the agent running; the next apply continues with it")
	case errors.Is(context.Cause(ctx), executor.ErrLeave):
		p.env.Warn(fmt.Sprintf("the runtime %q cannot leave an agent running: it was ended, and the next apply %s", p.runtime.Name, p.points.next()))
	}
}

// leaves reports whether the interrupted attempt is left to a later process.
func (p *place) leaves(ctx context.Context) bool {
	return p.kept && errors.Is(context.Cause(ctx), executor.ErrLeave)
}

// Abandoned returns the number of agents that interrupted runs left on this machine. It
// ends those for whose action end returns true, and removes their folders.
func Abandoned(ctx context.Context, keeper cache.Keeper, runtimes *executor.Registry, end func(action string) bool) (n int, all error) {
	list, all := keeper.Kept(ctx)
	for _, k := range list {
		action, ok := strings.CutPrefix(k.Key, keptPrefix)
		if k.Held || !ok || strings.HasPrefix(action, modelsPrefix) {
			continue
		}
		for _, rt := range runtimes.List() {
			if rt.Left == nil {
				continue
			}
			id := attemptID(action, k.Dir)
			left, err := rt.Left(ctx, id)
			if left {
				n++
			}
			if left && end(action) {
				a := &attempt{runtime: rt}
				err = errors.Join(rt.End(ctx, id), a.dropVolume(ctx, k.Dir), discard(ctx, keeper, k.Key))
			}
			if err != nil {
				all = errors.Join(all, fmt.Errorf("agent %s in the runtime %s: %w", id, rt.Name, err))
			}
		}
	}
	return n, all
}

// attemptID is the ID of an action's agent on this machine.
func attemptID(action, dir string) string {
	return fmt.Sprintf("agent-%.24s-%.8s", action, digest.Of([]byte(dir)).String())
}

// left reports whether an earlier process left an agent in the folder that still runs,
// or that ended unobserved. If it was to be stopped, its folder is enough.
func (p *place) left(ctx context.Context) (bool, error) {
	was, ok := recall(p.dirs.root)
	if !ok || was.Boot != claim.BootID() {
		return false, nil
	}
	p.startedAt(was.Started)
	p.before, p.points.resumes, p.adopted = was.Before, was.Resumes, was.Adopted
	if p.ended = p.recallEnd(ctx); p.ended != nil {
		return true, nil
	}
	if p.runtime.Left == nil {
		return false, nil
	}
	left, err := p.runtime.Left(ctx, p.id)
	if left || err != nil || !p.stopped {
		return left, err
	}
	none, err := cache.PutBytes(ctx, p.env.Store, nil)
	p.lost, p.ended = true, &end{Printed: none}
	return err == nil, err
}

// discard removes a kept folder.
func discard(ctx context.Context, keeper cache.Keeper, key string) error {
	_, release, err := keeper.Keep(ctx, key)
	if err != nil {
		return err
	}
	return release(false)
}

func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := tree.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remember writes the state for a later process.
func (p *place) remember() error {
	return claim.Save(filepath.Join(p.dirs.root, stateFile), state{Started: p.start(), Boot: claim.BootID(), Before: p.before, Resumes: p.points.resumes, Adopted: p.adopted})
}

// end is the end of an agent, with its output.
type end struct {
	Exit    executor.Exit `json:"exit"`
	Printed cache.Ref     `json:"printed"`
}

const endFile = "end.json"

// rememberEnd writes the agent's end for a later process. The container is gone by now,
// so without it a crash during the harvest would cost the attempt.
func (p *place) rememberEnd(e end) error {
	if !p.kept {
		return nil
	}
	return claim.Save(filepath.Join(p.dirs.root, endFile), e)
}

// recallEnd reads the agent's end. It returns nil if there is none or the agent's
// output is no longer in the store.
func (p *place) recallEnd(ctx context.Context) *end {
	e, err := claim.Load[end](filepath.Join(p.dirs.root, endFile))
	if err != nil || !has(ctx, p.env.Store, e.Printed) {
		return nil
	}
	e.Exit.Resumed = true
	return &e
}

// smallestVolume is the smallest disk limit. It is also the size of a volume that is
// opened only to be removed.
const smallestVolume = 16 << 20

// tidy removes the remains of dead processes from the runtime. It also removes the
// folders of attempts that nobody will continue, because their agents ended with an
// earlier boot of the machine or were started long ago.
func (a *attempt) tidy(ctx context.Context, env *step.Env) {
	var swept error
	if a.runtime.Sweep != nil {
		swept = a.runtime.Sweep(ctx)
	}
	list, err := env.Store.Kept(ctx)
	err = errors.Join(swept, err)
	for _, k := range list {
		if k.Held || !strings.HasPrefix(k.Key, keptPrefix) || !stale(k.Dir) {
			continue
		}
		dir, release, bad := env.Store.Keep(ctx, k.Key)
		if bad == nil {
			gone := stale(dir) // nobody continued it meanwhile
			if gone {
				bad = a.dropVolume(ctx, dir)
			}
			bad = errors.Join(bad, release(!gone || bad != nil))
		}
		err = errors.Join(err, bad)
	}
	if err != nil {
		env.Note("remove the folders of old attempts: %v", err)
	}
}

// dropVolume removes the volume of an attempt that will not be resumed.
func (a *attempt) dropVolume(ctx context.Context, dir string) error {
	at := filepath.Join(dir, volumeFolder)
	if _, err := os.Lstat(at); err != nil || a.runtime.Volume == nil {
		return nil //nolint:nilerr // there is no volume
	}
	v, err := a.volume(ctx, at, max(a.disk, smallestVolume))
	if err != nil {
		return fmt.Errorf("remove the disk of an earlier attempt: %w", err)
	}
	return v.Close()
}

// stale reports whether the attempt in a kept folder cannot continue, or has not been
// continued for a long time.
func stale(dir string) bool {
	if was, ok := recall(dir); ok {
		return was.Boot != claim.BootID() || time.Since(was.Started) > keptFor
	}
	info, err := os.Stat(dir)
	return err == nil && time.Since(info.ModTime()) > keptFor
}

// recall reads the state from an attempt's folder.
func recall(dir string) (was state, ok bool) {
	was, err := claim.Load[state](filepath.Join(dir, stateFile))
	return was, err == nil
}

// modelsPrefix follows keptPrefix in the keys of the kept folders for the models of
// attempts.
const modelsPrefix = "models-"
