package app

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/fleet"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/pipelines"
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
	// closers are closed before the caches.
	closers []func() error
	// devices makes all processes of the machine share the GPUs.
	devices *sched.DeviceLocks
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

func (b *Backend) wire(a *App) error {
	parts, err := a.Concretes()
	if err != nil {
		return err
	}
	capacity := sched.Machine()
	if capacity.Devices, err = sched.ChooseDevices(a.Env(sched.DevicesVariable), capacity.Devices); err != nil {
		return Usagef("%s: %w", sched.DevicesVariable, err)
	}
	if len(capacity.Devices) > 0 && !b.Cache.ReadOnly() {
		dir := sched.LeasesDir(a.Env)
		if b.devices, err = sched.OpenDeviceLocks(dir, capacity.Devices); err != nil {
			return fmt.Errorf("%w; name another folder in %s, the same for all who use this machine's devices", err, sched.LeasesVariable)
		}
	}
	published := publish.Open(b.Cache.Dir())
	b.Options = engine.Options{
		Kinds: parts.Kinds, Functions: parts.Functions, Version: ThisVersion().Version, Shipped: pipelines.Shipped,
		Private: append(published.Private(), b.Cache.Dir()), Digests: filepath.Join(b.Cache.Dir(), "digests"), Places: published, Cache: b.Cache, History: history.New(b.Cache.Dir()), Capacity: capacity, Devices: b.devices,
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
	for _, closer := range b.closers {
		errs = append(errs, closer())
	}
	if b.devices != nil {
		b.devices.Close()
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
	return engine.New(engine.Options{Kinds: parts.Kinds, Functions: parts.Functions, Version: ThisVersion().Version, Shipped: pipelines.Shipped}), nil
}

// OpenHistory returns the record of runs, for commands that only read it.
func (s *Store) OpenHistory() (*history.Store, error) {
	folder, err := s.CacheFolder()
	if err != nil {
		return nil, err
	}
	return history.New(filepath.Clean(folder)), nil
}
