package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/steps/agentrun"
)

const (
	// nodeVariable names the machine of a worker.
	nodeVariable = "MLEFLOW_NODE"
	// intervalVariable says how often a worker renews its claim.
	intervalVariable = "MLEFLOW_WORKER_INTERVAL"
)

// NewWorker returns the command worker.
func NewWorker(a *app.App) *cobra.Command {
	return a.Command("worker ACTION ORDER", "Run one action as apply --on ordered it; backends start it", app.Takes(1, 2),
		func(cmd *cobra.Command, args []string) error {
			id, err := digest.ParseActionID(args[0])
			if err != nil {
				return app.Usagef("%q is not the digest of an action: %w", args[0], err)
			}
			if err = runWorker(cmd.Context(), a, id, args[1:]); err == nil {
				return nil
			}
			a.Report(err)
			status := cluster.ExitFailed
			if wrong := (app.UsageError{}); work.IsRefusal(err) || errors.As(err, &wrong) {
				status = cluster.ExitRefused
			}
			return errors.Join(app.ErrSilent, app.StatusError{Status: status})
		})
}

func runWorker(ctx context.Context, a *app.App, id digest.ActionID, rest []string) (err error) {
	if len(rest) == 0 { // as a controller of an earlier version starts it
		return app.Usagef("the digest of the order is missing, without which anyone who may write to the remote cache could choose what runs; use this version of mleflow for apply, too")
	}
	order, err := digest.ParseContentID(rest[0])
	if err != nil {
		return app.Usagef("%q is not the digest of an order: %w", rest[0], err)
	}
	interval, err := a.EnvTime(intervalVariable, "15s", 10*time.Millisecond, work.DefaultInterval)
	if err != nil {
		return err
	}
	node := a.Env(nodeVariable)
	if node == "" {
		if node, err = os.Hostname(); err != nil {
			return fmt.Errorf("find the name of this machine: %w; set %s", err, nodeVariable)
		}
	}
	b, err := a.OpenBackend()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	loc, err := a.RemoteLocation("")
	switch {
	case err != nil:
		return err
	case loc.IsZero():
		return app.Usagef("no remote cache is named; set MLEFLOW_REMOTE_CACHE to the one that the order is in")
	case loc.ReadOnly:
		return app.Usagef("the remote cache %s is read-only, and a worker writes its result there", loc)
	}
	if err := b.Cache.Intact(); err != nil { // before it works for hours on what it cannot record
		return err
	}
	b.Remote = remote.New(b.Cache, loc, remote.Options{})
	a.IsWorker = true
	w := &worker{App: a, b: b, node: node}
	defer func() {
		if w.dir != "" {
			err = errors.Join(err, tree.Remove(w.dir))
		}
	}()
	return (&work.Worker{
		Kinds: w.kinds, Cache: b.Remote, Node: node, Capacity: b.Options.Capacity, Locks: b.Options.Devices, Ready: w.ready, Tidy: w.tidy, Process: claim.Self(), Dead: claim.Dead, Version: app.ThisVersion().Version, Interval: interval,
		Say: func(text string) { fmt.Fprintf(a.Stderr, "%s %s\n", time.Now().UTC().Format(time.RFC3339), text) },
	}).Run(ctx, id, order)
}

// worker is what a worker needs of this program.
type worker struct {
	*app.App
	b *app.Backend
	// parts are those of the last order, dir its folders.
	parts *app.Parts
	dir   string
	node  string
}

// kinds returns the step kinds, which know the competitions of an order's
// folders.
func (w *worker) kinds(ctx context.Context, folders []work.Folder) (_ *step.Registry, err error) {
	if len(folders) > 0 {
		if w.dir, err = w.b.Cache.TempDir("worker"); err != nil {
			return nil, err
		}
	}
	for i, f := range folders {
		if err := w.b.Remote.FetchRefs(ctx, f.Content); err != nil {
			return nil, err
		}
		parent := filepath.Join(w.dir, strconv.Itoa(i))
		if err := os.Mkdir(parent, 0o700); err != nil {
			return nil, err
		}
		path := filepath.Join(parent, filepath.Base(f.Name))
		if _, err := tree.Materialise(ctx, w.b.Remote, f.Content, path, tree.Options{}); err != nil {
			return nil, err
		}
		w.Named = append(w.Named, competitions.Folder{Path: path, From: "the order"})
	}
	if w.parts, err = w.Concretes(); err != nil {
		return nil, err
	}
	return w.parts.Kinds, nil
}

// tidy ends the agents that lost workers left on this node, if nobody will go on with
// them. It tells of each agent. The step goes on with its own.
func (w *worker) tidy(ctx context.Context, own digest.ActionID) (texts []string) {
	_, err := agentrun.Abandoned(ctx, w.b.Cache, w.parts.Runtimes, func(action string) bool {
		id, err := digest.ParseActionID(action)
		if err != nil {
			return false
		}
		if id == own {
			texts = append(texts, "the worker before it was lost, and its agent lives: the step goes on with it")
			return false
		}
		why, err := work.Stray(ctx, w.b.Remote, id, w.node)
		switch {
		case err != nil:
			texts = append(texts, fmt.Sprintf("a lost worker left the agent of action %s: %v", id.Short(), err))
		case why == "":
			texts = append(texts, fmt.Sprintf("a lost worker left the agent of action %s, which still runs: its next worker goes on with it", id.Short()))
		default:
			texts = append(texts, fmt.Sprintf("a lost worker left the agent of action %s, which is ended: %s", id.Short(), why))
		}
		return why != ""
	})
	if err != nil {
		texts = append(texts, err.Error())
	}
	return texts
}

// ready says why this machine cannot run a step: the runtime that its argument
// names does not work here.
func (w *worker) ready(k *step.Kind, args step.Args) error {
	chosen := args.Get("runtime")
	if k.Choose == nil || chosen.IsNull() {
		return nil
	}
	name := chosen.AsString()
	rt, err := w.parts.Runtimes.Get(name)
	if err != nil {
		return err
	}
	if here := rt.Here(); !here.OK {
		return fmt.Errorf("runtime %q cannot be used on this node: %s; %s", name, here.Because, here.Fix)
	}
	return nil
}
