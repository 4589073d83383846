package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// origin is the URL that a person or an API names. It may redirect to another
// one, which is signed and expires. While that is valid, requests go there
// directly; when it is refused, the origin is asked again.
type origin struct {
	web *web
	url string
	// authorize, if set, adds a credential to requests to the origin's own host,
	// and to no other.
	authorize func(*http.Request)
	// form, if set, is the JSON that is posted to the URL itself, and to nothing it
	// redirects to.
	form []byte
	// secrets are the values that authorize adds, or in form. They must never be shown.
	secrets []string
	// tell, if set, finds the message in the body of a refusal by the origin's own
	// host.
	tell func(body []byte) string

	mu sync.Mutex
	// place is the target of the redirect, "" while unknown.
	place string
	// at is where the origin itself is. If it is on the public internet, it may
	// not redirect to anywhere else.
	at where
	// hide masks what the origin receives; see mask.
	hide *secret.Set
}

// get sends one request to the place of the data.
func (o *origin) get(ctx context.Context, header http.Header) (*http.Response, error) {
	o.mu.Lock()
	place := o.place
	o.mu.Unlock()
	if place == "" {
		return o.follow(ctx, header)
	}
	resp, err := o.send(ctx, place, header)
	if err != nil {
		o.forget(place)
		return nil, err
	}
	if resp.StatusCode >= 500 {
		o.forget(place)
	}
	if !expired(resp.StatusCode) {
		return resp, nil
	}
	discard(resp)
	o.forget(place)
	return o.follow(ctx, header)
}

// expired reports whether a status may mean that a signature has expired;
// storages use several.
func expired(code int) bool {
	return slices.Contains([]int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone,
	}, code)
}

func (o *origin) forget(place string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.place == place {
		o.place = ""
	}
}

// mostRedirects is the limit on consecutive redirects.
const mostRedirects = 10

// follow asks the origin and follows its redirects.
func (o *origin) follow(ctx context.Context, header http.Header) (*http.Response, error) {
	at := o.url
	for range mostRedirects {
		resp, err := o.send(ctx, at, header)
		if err != nil {
			return nil, err
		}
		if !redirects(resp) {
			if at != o.url && resp.StatusCode < 400 {
				o.mu.Lock()
				o.place = at
				o.mu.Unlock()
			}
			return resp, nil
		}
		next, err := resp.Location()
		discard(resp)
		if err != nil {
			return nil, fmt.Errorf("follow redirect: %w", redactError(err))
		}
		if next.Scheme != "https" && (next.Scheme != "http" || resp.Request.URL.Scheme == "https") {
			return nil, fmt.Errorf("follow redirect: from %s to %s is not safe", resp.Request.URL.Scheme, next.Scheme)
		}
		at = next.String()
	}
	return nil, errors.New("follow redirect: too many redirects")
}

func redirects(resp *http.Response) bool {
	return resp.Header.Get("Location") != "" && slices.Contains([]int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	}, resp.StatusCode)
}

// discard reads a short answer, so that its connection can be used again.
func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// send sends one request to an address.
func (o *origin) send(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	method, body := http.MethodGet, io.Reader(nil)
	posts := o.form != nil && address == o.url
	if posts {
		method, body = http.MethodPost, bytes.NewReader(o.form)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, redactError(err)
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if posts {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "mleflow")
	if o.authorize != nil && sameHost(address, o.url) {
		o.authorize(req)
	}
	resp, err := o.reach(req, address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, faultOf(err)
	}
	return resp, nil
}

// reach sends a request. Until it is known where the origin is, the request may
// go anywhere, and from then on only to the same kind of place.
func (o *origin) reach(req *http.Request, address string) (*http.Response, error) {
	o.mu.Lock()
	at := o.at
	o.mu.Unlock()
	first := at == unknown && address == o.url
	resp, went, err := o.web.do(req, first || at == private)
	if first && err == nil {
		if went == unknown {
			went = public
		}
		o.mu.Lock()
		o.at = went
		o.mu.Unlock()
	}
	return resp, err
}

// sameHost reports whether two URLs have the same scheme, host and port.
func sameHost(a, b string) bool {
	u, err := url.Parse(a)
	v, err2 := url.Parse(b)
	return err == nil && err2 == nil && u.Scheme == v.Scheme && u.Host == v.Host
}
