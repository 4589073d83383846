package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// networkFlags say where data are taken from and how.
type networkFlags struct {
	Offline                bool
	mirror, adopt, maxRate string
	connections            int
}

// Register adds the flags.
func (f *networkFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Offline, "offline", false, "use no network; what needs it fails")
	flags.StringVar(&f.mirror, "mirror", "", "take <slug>.zip, and task texts in the layout of the reference's repository, from below `URL` (a folder, https://… or s3://…) before Kaggle, or a file's address (env MLEFLOW_MIRROR)")
	flags.StringVar(&f.adopt, "adopt", "", "take competitions that are in `DIR`, a data directory of the MLE-bench reference; task texts also from a checkout of it")
	flags.StringVar(&f.maxRate, "max-rate", "", "download at most `SIZE` a second, such as 20MB")
	flags.IntVar(&f.connections, "connections", 0, "fetch a file over `N` connections (0: 8)")
}

// sources returns the sources that the flags ask for, and the data directory of the
// reference to take data from. The rules, if there are any, are those of a submission.
func (s *Store) sources(rules *submitted.Rules) (_ *source.Registry, adopt string, err error) {
	f := &s.Network
	var options []source.Option
	if folder, err := s.CacheFolder(); err == nil {
		options = append(options, source.Remember(filepath.Join(folder, "sources")))
	}
	if f.maxRate != "" {
		rate, err := step.ParseBytes(strings.TrimSuffix(f.maxRate, "/s"))
		if err != nil || rate <= 0 {
			return nil, "", Usagef("--max-rate: %q is not a size above 0; write one such as 20MB", f.maxRate)
		}
		options = append(options, source.MaxRate(rate))
	}
	switch {
	case f.connections < 0:
		return nil, "", Usagef("--connections: %d is negative", f.connections)
	case f.connections > 0:
		options = append(options, source.Connections(f.connections))
	}
	if f.adopt != "" {
		if adopt, err = filepath.Abs(f.adopt); err != nil {
			return nil, "", fmt.Errorf("--adopt: %w", err)
		}
	}
	if rules != nil {
		options = append(options, source.Public())
	}
	places := source.Places{Offline: f.Offline, Mirror: s.mirror(), Open: openObjects}
	entries := source.With(source.All(options...), places)
	if rules != nil {
		entries = rules.Sources(entries)
	}
	return source.NewRegistry(entries...), adopt, nil
}

// mirror returns the address of the mirror, or "".
func (s *Store) mirror() string { return cmp.Or(s.Network.mirror, s.Env("MLEFLOW_MIRROR")) }

// space measures the space there is for a cache.
func (b *Backend) space(ctx context.Context) (plan.Space, error) {
	info, err := b.Cache.Info(ctx)
	if err != nil {
		return plan.Space{FreeBytes: -1, FreeFiles: -1}, err
	}
	s := plan.Space{FreeBytes: -1, FreeFiles: -1, QuotaBytes: info.Quota, UsedBytes: info.Bytes}
	if disk, err := sched.DiskSpace(b.Cache.Dir()); err == nil {
		if disk.Bytes > 0 {
			s.FreeBytes = disk.FreeBytes
		}
		if disk.Files > 0 {
			s.FreeFiles = disk.FreeFiles
		}
	}
	return s, nil
}

// openObjects opens a mirror in an object storage, with the same schemes and
// credentials as a remote cache.
func openObjects(ctx context.Context, base string) (source.Objects, error) {
	location, err := remote.ParseLocation(base)
	if err != nil {
		return nil, err
	}
	reader, err := remote.OpenObjects(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", location, err)
	}
	return reader, nil
}

// remoteAddress returns the address of the remote cache: the flag, the
// environment variable, or what the pipeline says; empty or none is no cache.
func (s *Store) remoteAddress(pipeline string) string {
	address := cmp.Or(s.RemoteCache, s.Env("MLEFLOW_REMOTE_CACHE"), pipeline)
	if address == "none" {
		return ""
	}
	return address
}

// RemoteLocation is remoteAddress, understood.
func (s *Store) RemoteLocation(pipeline string) (remote.Location, error) {
	address := s.remoteAddress(pipeline)
	if address == "" {
		return remote.Location{}, nil
	}
	loc, err := remote.ParseLocation(address)
	return loc, Wrong(err)
}

// attachRemote puts the remote cache, if there is one, behind the local one.
func (s *Store) attachRemote(b *Backend, pipeline string) error {
	loc, err := s.RemoteLocation(pipeline)
	if err == nil && !loc.IsZero() && !s.Network.Offline {
		b.Remote = remote.New(b.Cache, loc, remote.Options{Warn: s.Warn})
		b.useRemote()
	}
	return err
}

// ResultCache is a cache that results are taken out of.
type ResultCache interface {
	cache.Files
	cache.Index
	cache.Relay
}

