package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/fleet"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// clusterFlags say where steps run besides this machine.
type clusterFlags struct {
	on          string
	onInterrupt string
}

// onVariable names the cluster file where --on does not.
const onVariable = "MLEFLOW_ON"

func (f *clusterFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.on, "on", "", "run steps on the machines of a cluster `FILE`, or none (env MLEFLOW_ON)")
}

func (f *clusterFlags) registerInterrupt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.onInterrupt, "on-interrupt", string(askFirst), "`WHAT` becomes of agents in a sandbox or container, and of cluster jobs, on interruption: leave them running, stop them, or ask at Ctrl-C on a terminal and else leave")
}

// clusterPath names the cluster file; "" if there is none.
func (a *app) clusterPath(flags *clusterFlags) string {
	path := flags.on
	if path == "" {
		path = a.env(onVariable)
	}
	if path == "none" {
		return ""
	}
	return path
}

// clusterFile reads the cluster file; nil if there is none.
func (a *app) clusterFile(flags *clusterFlags) (*fleet.File, error) {
	path := a.clusterPath(flags)
	if path == "" {
		return nil, nil
	}
	f, diags := fleet.Read(path)
	if f == nil {
		return nil, checked(diags, nil)
	}
	return f, checked(diags, f.Sources)
}

// attachFleet makes the engine run steps elsewhere, if a cluster file says so.
func (a *app) attachFleet(ctx context.Context, b *backend, flags *clusterFlags, pipeline string) error {
	f, err := a.clusterFile(flags)
	if err != nil || f == nil {
		return err
	}
	b.closers = append(b.closers, f.Close)
	if a.network.offline {
		return usagef("--offline and --on exclude each other: machines of a cluster are reached by the network")
	}
	loc, address, err := a.meetingPlace(f, pipeline)
	if err != nil {
		return err
	}
	if b.remote != nil {
		if err := b.remote.Close(); err != nil {
			return err
		}
	}
	b.remote = remote.New(b.cache, loc, remote.Options{Warn: a.warn})
	folders, err := a.packFolders(ctx, b)
	if err != nil {
		return err
	}
	b.fleet = fleet.New(f, fleet.Options{
		Cache: b.remote, Address: address, Version: thisVersion().Version, Folders: folders, Warn: a.warn,
		Interrupted: func(jobs int) bool { return a.cancelJobs(errors.Is(context.Cause(ctx), executor.ErrLeave), jobs) },
	})
	count := b.fleet.Jobs
	a.interrupts.jobs.Store(&count)
	b.options.Cache, b.options.Remote, b.options.Elsewhere = b.remote, b.remote, b.fleet
	b.engine = engine.New(b.options)
	return nil
}

// meetingPlace is the remote cache where this machine and those of a cluster meet,
// with its address as it was written.
func (a *app) meetingPlace(f *fleet.File, pipeline string) (loc remote.Location, address string, err error) {
	address = a.remoteAddress(pipeline)
	if f.RemoteCache != "" && a.remoteCache == "" && a.env("MLEFLOW_REMOTE_CACHE") == "" {
		address = a.remoteAddress(f.RemoteCache)
	}
	if address == "" {
		return loc, address, usagef("--on %s: no remote cache is named, where this machine and those of the cluster meet; write remote_cache = \"s3://bucket/prefix\" in the file, or give --remote-cache", f.Path)
	}
	if loc, err = remote.ParseLocation(address); err != nil {
		return loc, address, usageError{err}
	}
	if loc.ReadOnly {
		return loc, address, usagef("--on %s: the remote cache %s is read-only, and workers write their results there", f.Path, loc)
	}
	return loc, address, nil
}

// packFolders stores the folders of competitions that do not ship with the
// program, which workers do not have.
func (a *app) packFolders(ctx context.Context, b *backend) (list []work.Folder, err error) {
	for _, f := range append(a.ownFolders(), a.named...) {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		ref, err := tree.Import(ctx, b.remote, path, tree.ImportOptions{SkipSpecial: true})
		if err != nil {
			return nil, fmt.Errorf("store the competitions of %s for workers: %w", f.Path, err)
		}
		list = append(list, work.Folder{Name: filepath.Base(path), Content: ref})
	}
	return list, nil
}
