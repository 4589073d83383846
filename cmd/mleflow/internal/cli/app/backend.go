package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/fleet"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/pipelines"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/all"
)

// Backend is the engine with what it stands on, opened for one command.
type Backend struct {
	Engine  *engine.Engine
	Options engine.Options
	Cache   *disk.Cache
	// Remote is the cache behind it; nil when there is none.
	Remote *remote.Tier
	// Fleet runs steps elsewhere; nil if none are.
	Fleet *fleet.Fleet
}

// OpenBackend opens the cache and the run history and wires the engine.
func (a *App) OpenBackend() (*Backend, error) {
	store, err := a.OpenCache()
	if err != nil {
		return nil, err
	}
	b := &Backend{Cache: store}
	if err := b.wire(a); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// WithBackend opens the backend for one command.
func (a *App) WithBackend(run func(*Backend) error) error { return with(a.OpenBackend, run) }

func (b *Backend) wire(a *App) error {
	parts, err := a.Concretes()
	if err != nil {
		return err
	}
	capacity := sched.Machine()
	if capacity.Devices, err = sched.ChooseDevices(a.Env(sched.DevicesVariable), capacity.Devices); err != nil {
		return Usagef("%s: %w", sched.DevicesVariable, err)
	}
	var devices *sched.DeviceLocks // all processes of the machine share the GPUs
	if len(capacity.Devices) > 0 && !b.Cache.ReadOnly() {
		dir := sched.LeasesDir(a.Env)
		if devices, err = sched.OpenDeviceLocks(dir, capacity.Devices); err != nil {
			return fmt.Errorf("%w; name another folder in %s, the same for all who use this machine's devices", err, sched.LeasesVariable)
		}
	}
	published := publish.Open(b.Cache.Dir())
	language := bareLanguage(parts)
	language.Private, language.Digests = append(published.Private(), b.Cache.Dir()), filepath.Join(b.Cache.Dir(), "digests")
	if a.Submitted != nil {
		language.Within, capacity.Withheld = a.Submitted.Root(), a.Submitted.Withheld(len(capacity.Devices))
	}
	b.Options = engine.Options{
		Options: language, Places: published, Cache: b.Cache, History: history.New(b.Cache.Dir()), Capacity: capacity, Devices: devices,
		Space: b.space,
	}
	b.Engine = engine.New(b.Options)
	return nil
}

// Close releases it.
func (b *Backend) Close() error {
	if b.Fleet != nil {
		b.Fleet.Close()
	}
	var errs []error
	if b.Options.Devices != nil {
		b.Options.Devices.Close()
	}
	if b.Remote != nil {
		errs = append(errs, b.Remote.Close())
	}
	return errors.Join(append(errs, b.Cache.Close())...)
}

// OpenCache opens the cache of this machine, without the remote one.
func (s *Store) OpenCache() (*disk.Cache, error) {
	folder, err := s.CacheFolder()
	if err != nil {
		return nil, err
	}
	opts := disk.Options{Last: all.Varying()}
	if text := s.Env("MLEFLOW_CACHE_QUOTA"); text != "" {
		if opts.Quota, err = SizeOf("MLEFLOW_CACHE_QUOTA", text); err != nil {
			return nil, err
		}
	}
	store, err := disk.Open(folder, opts)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another folder with --cache-dir or MLEFLOW_CACHE_DIR", err)
	}
	crash.ReportIn(folder)
	return store, nil
}

// BareEngine is an engine without cache and run history, for what only reads a
// pipeline.
func (a *App) BareEngine() (*engine.Engine, error) {
	parts, err := a.Concretes()
	if err != nil {
		return nil, err
	}
	return engine.New(engine.Options{Options: bareLanguage(parts)}), nil
}

// bareLanguage are the options of the language that do not depend on a cache.
func bareLanguage(parts *Parts) config.Options {
	return config.Options{Kinds: parts.Kinds, Functions: parts.Functions, Benchmark: parts.Benchmark, Version: ThisVersion().Version, Shipped: pipelines.Shipped}
}

// OpenHistory returns the record of runs, for commands that only read it.
func (s *Store) OpenHistory() (*history.Store, error) {
	folder, err := s.CacheFolder()
	if err != nil {
		return nil, err
	}
	return history.New(filepath.Clean(folder)), disk.Enter(folder)
}

// FindRun opens the run that the first argument names, or the latest.
func (s *Store) FindRun(args []string) (*history.Past, error) {
	l, err := s.OpenHistory()
	if err != nil {
		return nil, err
	}
	ref := "latest"
	if len(args) > 0 {
		ref = args[0]
	}
	past, err := l.Find(ref)
	if errors.Is(err, history.ErrNoRun) {
		return nil, Usagef("%w; mleflow runs lists them", err)
	}
	return past, err
}

// Summary reads the run that the first argument names, or the latest.
func (s *Store) Summary(args []string) (*history.Summary, error) {
	past, err := s.FindRun(args)
	if err != nil {
		return nil, err
	}
	return past.Summary()
}

// OwnRun returns a run whose pipeline or command may be executed. Of another user's it
// says why not and what to do instead.
func OwnRun(past *history.Past, instead string) (*history.Past, error) {
	own, err := past.Own()
	if errors.Is(err, history.ErrForeign) {
		return nil, Usagef("run %s %w; its steps would have your rights and secrets: %s", past.Info.ID, err, instead)
	}
	return own, err
}

// NamesFile reports whether an argument names a file and not a run or a folder.
func NamesFile(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist) && (filepath.Base(arg) != arg || filepath.Ext(arg) != "")
}

// AttemptsOf counts the attempts of a run that have a result by how they were isolated.
func AttemptsOf(sum *history.Summary) (t conditions.Tally) {
	for _, s := range sum.Steps {
		if s.Status.Succeeded() {
			t.Add(s.Kind, s.Conditions)
		}
	}
	return t
}

// Tail returns the last lines of a step's log in a run; none if that run or its
// log is gone.
func (s *Store) Tail(run, address string, n int) []string {
	past, err := s.FindRun([]string{run})
	if err != nil {
		return nil
	}
	return past.Tail(address, n)
}

// ClusterFlags say where steps run besides this machine.
type ClusterFlags struct {
	On, onInterrupt string
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
	path := cmp.Or(f.On, t.Env(onVariable))
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
	key, err := orderKey(b.Cache.Dir())
	if err != nil && !b.Cache.ReadOnly() {
		return err
	}
	b.Fleet = fleet.New(f, fleet.Options{
		Key: key, Cache: b.Remote, Address: address, Version: ThisVersion().Version, Folders: folders, Warn: a.Warn,
		Interrupted: func(jobs int) bool { return a.cancelJobs(errors.Is(context.Cause(ctx), executor.ErrLeave), jobs) },
	})
	count := b.Fleet.Jobs
	a.Interrupts.jobs.Store(&count)
	b.Options.Elsewhere = b.Fleet
	b.useRemote()
	return nil
}

// useRemote makes an engine that stores results in the remote cache.
func (b *Backend) useRemote() {
	b.Options.Cache, b.Options.Remote = b.Remote, b.Remote
	b.Engine = engine.New(b.Options)
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
