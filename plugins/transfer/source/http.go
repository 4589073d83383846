package source

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mleflow/mleflow/cache/digest"
)

// HTTP fetches a file by HTTP, in several parts at once if the server supports
// ranges. An interrupted fetch continues where it stopped, even in another
// process, if the server identifies the file's version by a strong ETag, a date
// or an MD5, or if there is a pin. Otherwise it starts from scratch.
type HTTP struct {
	web *web
	settings
}

// NewHTTP returns the source. With a nil client, it uses one with sensible
// limits on every phase except the length of the body.
func NewHTTP(client *http.Client, options ...Option) *HTTP {
	s := &HTTP{web: newWeb(client), settings: defaults()}
	for _, o := range options {
		o(&s.settings)
	}
	if s.public {
		s.web.open = s.web.guarded
	}
	return s
}

// Check implements Source.
func (*HTTP) Check(spec Spec) error {
	u, err := url.Parse(spec.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("an http source needs a url that starts with http:// or https://, not %q", Redact(spec.URL))
	}
	return nil
}

// Fingerprint implements Source. Without a pin, the URL stands for the content,
// which is assumed not to change. Its parameters are hashed separately, so that
// their values are not kept.
func (*HTTP) Fingerprint(spec Spec, h *digest.Hasher) error {
	if fingerprintPins(spec, h) {
		return nil
	}
	h.String("source URL", Redact(spec.URL))
	// The value of a parameter may decide what is fetched, so it is part of the
	// key.
	if u, err := url.Parse(spec.URL); err == nil && u.RawQuery != "" {
		h.Content("source URL parameters", digest.Of([]byte(u.RawQuery)))
	}
	return nil
}

// origin returns the spec's URL.
func (s *HTTP) origin(spec Spec) *origin { return &origin{web: s.web, url: spec.URL} }

// Fetch implements Source.
func (s *HTTP) Fetch(ctx context.Context, req Request) (Data, error) {
	return s.fetch(ctx, req, s.origin(req.Spec))
}

func (s *HTTP) fetch(ctx context.Context, req Request, o *origin) (Data, error) {
	address := Redact(o.url)
	data, err := newTransfer(s.settings, o, req, address).run(ctx)
	if err != nil {
		return Data{}, o.masked(fmt.Errorf("fetch %s: %w", address, err))
	}
	return data, nil
}

// Inspect implements Inspector. It asks for the first byte.
func (s *HTTP) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	return s.inspect(ctx, spec, s.origin(spec))
}

func (s *HTTP) inspect(ctx context.Context, spec Spec, o *origin) (Availability, error) {
	t := newTransfer(s.settings, o, Request{Spec: spec}, Redact(o.url))
	t.patience = min(t.patience, longestWait)
	first, err := t.ask(ctx)
	if err == nil {
		first.close()
		err = t.foresee()
	}
	if err != nil {
		return Availability{}, o.masked(fmt.Errorf("ask %s: %w", t.address, err))
	}
	a := Availability{Bytes: max(t.version.total, 0), Files: 1}
	if !t.parallel() {
		a.Note = "cannot be continued where it is cut off"
	}
	return a, nil
}
