package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"
)

// All returns the sources, sorted by name. They share the options, so that a
// limit applies to the whole process if it calls All once. The command line
// sets MaxRate (--max-rate) and Connections (--connections).
func All(options ...Option) []Entry {
	s := defaults()
	for _, o := range options {
		o(&s)
	}
	web := NewHTTP(nil, options...)
	return []Entry{
		{"file", file{s.memo}},
		{"http", web},
		{"kaggle", NewKaggle(web)},
	}
}

// Option changes how the sources of All fetch, never what they fetch. So no
// option is part of a key.
type Option func(*settings)

// Connections sets how many parts of one file are fetched at once from a server
// that supports ranges; the default is 8. One connection fetches a file
// sequentially. Each takes 8 MiB of memory at most.
func Connections(n int) Option {
	return func(s *settings) { s.connections = max(n, 1) }
}

// MaxRate limits what all downloads of the sources together receive, in bytes
// per second; 0 means no limit.
func MaxRate(bytesPerSecond int64) Option {
	if bytesPerSecond <= 0 {
		return func(s *settings) { s.limit = unlimited }
	}
	// As much as may arrive at once is large enough to be cheap, and small enough to keep a slow
	// rate even.
	burst := min(max(bytesPerSecond/8, 4<<10), 256<<10)
	return func(s *settings) { s.limit = rate.NewLimiter(rate.Limit(bytesPerSecond), int(burst)) }
}

var unlimited = rate.NewLimiter(rate.Inf, math.MaxInt)

// Public keeps the sources to the public internet, even where a URL names another place:
// for URLs of strangers.
func Public() Option { return func(s *settings) { s.public = true } }

// Remember names a folder for the fingerprints of local files, so that
// unchanged files are not read again.
func Remember(dir string) Option { return func(s *settings) { s.memo = dir } }

// settings is how a transfer behaves.
type settings struct {
	connections int
	limit       *rate.Limiter // of the bytes that are received
	// smallest and largest are the limits on the size of a part.
	smallest, largest int64
	// tries is how many consecutive requests may fail without a new byte. wait is
	// the longest pause after the first failure; it doubles with each.
	tries int
	wait  time.Duration
	// patience is how long a server may make it wait in all without a new byte.
	patience time.Duration
	// briefTries is the same for failures that pass soon or never, such as an
	// unknown host name. After that the failure is permanent.
	briefTries int
	// An answer that delivers fewer than least bytes in window is aborted. Such a
	// connection usually never recovers, and a new one does.
	window time.Duration
	least  int64
	// memo is the folder of Remember.
	memo string
	// public is true with Public.
	public bool
}

func defaults() settings {
	return settings{
		connections: 8, limit: unlimited, smallest: 256 << 10, largest: 8 << 20,
		tries: 8, wait: time.Second, briefTries: 3, patience: 5 * time.Minute,
		window: 30 * time.Second, least: 32 << 10,
	}
}

// longestWait is the longest pause within a fetch that no server asks for, and
// all patience that a question about a file has.
const longestWait = 20 * time.Second

// longestRetry is the longest wait for which a server may ask. If it is more
// than a fetch has patience for, the fetch fails for now, so that it occupies
// nothing meanwhile.
const longestRetry = time.Hour

// layout chooses the size of the parts and the number of connections. If the
// process is killed, the parts in memory are lost: one for each connection and
// two more. That should be less than 2 % of the rest, unless the rest is small.
func (s settings) layout(rest int64) (part int64, connections int) {
	part = rest / int64(64*s.connections)
	part = min(max(part, s.smallest), s.largest)
	parts := (rest + part - 1) / part
	return part, int(min(int64(s.connections), parts))
}

// ErrOffline says that a fetch would need the network, which must not be used.
var ErrOffline = errors.New("the network must not be used (--offline)")

// Places are the places where a process gets data other than the declared ones.
type Places struct {
	// Offline makes everything that would use the network fail.
	Offline bool
	// Mirror, if set, is tried before Kaggle, and before a web address that ends
	// in .zip; see Mirror.
	Mirror string
	// Open opens object storage; nil means that it is not supported.
	Open OpenObjects
}

// With adds the kinds "mirror" and "reference" to the entries and makes them
// use the places. Keys do not change.
func With(entries []Entry, p Places) []Entry {
	out := make([]Entry, 0, len(entries)+2)
	var web Source
	for _, e := range entries {
		if _, local := e.Source.(file); p.Offline && !local {
			e.Source = &offline{e.Source, e.Name}
		}
		if e.Name == "http" {
			web = e.Source
		}
		out = append(out, e)
	}
	open := p.Open
	if p.Offline {
		open = func(context.Context, string) (Objects, error) { return nil, ErrOffline }
	}
	m := &mirror{web, open}
	for i, e := range out {
		if p.Mirror != "" && (e.Name == "kaggle" || e.Name == "http") {
			out[i].Source = &mirrored{e.Source, m, p.Mirror}
		}
	}
	return append(out, Entry{"mirror", m}, Entry{"reference", Reference{}})
}

// offline is a source that must not be used.
type offline struct {
	Source
	name string
}

// Fetch implements Source.
func (o *offline) Fetch(_ context.Context, req Request) (Data, error) {
	return Data{}, o.refusal(req.Spec)
}

// Inspect implements Inspector.
func (o *offline) Inspect(_ context.Context, spec Spec) (Availability, error) {
	return Availability{}, o.refusal(spec)
}

func (o *offline) refusal(spec Spec) error {
	pin := ""
	switch {
	case spec.SHA256 != "":
		pin = " (SHA-256 " + spec.SHA256 + ")"
	case spec.MD5 != "":
		pin = " (MD5 " + spec.MD5 + ")"
	}
	return fmt.Errorf("%s%s from %s is not in the cache: %w; run once with the network, or take it from a folder with --mirror or --adopt",
		cmp.Or(spec.Slug, Redact(spec.URL)), pin, o.name, ErrOffline)
}
