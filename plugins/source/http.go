package source

import (
	"context"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// HTTP fetches a file from the web. A fetch that was cut off goes on by Range
// and If-Range where the server names the file's version by a strong ETag, or
// where a pin will tell. Without either it starts again.
type HTTP struct {
	client *http.Client
	// tries is how often in a row a request may fail without a new byte;
	// wait is the pause after the first failure, doubled after each.
	tries int
	wait  time.Duration
	// stall is how long a body may give nothing.
	stall time.Duration
	// authorize, when set, adds a credential to a request. The client leaves
	// it out where it is redirected to another host.
	authorize func(*http.Request)
}

// longestWait is the longest pause within a fetch; a server that asks for more
// makes the fetch fail for now, so that nothing is held meanwhile.
const longestWait = 20 * time.Second

// NewHTTP returns the source. A nil client is one with sensible limits on
// every phase but the body's length.
func NewHTTP(client *http.Client) *HTTP {
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   20 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
			DisableCompression:    true,
		}}
	}
	return &HTTP{client: client, tries: 5, wait: time.Second, stall: time.Minute}
}

// Check implements Source.
func (*HTTP) Check(spec Spec) error {
	u, err := url.Parse(spec.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("an http source needs a url that starts with http:// or https://, not %q", Redact(spec.URL))
	}
	return nil
}

// Fingerprint implements Source. Without a pin the address stands for the
// content: what is there is taken not to change. Its parameters are hashed by
// themselves, so that their values are not kept.
func (*HTTP) Fingerprint(spec Spec, h *digest.Hasher) error {
	if fingerprintPins(spec, h) {
		return nil
	}
	h.String("source URL", Redact(spec.URL))
	// What a parameter says may decide what is fetched.
	if u, err := url.Parse(spec.URL); err == nil && u.RawQuery != "" {
		h.Content("source URL parameters", digest.Of([]byte(u.RawQuery)))
	}
	return nil
}

// Fetch implements Source.
func (s *HTTP) Fetch(ctx context.Context, req Request) (Data, error) {
	f := &httpFetch{HTTP: s, req: req, address: Redact(req.Spec.URL)}
	data, err := f.run(ctx)
	if err != nil {
		return Data{}, fmt.Errorf("fetch %s: %w", f.address, err)
	}
	return data, nil
}

// httpFetch is one fetch.
type httpFetch struct {
	*HTTP
	req     Request
	address string
	// version names what is being fetched, once the server has said it.
	version version
}

// version is what tells one content of an address from another.
type version struct {
	etag  string // strong, or empty
	total int64  // -1 when unknown
	name  string
}

// strong says that the server promises byte equality for the version.
func (v version) strong() bool { return v.etag != "" }

func (f *httpFetch) run(ctx context.Context) (Data, error) {
	data, resumed, err := f.once(ctx)
	if errors.Is(err, ErrMismatch) && resumed && !f.version.strong() {
		f.req.logf("the pieces of %s do not fit together, perhaps of two versions; fetching it whole", f.address)
		data, _, err = f.once(ctx)
	}
	return data, err
}

// once fetches what is missing and verifies the whole. resumed says that some
// of it was there before; a whole that is wrong leaves nothing to go on with.
func (f *httpFetch) once(ctx context.Context) (data Data, resumed bool, err error) {
	in, body, err := f.open(ctx)
	if err != nil {
		return Data{}, false, err
	}
	defer in.Close()
	resumed = in.Offset() > 0
	if err := f.fill(ctx, in, body); err != nil {
		return Data{}, resumed, err
	}
	ref, err := in.Commit(ctx, cache.Ref{})
	if err != nil {
		return Data{}, resumed, err
	}
	data = Data{Name: f.version.name, Ref: ref}
	if data.MD5, err = md5Of(ctx, f.req.Store, ref); err != nil {
		return Data{}, resumed, err
	}
	return data, resumed, verify(f.req.Spec, "it", data)
}

