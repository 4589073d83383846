package cli

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
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/ledger"
)

// remoteAddress returns the address of the remote cache: the flag, the
// environment variable, or what the pipeline says; empty or none is no cache.
func (s *store) remoteAddress(pipeline string) string {
	for _, address := range []string{s.remoteCache, s.env("MLEFLOW_REMOTE_CACHE"), pipeline} {
		if address == "none" {
			return ""
		}
		if address != "" {
			return address
		}
	}
	return ""
}

// remoteLocation is remoteAddress, understood.
func (s *store) remoteLocation(pipeline string) (remote.Location, error) {
	address := s.remoteAddress(pipeline)
	if address == "" {
		return remote.Location{}, nil
	}
	loc, err := remote.ParseLocation(address)
	if err != nil {
		return loc, usageError{err}
	}
	return loc, nil
}

// attachRemote puts the remote cache, if there is one, behind the local one.
func (s *store) attachRemote(b *backend, pipeline string) error {
	loc, err := s.remoteLocation(pipeline)
	if err != nil || loc.IsZero() || s.network.offline {
		return err
	}
	b.remote = remote.New(b.cache, loc, remote.Options{Warn: s.warn})
	b.options.Cache, b.options.Remote = b.remote, b.remote
	b.engine = engine.New(b.options)
	return nil
}

// resultCache is a cache that results are taken out of.
type resultCache interface {
	cache.Files
	cache.Index
}

// withResults opens the cache for a command that takes results of a run out.
// The remote cache that the command line, the environment or the run's
// pipeline names is behind it, and asked for what is missing here.
func (s *store) withResults(past *ledger.Past, run func(resultCache) error) error {
	sources, err := past.Sources()
	if err != nil {
		return err
	}
	path := past.Info.Pipeline
	loc, err := s.remoteLocation(config.RemoteCache(path, sources[filepath.Base(path)], sources))
	if err != nil {
		return err
	}
	return s.withCache(func(c *disk.Cache) error {
		if loc.IsZero() {
			return run(c)
		}
		r := remote.NewReader(c, loc, remote.Options{Warn: s.warn})
		return errors.Join(run(r), r.Close())
	})
}

// readRemote is attachRemote for a command that takes results out: nothing is
// stored in the remote cache.
func (s *store) readRemote(b *backend, pipeline string) error {
	loc, err := s.remoteLocation(pipeline)
	if err != nil || loc.IsZero() {
		return err
	}
	r := remote.NewReader(b.cache, loc, remote.Options{Warn: s.warn})
	b.remote, b.options.Cache = r.Tier, r
	b.engine = engine.New(b.options)
	return nil
}

// warn tells the person of something that is not an error.
func (t *terminal) warn(text string) { t.say(t.errStyle().Warn("Warning:") + " " + view.OneLine(text)) }

// remoteWait is how long a run that is over waits for what it stores in the
// remote cache; MLEFLOW_REMOTE_CACHE_WAIT gives another time.
const remoteWait = time.Hour

// finishRemote waits for the uploads and says what was done, and what is left.
func finishRemote(ctx context.Context, t *terminal, b *backend) error {
	if b.remote == nil {
		return nil
	}
	limit, err := waitForRemote(t)
	if err != nil {
		return err
	}
	stop := t.meter("storing results in the remote cache", func() (w view.Work) {
		m := b.remote.Moved()
		w.Done, w.Total, w.Unit = m.Stored, m.Recorded, "bytes"
		w.Found = m.Stored - m.Out
		return w
	})
	ctx, cancel := context.WithTimeout(ctx, limit)
	left := b.remote.Finish(ctx)
	cancel()
	stop()
	s := b.remote.Stats()
	if t.verbose && s.Requests > 0 {
		fmt.Fprintf(t.stderr, "remote cache %s: %d found, %d fetched (%s), %d stored (%s), %d requests\n", b.remote.Location(),
			s.Hits, s.Fetched, view.Bytes(s.BytesIn), s.Pushed, view.Bytes(s.BytesOut), s.Requests)
	}
	if left > 0 {
		t.warn(fmt.Sprintf("%s not in the remote cache %s; mleflow cache push --all stores what is missing", resultsAre(left), b.remote.Location()))
	}
	return nil
}

// fetching returns what shows how much of the results is fetched that a run needs
// from the remote cache before it starts.
func fetching(t *terminal, b *backend) func([]*cache.Record) func() {
	return func(wanted []*cache.Record) func() {
		var total int64
		for _, rec := range wanted {
			total += remote.Size(rec)
		}
		before := b.remote.Moved()
		return t.meter("fetching results from the remote cache", func() (w view.Work) {
			m := b.remote.Moved()
			w.Done, w.Total, w.Unit = m.Fetched-before.Fetched, total, "bytes"
			w.Found = w.Done - (m.In - before.In)
			return w
		})
	}
}

// resultsAre says that n results are or one result is.
func resultsAre(n int) string {
	if n == 1 {
		return "1 result is"
	}
	return fmt.Sprintf("%d results are", n)
}

func waitForRemote(t *terminal) (time.Duration, error) {
	text := t.env("MLEFLOW_REMOTE_CACHE_WAIT")
	if text == "" {
		return remoteWait, nil
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit < 0 {
		return 0, usagef("MLEFLOW_REMOTE_CACHE_WAIT: %q is not a time such as 90s or 2h", text)
	}
	return limit, nil
}

// withRemote opens the cache and the remote one for a command that is about
// nothing else.
func (s *store) withRemote(address string, run func(*remote.Tier) error) (err error) {
	if address != "" {
		s.remoteCache = address
	}
	loc, err := s.remoteLocation("")
	if err != nil {
		return err
	}
	if loc.IsZero() {
		return usagef("no remote cache is named; give --remote-cache URL or set MLEFLOW_REMOTE_CACHE, such as s3://bucket/prefix?region=eu-central-1")
	}
	c, err := s.openCache()
	if err != nil {
		return err
	}
	t := remote.New(c, loc, remote.Options{})
	defer func() { err = errors.Join(err, t.Close(), c.Close()) }()
	return run(t)
}
