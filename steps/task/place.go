package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// place is a place that may have a text.
type place struct {
	source source.Source
	spec   source.Spec
	// what is the place's name for people. local means that the place is on this
	// machine.
	what  string
	local bool
}

// places lists the places in the order in which they are tried.
func (t *texts) places(pin competitions.Pin) (list []place) {
	for _, base := range []struct{ kind, at string }{{"the folder", t.from}, {"the adopted folder", t.deps.Adopt}, {"the mirror", t.deps.Mirror}} {
		if base.at == "" {
			continue
		}
		at := strings.TrimPrefix(base.at, "file://")
		for _, name := range t.names(pin) {
			list = t.add(list, place{what: base.kind + " " + source.Redact(at), local: !strings.Contains(at, "://")},
				"mirror", source.Spec{URL: at, Name: name, SHA256: pin.SHA256})
		}
	}
	at := t.deps.Repository.Address(pin)
	return t.add(list, place{what: source.Redact(at)}, "http", source.Spec{URL: at, SHA256: pin.SHA256})
}

// add appends a place, unless its kind of source is unknown or rejects the spec.
func (t *texts) add(list []place, p place, kind string, spec source.Spec) []place {
	src, err := t.deps.Sources.Get(kind)
	if err != nil || src.Check(spec) != nil {
		return list
	}
	p.source, p.spec = src, spec
	return append(list, p)
}

// names are the paths that a text has below a folder or mirror: its path in the
// reference's repository and, for the description, that in its data directory.
func (t *texts) names(pin competitions.Pin) (names []string) {
	if pin == t.pins.Description && t.task == competitions.TaskReference {
		names = append(names, path.Join(t.def.ID, source.PreparedFolder, "public", "description.md"))
	}
	if pin.Path != "" {
		names = append(names, pin.Path)
	}
	return names
}

// Estimate implements step.Estimator.
func (t *texts) Estimate() step.Estimate {
	return step.Estimate{CacheBytes: 64 << 10, Files: 2, Known: true, Basis: "two texts"}
}

// Preflight implements step.Preflighter. A place that does not answer is a failure,
// which should be known before anything runs for hours.
func (t *texts) Preflight(ctx context.Context) (step.Preflight, error) {
	p := step.Preflight{Subject: t.def.ID, Note: "the task's texts", Estimate: t.Estimate()}
	if t.task == competitions.TaskOwn {
		return p, nil
	}
	var lack lacking
	for _, o := range t.outputs() {
		at, a, err := t.ask(ctx, o.pin)
		if err != nil && !lack.add(err) {
			return p, err
		}
		if !at.local {
			p.Place = "text"
		}
		p.Bytes += a.Bytes
		p.Files++
	}
	return p, lack.error(t)
}

// ask returns the first place that has a text.
func (t *texts) ask(ctx context.Context, pin competitions.Pin) (place, source.Availability, error) {
	var failed []error
	for _, p := range t.places(pin) {
		a, err := t.asked.of(ctx, p)
		switch {
		case errors.Is(err, source.ErrMismatch):
			return p, a, t.mismatch(pin, p, err)
		case err == nil:
			return p, a, nil
		case !absent(err):
			failed = append(failed, err)
		}
	}
	return place{}, source.Availability{}, &missing{pin, failed}
}

// answers remembers the answers of places: all competitions share the
// instructions, and a server that does not answer should not be asked
// repeatedly.
type answers struct {
	known  sync.Map // functions by place
	silent sync.Map // errors by server
	// patience is how long a server may take to answer.
	patience time.Duration
}

// of returns the answer of a place.
func (s *answers) of(ctx context.Context, p place) (source.Availability, error) {
	answer, _ := s.known.LoadOrStore(p.spec.URL+"\n"+p.spec.Name, sync.OnceValues(func() (source.Availability, error) { return s.ask(ctx, p) }))
	return answer.(func() (source.Availability, error))()
}

func (s *answers) ask(ctx context.Context, p place) (source.Availability, error) {
	server := p.server()
	if err, silent := s.silent.Load(server); silent {
		return source.Availability{}, err.(error)
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.patience, fmt.Errorf("%s does not answer", server))
	defer cancel()
	a, err := p.inspect(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		s.silent.Store(server, err)
	}
	return a, err
}

// server returns the part of a place that answers requests.
func (p place) server() string {
	if u, err := url.Parse(p.spec.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "this machine"
}

// inspect asks a place. A file on this machine is compared with the pin.
func (p place) inspect(ctx context.Context) (source.Availability, error) {
	i, ok := p.source.(source.Inspector)
	if !ok {
		return source.Availability{}, nil
	}
	a, err := i.Inspect(ctx, p.spec)
	if err != nil || !p.local {
		return a, err
	}
	file := filepath.Join(p.spec.URL, filepath.FromSlash(p.spec.Name))
	f, err := os.Open(file)
	if err != nil {
		return a, fmt.Errorf("check text: %w", err)
	}
	defer f.Close()
	got, size, err := digest.Copy(io.Discard, io.LimitReader(f, maxText))
	if err == nil && got.String() != p.spec.SHA256 {
		err = fmt.Errorf("%w: %s has SHA-256 %s, expected %s (%d bytes)", source.ErrMismatch, file, got, p.spec.SHA256, size)
	}
	return a, err
}

// missing is the error that no place has a text.
type missing struct {
	pin competitions.Pin
	// failed are the places that could not be reached.
	failed []error
}

// Error implements error.
func (m *missing) Error() string { return "no place has " + m.pin.Name() }

// Unwrap returns the errors of the places that could not be reached.
func (m *missing) Unwrap() []error { return m.failed }

// lacking collects the texts that no place has.
type lacking []*missing

// add reports whether an error means that no place has a text, and collects it.
func (l *lacking) add(err error) bool {
	var m *missing
	if !errors.As(err, &m) {
		return false
	}
	*l = append(*l, m)
	return true
}

// error returns nil if nothing is missing. Otherwise the error lists the ways to get
// the missing texts.
func (l lacking) error(t *texts) error {
	if len(l) == 0 {
		return nil
	}
	var names, paths []string
	for _, m := range l {
		names = append(names, m.pin.Name())
		if m.pin.Path != "" {
			paths = append(paths, m.pin.Path)
		}
	}
	layout := strings.Join(paths, ", ")
	layout = cmp.Or(layout, "it")
	return fmt.Errorf("no place has %s for the task %q of %s%s. There are three ways to get the texts: --adopt DIR, a data directory or a checkout of MLE-bench; --mirror URL, a folder or server with %s; or the network, from %s. The task \"own\" needs none of them, but its scores cannot be compared with published ones",
		strings.Join(names, " and "), t.task, t.def.ID, l.why(), layout, source.Redact(t.deps.Repository.Address(l[0].pin)))
}

// retryable marks an error as temporary if a place could not be reached.
func (l lacking) retryable(err error) error {
	for _, m := range l {
		if temporary, ok := errors.AsType[*source.TemporaryError](m); ok {
			return step.Retryable(err, temporary.After)
		}
	}
	return err
}

// why returns the cause of the failure in parentheses. It is the same for all texts.
func (l lacking) why() string {
	for _, m := range l {
		switch {
		case len(m.failed) == 0:
		case errors.Is(m.failed[0], source.ErrOffline):
			return " (" + source.ErrOffline.Error() + ")"
		default:
			return fmt.Sprintf(" (%v)", m.failed[0])
		}
	}
	return ""
}
