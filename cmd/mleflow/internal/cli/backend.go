package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/fleet"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/pipelines"
	"github.com/mleflow/mleflow/steps/all"
)

// backend is the engine with what it stands on, opened for one command.
type backend struct {
	engine  *engine.Engine
	options engine.Options
	cache   *disk.Cache
	// remote is the cache behind it; nil when there is none.
	remote *remote.Tier
	// fleet runs steps elsewhere; nil if none are.
	fleet *fleet.Fleet
	// closers are closed before the caches.
	closers []func() error
	// devices makes all processes of the machine share the GPUs.
	devices *sched.DeviceLocks
}

// openBackend opens the cache and the ledger and wires the engine.
func (a *app) openBackend() (*backend, error) {
	store, err := a.openCache()
	if err != nil {
		return nil, err
	}
	b := &backend{cache: store}
	if err := b.wire(a); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *backend) wire(a *app) error {
	parts, err := a.concretes()
	if err != nil {
		return err
	}
	capacity := sched.Machine()
	if capacity.Devices, err = sched.ChooseDevices(a.env(sched.DevicesVariable), capacity.Devices); err != nil {
		return usagef("%s: %w", sched.DevicesVariable, err)
	}
	if len(capacity.Devices) > 0 && !b.cache.ReadOnly() {
		dir := sched.LeasesDir(a.env)
		if b.devices, err = sched.OpenDeviceLocks(dir, capacity.Devices); err != nil {
			return fmt.Errorf("%w; name another folder in %s, the same for all who use this machine's devices", err, sched.LeasesVariable)
		}
	}
	places := publish.Open(b.cache.Dir())
	b.options = engine.Options{
		Kinds: parts.kinds, Functions: parts.functions, Version: thisVersion().Version, Shipped: pipelines.Shipped,
		Private: append(places.Private(), b.cache.Dir()), Places: places, Cache: b.cache, Ledger: ledger.New(b.cache.Dir()), Capacity: capacity, Devices: b.devices,
		Space: b.space,
	}
	b.engine = engine.New(b.options)
	return nil
}

func (b *backend) Close() error {
	if b.fleet != nil {
		b.fleet.Close()
	}
	var errs []error
	for _, closer := range b.closers {
		errs = append(errs, closer())
	}
	if b.devices != nil {
		b.devices.Close()
	}
	if b.remote != nil {
		errs = append(errs, b.remote.Close())
	}
	return errors.Join(append(errs, b.cache.Close())...)
}

func (s *store) openCache() (*disk.Cache, error) {
	folder, err := s.cacheFolder()
	if err != nil {
		return nil, err
	}
	opts := disk.Options{Last: all.Varying()}
	if text := s.env("MLEFLOW_CACHE_QUOTA"); text != "" {
		if opts.Quota, err = sizeOf("MLEFLOW_CACHE_QUOTA", text); err != nil {
			return nil, err
		}
	}
	store, err := disk.Open(folder, opts)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another folder with --cache-dir or MLEFLOW_CACHE_DIR", err)
	}
	return store, nil
}

// bareEngine is an engine without cache and ledger, for what only reads a
// pipeline.
func (a *app) bareEngine() (*engine.Engine, error) {
	parts, err := a.concretes()
	if err != nil {
		return nil, err
	}
	return engine.New(engine.Options{Kinds: parts.kinds, Functions: parts.functions, Version: thisVersion().Version, Shipped: pipelines.Shipped}), nil
}

// openLedger returns the record of runs, for commands that only read it.
func (s *store) openLedger() (*ledger.Ledger, error) {
	folder, err := s.cacheFolder()
	if err != nil {
		return nil, err
	}
	return ledger.New(filepath.Clean(folder)), nil
}