// WithResults opens the cache for a command that takes results of a run out.
// The remote cache that the command line, the environment or the run's
// pipeline names is behind it, and asked for what is missing here.
func (s *Store) WithResults(past *history.Past, run func(ResultCache) error) error {
	return s.WithCache(func(c *disk.Cache) error { return s.ResultsIn(c, past, run) })
}

// ResultsIn is WithResults in an open cache; without a run there is no remote one.
func (s *Store) ResultsIn(c *disk.Cache, past *history.Past, run func(ResultCache) error) error {
	if past == nil {
		return run(c)
	}
	sources, err := past.Sources()
	if err != nil {
		return err
	}
	path := past.Info.Pipeline
	loc, err := s.RemoteLocation(config.RemoteCache(path, sources[filepath.Base(path)], sources))
	switch {
	case err != nil:
		return err
	case loc.IsZero():
		return run(c)
	}
	r := remote.NewReader(c, loc, remote.Options{Warn: s.Warn})
	return errors.Join(run(r), r.Close())
}

// ReadRemote is attachRemote for a command that takes results out: nothing is
// stored in the remote cache.
func (s *Store) ReadRemote(b *Backend, pipeline string) error {
	loc, err := s.RemoteLocation(pipeline)
	if err != nil || loc.IsZero() {
		return err
	}
	r := remote.NewReader(b.Cache, loc, remote.Options{Warn: s.Warn})
	b.Remote, b.Options.Cache = r.Tier, r
	b.Engine = engine.New(b.Options)
	return nil
}

// Warn tells the person of something that is not an error.
func (t *Terminal) Warn(text string) { t.Say(t.ErrStyle().Warn("Warning:") + " " + view.OneLine(text)) }

// finishRemote waits for the uploads, an hour or as MLEFLOW_REMOTE_CACHE_WAIT says, and says
// what was done, and what is left.
func finishRemote(ctx context.Context, t *Terminal, b *Backend) error {
	if b.Remote == nil {
		return nil
	}
	limit, err := t.EnvTime("MLEFLOW_REMOTE_CACHE_WAIT", "90s or 2h", 0, time.Hour)
	if err != nil {
		return err
	}
	stop := t.Meter("storing results in the remote cache", func() (w view.Work) {
		m := b.Remote.Moved()
		w.Done, w.Total, w.Unit = m.Stored, m.Recorded, "bytes"
		w.Found = m.Stored - m.Out
		return w
	})
	ctx, cancel := context.WithTimeout(ctx, limit)
	left := b.Remote.Finish(ctx)
	cancel()
	stop()
	s := b.Remote.Stats()
	if t.Verbose && s.Requests > 0 {
		fmt.Fprintf(t.Stderr, "remote cache %s: %d found, %d fetched (%s), %d stored (%s), %d requests\n", b.Remote.Location(),
			s.Hits, s.Fetched, view.Bytes(s.BytesIn), s.Pushed, view.Bytes(s.BytesOut), s.Requests)
	}
	if left > 0 {
		t.Warn(fmt.Sprintf("%s not in the remote cache %s; mleflow cache push --all stores what is missing", view.Verb(left, "result", "is", "are"), b.Remote.Location()))
	}
	return nil
}

// Fetching returns what shows how much of the results is fetched that a run needs
// from the remote cache before it starts.
func Fetching(t *Terminal, b *Backend) func([]*cache.Record) func() {
	return func(wanted []*cache.Record) func() {
		var total int64
		for _, rec := range wanted {
			total += remote.Size(rec)
		}
		before := b.Remote.Moved()
		return t.Meter("fetching results from the remote cache", func() (w view.Work) {
			m := b.Remote.Moved()
			w.Done, w.Total, w.Unit = m.Fetched-before.Fetched, total, "bytes"
			w.Found = w.Done - (m.In - before.In)
			return w
		})
	}
}

// WithRemote opens the cache and the remote one for a command that is about
// nothing else.
func (s *Store) WithRemote(address string, run func(*remote.Tier) error) error {
	if address != "" {
		s.RemoteCache = address
	}
	loc, err := s.RemoteLocation("")
	if err != nil {
		return err
	}
	if loc.IsZero() {
		return Usagef("no remote cache is named; give --remote-cache URL or set MLEFLOW_REMOTE_CACHE, such as s3://bucket/prefix?region=eu-central-1")
	}
	return s.WithCache(func(c *disk.Cache) error {
		t := remote.New(c, loc, remote.Options{})
		return errors.Join(run(t), t.Close())
	})
}

// WithRecord opens the results of a run with the record of one of its steps or attempts.
func (s *Store) WithRecord(ctx context.Context, past *history.Past, named string, use func(ResultCache, *cache.Record) error) error {
	address, err := AddressIn(past, named)
	if err != nil {
		return err
	}
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	return s.WithResults(past, func(c ResultCache) error {
		rec, err := (&outputs.Source{Store: c, Index: c, Run: sum}).Record(ctx, address)
		if errors.Is(err, outputs.ErrNone) {
			return Wrong(err)
		}
		if err != nil {
			return err
		}
		return use(c, rec)
	})
}
