package source

import (
	"context"
	"errors"
	"fmt"
)

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
	m := newMirror(web, open)
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
	what := spec.Slug
	if what == "" {
		what = Redact(spec.URL)
	}
	pin := ""
	switch {
	case spec.SHA256 != "":
		pin = " (SHA-256 " + spec.SHA256 + ")"
	case spec.MD5 != "":
		pin = " (MD5 " + spec.MD5 + ")"
	}
	return fmt.Errorf("%s%s from %s is not in the cache: %w; run once with the network, or take it from a folder with --mirror or --adopt", what, pin, o.name, ErrOffline)
}
