package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
)

// remoteAddress returns the address of the remote cache: the flag, the
// environment variable, or what the pipeline says; empty or none is no cache.
func (s *Store) remoteAddress(pipeline string) string {
	for _, address := range []string{s.RemoteCache, s.Env("MLEFLOW_REMOTE_CACHE"), pipeline} {
		if address == "none" {
			return ""
		}
		if address != "" {
			return address
		}
	}
	return ""
}

// RemoteLocation is remoteAddress, understood.
func (s *Store) RemoteLocation(pipeline string) (remote.Location, error) {
	address := s.remoteAddress(pipeline)
	if address == "" {
		return remote.Location{}, nil
	}
	loc, err := remote.ParseLocation(address)
	if err != nil {
		return loc, Wrong(err)
	}
	return loc, nil
}

// attachRemote puts the remote cache, if there is one, behind the local one.
func (s *Store) attachRemote(b *Backend, pipeline string) error {
	loc, err := s.RemoteLocation(pipeline)
	if err != nil || loc.IsZero() || s.Network.Offline {
		return err
	}
	b.Remote = remote.New(b.Cache, loc, remote.Options{Warn: s.Warn})
	b.Options.Cache, b.Options.Remote = b.Remote, b.Remote
	b.Engine = engine.New(b.Options)
	return nil
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
	loc, err := s.RemoteOf(past)
	if err != nil {
		return err
	}
	return s.WithCache(func(c *disk.Cache) error {
		if loc.IsZero() {
			return run(c)
		}
		r := remote.NewReader(c, loc, remote.Options{Warn: s.Warn})
		return errors.Join(run(r), r.Close())
	})
}

// RemoteOf returns the remote cache behind the results of a run; see WithResults.
func (s *Store) RemoteOf(past *history.Past) (remote.Location, error) {
	sources, err := past.Sources()
	if err != nil {
		return remote.Location{}, err
	}
	path := past.Info.Pipeline
	return s.RemoteLocation(config.RemoteCache(path, sources[filepath.Base(path)], sources))
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
func (s *Store) WithRemote(address string, run func(*remote.Tier) error) (err error) {
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
	c, err := s.OpenCache()
	if err != nil {
		return err
	}
	t := remote.New(c, loc, remote.Options{})
	defer func() { err = errors.Join(err, t.Close(), c.Close()) }()
	return run(t)
}

// WithRecord opens the results of a run with the record of one of its steps.
func (s *Store) WithRecord(ctx context.Context, past *history.Past, address string, use func(ResultCache, *cache.Record) error) error {
	parsed, err := addr.Parse(address)
	if err != nil {
		return Wrong(err)
	}
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	return s.WithResults(past, func(c ResultCache) error {
		rec, err := (&outputs.Source{Store: c, Index: c, Run: sum}).Record(ctx, parsed.String())
		if errors.Is(err, outputs.ErrNone) {
			return Wrong(err)
		}
		if err != nil {
			return err
		}
		return use(c, rec)
	})
}
