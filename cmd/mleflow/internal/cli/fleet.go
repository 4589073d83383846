package cli

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/fleet"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/work"
)

// clusterFlags say where steps run besides this machine.
type clusterFlags struct {
	on          string
	onInterrupt string
}

// onVariable names the cluster file where --on does not.
const onVariable = "MLEFLOW_ON"

func (f *clusterFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.on, "on", "", "run steps on the machines of a cluster `FILE`; none for none (env MLEFLOW_ON)")
}

func (f *clusterFlags) registerInterrupt(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.onInterrupt, "on-interrupt", string(fleet.Ask), "what becomes of jobs on a cluster when the run is interrupted, `WHAT`: leave, cancel, or ask, which leaves them where there is no terminal")
}

// clusterFile reads the cluster file; nil if there is none.
func (a *app) clusterFile(flags *clusterFlags) (*fleet.File, error) {
	path := flags.on
	if path == "" {
		path = a.env(onVariable)
	}
	if path == "" || path == "none" {
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
		Interrupted: func(jobs int) bool { return a.cancelJobs(flags, jobs) },
	})
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

// cancelJobs decides what becomes of the jobs of a run that is interrupted.
func (a *app) cancelJobs(flags *clusterFlags, jobs int) bool {
	leave := fmt.Sprintf("%s on the cluster. The next apply with --on continues with them; mleflow runs cleanup --cancel --on cancels them.", jobsGoOn(jobs))
	switch fleet.OnInterrupt(flags.onInterrupt) {
	case fleet.Cancel:
		a.say(fmt.Sprintf("Cancelling %s on the cluster.", view.Plural(jobs, "job")))
		return true
	case fleet.Ask:
		if view.IsTerminal(a.stderr) {
			a.say(fmt.Sprintf("%s on the cluster. Leave them running, or cancel them? [leave/cancel]", jobsRun(jobs)))
			answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "c") {
				return true
			}
		}
	}
	a.say(leave)
	return false
}

func jobsRun(n int) string {
	if n == 1 {
		return "1 job runs"
	}
	return fmt.Sprintf("%d jobs run", n)
}

func jobsGoOn(n int) string {
	if n == 1 {
		return "1 job goes on"
	}
	return fmt.Sprintf("%d jobs go on", n)
}

// checkInterrupt rejects other values of --on-interrupt.
func (f *clusterFlags) checkInterrupt() error {
	switch fleet.OnInterrupt(f.onInterrupt) {
	case fleet.Ask, fleet.Leave, fleet.Cancel:
		return nil
	}
	return usagef("flag -on-interrupt: %q is not known; it takes %q, %q or %q", f.onInterrupt, fleet.Ask, fleet.Leave, fleet.Cancel)
}
