package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/fleet"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// ClusterFlags say where steps run besides this machine.
type ClusterFlags struct {
	On          string
	onInterrupt string
}

// onVariable names the cluster file where --on does not.
const onVariable = "MLEFLOW_ON"

// Register adds the flags.
func (f *ClusterFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.On, "on", "", "run steps on the machines of a cluster `FILE`, or none (env MLEFLOW_ON)")
}

// RegisterInterrupt adds the flag that decides what becomes of agents at an interrupt.
func (f *ClusterFlags) RegisterInterrupt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.onInterrupt, "on-interrupt", string(AskFirst), "`WHAT` becomes of agents in a sandbox or container, and of cluster jobs, on interruption: leave them running, stop them, or ask at Ctrl-C on a terminal and else leave")
}

// Path names the cluster file; "" if there is none.
func (f *ClusterFlags) Path(t *Terminal) string {
	path := f.On
	if path == "" {
		path = t.Env(onVariable)
	}
	if path == "none" {
		return ""
	}
	return path
}

// File reads the cluster file; nil if there is none.
func (f *ClusterFlags) File(t *Terminal) (*fleet.File, error) {
	path := f.Path(t)
	if path == "" {
		return nil, nil
	}
	file, diags := fleet.Read(path)
	if file == nil {
		return nil, Checked(diags, nil)
	}
	return file, Checked(diags, file.Sources)
}

// AttachFleet makes the engine run steps elsewhere, if a cluster file says so.
func (a *App) AttachFleet(ctx context.Context, b *Backend, flags *ClusterFlags, pipeline string) error {
	f, err := flags.File(a.Terminal)
	if err != nil || f == nil {
		return err
	}
	b.closers = append(b.closers, f.Close)
	if a.Network.Offline {
		return Usagef("--offline and --on exclude each other: machines of a cluster are reached by the network")
	}
	loc, address, err := a.MeetingPlace(f, pipeline)
	if err != nil {
		return err
	}
	if b.Remote != nil {
		if err := b.Remote.Close(); err != nil {
			return err
		}
	}
	b.Remote = remote.New(b.Cache, loc, remote.Options{Warn: a.Warn})
	folders, err := a.packFolders(ctx, b)
	if err != nil {
		return err
	}
	b.Fleet = fleet.New(f, fleet.Options{
		Cache: b.Remote, Address: address, Version: ThisVersion().Version, Folders: folders, Warn: a.Warn,
		Interrupted: func(jobs int) bool { return a.cancelJobs(errors.Is(context.Cause(ctx), executor.ErrLeave), jobs) },
	})
	count := b.Fleet.Jobs
	a.Interrupts.jobs.Store(&count)
	b.Options.Cache, b.Options.Remote, b.Options.Elsewhere = b.Remote, b.Remote, b.Fleet
	b.Engine = engine.New(b.Options)
	return nil
}

// MeetingPlace is the remote cache where this machine and those of a cluster meet,
// with its address as it was written.
func (a *App) MeetingPlace(f *fleet.File, pipeline string) (loc remote.Location, address string, err error) {
	address = a.remoteAddress(pipeline)
	if f.RemoteCache != "" && a.RemoteCache == "" && a.Env("MLEFLOW_REMOTE_CACHE") == "" {
		address = a.remoteAddress(f.RemoteCache)
	}
	if address == "" {
		return loc, address, Usagef("--on %s: no remote cache is named, where this machine and those of the cluster meet; write remote_cache = \"s3://bucket/prefix\" in the file, or give --remote-cache", f.Path)
	}
	if loc, err = remote.ParseLocation(address); err != nil {
		return loc, address, Wrong(err)
	}
	if loc.ReadOnly {
		return loc, address, Usagef("--on %s: the remote cache %s is read-only, and workers write their results there", f.Path, loc)
	}
	return loc, address, nil
}

// packFolders stores the folders of competitions that do not ship with the
// program, which workers do not have.
func (l *Library) packFolders(ctx context.Context, b *Backend) (list []work.Folder, err error) {
	for _, f := range append(l.OwnFolders(), l.Named...) {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		ref, err := tree.Import(ctx, b.Remote, path, tree.ImportOptions{SkipSpecial: true})
		if err != nil {
			return nil, fmt.Errorf("store the competitions of %s for workers: %w", f.Path, err)
		}
		list = append(list, work.Folder{Name: filepath.Base(path), Content: ref})
	}
	return list, nil
}
