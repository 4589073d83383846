package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/retry"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// provider reaches the model's provider on the network.
type provider struct {
	base   *url.URL
	prefix string // path of the dialect's own endpoint, replaced by base's path
	key    string
	secret *secret.Set
	retry  Retry
	send   http.RoundTripper
	// alone reports that the server closes idle connections so early that each
	// request gets its own connection.
	alone atomic.Bool
}

// NewProvider returns the provider of a model, which receives key with each
// request. send performs the requests. If it is nil, NewTransport is used.
func NewProvider(m *Model, d dialect.Dialect, key string, send http.RoundTripper) (Upstream, error) {
	if strings.TrimSpace(key) != key || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return nil, errors.New("the key holds spaces or other characters that no key has")
	}
	own, err := url.Parse(d.BaseURL())
	if err != nil {
		return nil, fmt.Errorf("endpoint of %s: %w", d.Name(), err)
	}
	base := own
	if m.BaseURL != "" {
		if base, err = parseBaseURL(m.BaseURL); err != nil {
			return nil, err
		}
	}
	if send == nil {
		send = NewTransport()
	}
	return &provider{base: base, prefix: strings.TrimRight(own.Path, "/"), key: key, secret: secret.New(key), retry: m.Retry, send: send}, nil
}

// NewTransport returns a transport for providers: HTTP/2 if available, the
// proxy from the environment, no content decoding, no limit on the model's
// thinking time, and idle connections that are closed before the server closes
// them.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 30 * time.Second},
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// Do implements Upstream.
func (p *provider) Do(ctx context.Context, call *Call) (*Reply, error) {
	if err := call.Reserve(); err != nil {
		return nil, err
	}
	var failed []transcript.Attempt
	for n := 1; ; n++ {
		start := time.Now()
		t := p.attempt(ctx, call, &failed)
		if t.err == nil && n < p.retry.Attempts {
			t.look(call)
		}
		if ask := call.Request.Tokens; ask != nil && ask.Refused == 0 && t.err == nil && call.Client.Err() == nil && (t.status == http.StatusBadRequest || t.status == http.StatusUnprocessableEntity) {
			// The server may not know what the client did not ask for.
			ask.Refused, call.Request.Body = t.status, ask.Without
			failed = append(failed, t.failed(p.secret, start))
			n--
			continue
		}
		pause, again := p.again(n, t)
		if call.Client.Err() != nil || !again {
			if call.Client.Err() == nil && (t.err != nil || t.transient()) {
				call.Wait(start)()
			}
			return p.reply(t, failed)
		}
		end := call.Wait(start)
		failed = append(failed, t.failed(p.secret, start))
		err := progress.Sleep(call.Client, pause)
		end()
		if err != nil {
			return nil, &Failure{Err: err, Attempts: failed}
		}
	}
}

// reply returns the result of the last attempt. A redirect is a failure,
// because the pipeline did not declare its target. So is a switch to another
// protocol.
func (p *provider) reply(t *try, failed []transcript.Attempt) (*Reply, error) {
	if t.err != nil {
		return nil, &Failure{Err: p.secret.Error(t.err), Sent: t.sent, Attempts: failed}
	}
	switch resp, code := t.resp, t.resp.StatusCode; {
	case code < http.StatusOK:
		_ = resp.Body.Close()
		return nil, &Failure{Err: fmt.Errorf("answered with status %d, which nobody asked for", code), Sent: true, Attempts: failed}
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		discard(resp.Body)
		place := p.secret.Mask(resp.Header.Get("Location"))
		return nil, &Failure{Err: fmt.Errorf("redirected (%d) to %q, which is not followed; correct base_url", code, place), Attempts: failed}
	}
	return &Reply{Status: t.resp.StatusCode, Header: t.resp.Header, Body: t.resp.Body, Attempts: failed}, nil
}

func (p *provider) request(ctx context.Context, call *Call) (*http.Request, error) {
	header, query := call.Header.Clone(), maps.Clone(call.Request.Query)
	call.Dialect.SetKey(header, query, p.key)
	u := *p.base
	u.Path += strings.TrimPrefix(call.Path, p.prefix)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, call.Method, u.String(), &sent{left: call.Request.Body})
	if err != nil {
		return nil, fmt.Errorf("address of the request: %w", errors.Unwrap(err))
	}
	req.Header, req.Close = header, p.alone.Load()
	// net/http itself repeats requests that it did not begin to write, and
	// those that an HTTP/2 server reports as unprocessed.
	req.GetBody = func() (io.ReadCloser, error) { return &sent{left: call.Request.Body}, nil }
	if req.ContentLength = int64(len(call.Request.Body)); req.ContentLength == 0 {
		req.Body, req.GetBody = nil, nil
	}
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = nil // prevents the default of net/http
	}
	return req, nil
}

// sent is the body of a request. It frees the bytes as soon as they are sent,
// because the response may take hours.
type sent struct {
	mu   sync.Mutex
	left []byte
}

// Read implements io.Reader.
func (s *sent) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(p, s.left)
	if s.left = s.left[n:]; n == 0 && len(p) > 0 {
		s.left = nil
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (s *sent) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = nil
	return nil
}

// discard reads the short rest of an error response, so that its connection can
// be reused.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}

const (
	// firstPause is the pause before the second attempt. Each later one is
	// twice as long, and each is shortened at random by up to a half. A pause
	// that the provider asks for is never shortened.
	firstPause = 500 * time.Millisecond
	// longestPause is the maximum unless the pipeline sets one.
	longestPause = time.Minute
)

// again decides whether to send a request again after n attempts, and after
// which pause. A request that the provider may have received without answering
// is not repeated, because the provider may charge for it.
func (p *provider) again(n int, t *try) (time.Duration, bool) {
	if n >= p.retry.Attempts {
		return 0, false
	}
	longest := p.retry.Longest
	if longest <= 0 {
		longest = longestPause
	}
	if t.err != nil {
		var cert *tls.CertificateVerificationError
		return retry.Pause(n, firstPause, longest), !t.sent && !errors.As(t.err, &cert)
	}
	if !t.transient() {
		return 0, false
	}
	if asked, ok := retry.Asked(t.resp.Header); ok && asked > 0 {
		return asked + rand.N(min(asked/10, time.Second)+1), asked <= longest
	}
	return retry.Pause(n, firstPause, longest), true
}

// transient reports whether a failure may pass by itself. The provider's own
// statement takes precedence.
func (t *try) transient() bool {
	switch t.resp.Header.Get("X-Should-Retry") {
	case "true":
		return t.status >= 400
	case "false":
		return false
	}
	switch t.status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return t.status >= 500
}
