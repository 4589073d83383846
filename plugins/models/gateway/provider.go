package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// provider is the model's provider on the network.
type provider struct {
	base   *url.URL
	prefix string // the path of the dialect's own endpoint, which base's replaces
	key    string
	secret *secret.Set
	retry  Retry
	send   http.RoundTripper
	// alone says that the server keeps connections for so short that each request
	// gets its own.
	alone atomic.Bool
}

// NewProvider returns the provider of a model, which gets key with each
// request. send reaches the network; nil is NewTransport.
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

// NewTransport returns a transport for providers: HTTP/2 where the provider has
// it, the proxy of the environment, no content decoding, no limit of the time
// that a model thinks, and connections that end before the server ends them.
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
		pause, again := p.again(n, t)
		if ctx.Err() != nil || !again {
			if ctx.Err() == nil && (t.err != nil || t.transient()) {
				call.Wait(start)()
			}
			return p.reply(t, failed)
		}
		end := call.Wait(start)
		failed = append(failed, t.failed(p.secret, start))
		err := sleep(ctx, pause)
		end()
		if err != nil {
			return nil, &Failure{Err: err, Attempts: failed}
		}
	}
}

// reply is what remains after the last attempt. A redirect is a failure: where
// it leads to, nobody declared. So is another protocol.
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
	// net/http repeats by itself what it has not begun to write, and what a server
	// of HTTP/2 says that it has not begun to process.
	req.GetBody = func() (io.ReadCloser, error) { return &sent{left: call.Request.Body}, nil }
	if req.ContentLength = int64(len(call.Request.Body)); req.ContentLength == 0 {
		req.Body, req.GetBody = nil, nil
	}
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = nil // none is added either
	}
	return req, nil
}

// sent is the body of a request. It lets the bytes go as soon as they are sent,
// while the response may take hours.
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

// discard reads the little that is left of an error, so that its connection can
// be used again.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}