// open asks the server what there is and opens the ingest of that version. It
// returns the body of the answer where the ingest is empty.
func (f *httpFetch) open(ctx context.Context) (cache.Ingest, io.ReadCloser, error) {
	var body io.ReadCloser
	err := f.retry(ctx, func(progress *bool) error {
		resp, err := f.get(ctx, 0)
		if err != nil {
			return err
		}
		f.version = versionOf(resp)
		body = resp.Body
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	in, err := f.req.Store.Ingest(ctx, f.key())
	if err != nil {
		body.Close()
		return nil, nil, err
	}
	if in.Offset() > 0 {
		body.Close()
		body = nil
		f.req.logf("going on with %s at byte %d", f.address, in.Offset())
	}
	return in, body, nil
}

// key names the unfinished file for later attempts; "" means that it cannot
// be continued.
func (f *httpFetch) key() string {
	h := digest.NewHasher("http source", "1")
	h.String("url", f.req.Spec.URL)
	switch {
	case f.version.strong():
		h.String("etag", f.version.etag)
	case f.req.Spec.pinned():
		h.String("pins", f.req.Spec.SHA256+" "+f.req.Spec.MD5)
	default:
		return ""
	}
	return "http-" + h.Sum().String()
}

// fill writes what is missing, in as many requests as it takes. body, when
// not nil, is an answer from the first byte on.
func (f *httpFetch) fill(ctx context.Context, in cache.Ingest, body io.ReadCloser) error {
	return f.retry(ctx, func(progress *bool) error {
		if f.version.total >= 0 && in.Offset() == f.version.total {
			if body != nil {
				body.Close()
			}
			return nil
		}
		if body == nil {
			var err error
			if body, err = f.resume(ctx, in); err != nil || body == nil {
				return err
			}
		}
		start := in.Offset()
		err := f.copy(ctx, in, body)
		body.Close()
		body = nil
		*progress = in.Offset() > start
		if err == nil && f.version.total >= 0 && in.Offset() != f.version.total {
			err = &TemporaryError{Err: fmt.Errorf("got %d bytes of %d", in.Offset(), f.version.total)}
		}
		if err != nil && f.key() == "" {
			return errors.Join(err, in.Reset())
		}
		return err
	})
}

// resume asks for the rest. A nil body means that there is none.
func (f *httpFetch) resume(ctx context.Context, in cache.Ingest) (io.ReadCloser, error) {
	resp, err := f.get(ctx, in.Offset())
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		resp.Body.Close()
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", in.Offset()) {
			return nil, nil
		}
		return nil, restart(in, "the server has fewer bytes than were fetched")
	}
	if resp.StatusCode != http.StatusPartialContent {
		// The whole file, because it changed or because the server cannot
		// do otherwise.
		f.version = versionOf(resp)
		if err := in.Reset(); err != nil {
			resp.Body.Close()
			return nil, err
		}
		return resp.Body, nil
	}
	first, total, ok := contentRange(resp.Header.Get("Content-Range"))
	if !ok || first != in.Offset() || f.version.total >= 0 && total >= 0 && total != f.version.total {
		resp.Body.Close()
		return nil, restart(in, "the server gave another part than asked for")
	}
	if f.version.total < 0 {
		f.version.total = total
	}
	return resp.Body, nil
}

// restart drops what was fetched and asks for another try.
func restart(in cache.Ingest, why string) error {
	if err := in.Reset(); err != nil {
		return err
	}
	return &TemporaryError{Err: errors.New(why)}
}

func contentRange(s string) (first, total int64, ok bool) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	if !ok {
		return 0, 0, false
	}
	span, whole, ok := strings.Cut(rest, "/")
	start, _, ok2 := strings.Cut(span, "-")
	first, err := strconv.ParseInt(start, 10, 64)
	if !ok || !ok2 || err != nil {
		return 0, 0, false
	}
	if whole == "*" {
		return first, -1, true
	}
	total, err = strconv.ParseInt(whole, 10, 64)
	return first, total, err == nil
}

// copy writes the body to the ingest. A body that gives nothing for too long
// is cut off.
func (f *httpFetch) copy(ctx context.Context, in cache.Ingest, body io.ReadCloser) error {
	watchdog := time.AfterFunc(f.stall, func() { body.Close() })
	defer watchdog.Stop()
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			watchdog.Reset(f.stall)
			if _, err := in.Write(buf[:n]); err != nil {
				return err
			}
			f.req.progress(in.Offset(), max(f.version.total, 0))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !watchdog.Stop():
			return &TemporaryError{Err: fmt.Errorf("no data for %v", f.stall)}
		case err != nil:
			return &TemporaryError{Err: err}
		}
	}
}

// md5Of reads a stored blob once more: parts of it may have been fetched by a
// process that is gone.
func md5Of(ctx context.Context, store cache.Store, ref cache.Ref) (string, error) {
	r, err := store.Open(ctx, ref.ID)
	if err != nil {
		return "", err
	}
	defer r.Close()
	sum := md5.New() //nolint:gosec // published pins are MD5
	if _, err := cache.Copy(ctx, sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// retry calls try until it succeeds, fails for good, or fails too often in a
// row without progress.
func (f *httpFetch) retry(ctx context.Context, try func(progress *bool) error) error {
	failures, wait := 0, f.wait
	for {
		progress := false
		err := try(&progress)
		var temporary *TemporaryError
		if err == nil || !errors.As(err, &temporary) {
			return err
		}
		if progress {
			failures, wait = 0, f.wait
		}
		failures++
		pause := max(wait, temporary.After)
		if failures >= f.tries || pause > longestWait {
			return err
		}
		f.req.logf("%v; trying again in %v", err, pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait *= 2
	}
}
