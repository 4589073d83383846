package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// web is how a source reaches servers. The URL that a person names may be
// anywhere. Redirects from it may only lead to the public internet, unless the
// URL itself is in a private network. Otherwise a server could make this
// machine query its own services, or those of its network, and treat the
// answers as data (SSRF).
//
// What counts is the IP address of the connection, after name resolution, so
// that a name that changes its address gains nothing. For the same reason the
// two clients share no connections.
type web struct {
	open, guarded *http.Client
	proxy         func(*http.Request) (*url.URL, error)
	// internal reports whether an address is not on the public internet.
	internal func(netip.Addr) bool
}

// newWeb returns the two clients for one. Nil means a client with sensible
// limits on every phase except the length of the body.
func newWeb(client *http.Client) *web {
	if client == nil {
		client = &http.Client{Transport: newTransport()}
	}
	w := &web{open: stepwise(client.Transport), internal: internal}
	t, ok := client.Transport.(*http.Transport)
	if !ok {
		t = newTransport()
	}
	t = t.Clone()
	t.DialContext = (&net.Dialer{Timeout: dialTimeout, ControlContext: w.control}).DialContext
	t.DialTLSContext = nil
	w.guarded, w.proxy = stepwise(t), t.Proxy
	return w
}

const dialTimeout = 30 * time.Second

// newTransport speaks HTTP/1.1, where several requests at once use several
// connections.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    20 * time.Second,
		ResponseHeaderTimeout:  time.Minute,
		IdleConnTimeout:        time.Minute,
		MaxIdleConnsPerHost:    64,
		DisableCompression:     true,
		OnProxyConnectResponse: refusedByProxy,
	}
}

// stepwise is a client that leaves redirects to the caller, who knows which
// host a credential is for, and keeps no cookies.
func stepwise(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// proxied is the key of a context whose connection goes to a proxy chosen by
// the user. Where the proxy connects to cannot be seen here.
type proxied struct{}

// control refuses a connection to an internal address.
func (w *web) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	if ctx.Value(proxied{}) != nil {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || w.internal(at.Addr()) {
		return &internalError{address: address}
	}
	return nil
}

// internalError is a redirect that is not followed.
type internalError struct{ address string }

// Error implements error.
func (e *internalError) Error() string {
	return fmt.Sprintf("the URL, or a redirect of its server, leads to %s, an address of this machine or of a private network; if the data are there, use that URL directly", e.address)
}

// where reports where a server is.
type where int

const (
	unknown where = iota
	public
	private
)

// do sends a request, to anywhere or only to the public internet, and reports
// where it went.
func (w *web) do(req *http.Request, anywhere bool) (*http.Response, where, error) {
	at := unknown
	if proxy, err := w.throughProxy(req); err == nil && proxy {
		// The proxy resolves names, so only an IP address can be judged here.
		at = w.named(req.URL.Hostname())
		if at == private && !anywhere {
			return nil, at, &internalError{address: req.URL.Host}
		}
		req = req.WithContext(context.WithValue(req.Context(), proxied{}, true))
	} else {
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if a, err := netip.ParseAddrPort(c.Conn.RemoteAddr().String()); err == nil {
				at = w.placeOf(a.Addr())
			}
		}}))
	}
	client := w.guarded
	if anywhere {
		client = w.open
	}
	resp, err := client.Do(req) //nolint:bodyclose // the caller closes it
	return resp, at, err
}

func (w *web) throughProxy(req *http.Request) (bool, error) {
	if w.proxy == nil {
		return false, nil
	}
	u, err := w.proxy(req)
	return u != nil, err
}

// named judges a host by its name alone.
func (w *web) named(host string) where {
	if a, err := netip.ParseAddr(host); err == nil {
		return w.placeOf(a)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return private
	}
	return public
}

func (w *web) placeOf(a netip.Addr) where {
	if w.internal(a) {
		return private
	}
	return public
}

// reserved are the networks that are not on the public internet, in addition to
// those that package netip knows (IANA's registries of special-purpose
// addresses).
var reserved = lists.Of([]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "100::/64", "fec0::/10",
}, netip.MustParsePrefix)

// internal reports whether an address belongs to this machine, its link or a
// private network, or cannot be classified.
func internal(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return !a.IsGlobalUnicast() || a.IsPrivate() || slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// errProxy is the refusal of a proxy.
var errProxy = errors.New("the proxy refuses")

// refusedByProxy prevents a refusal by the proxy from being treated as
// temporary.
func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return fmt.Errorf("%w: %s", errProxy, statusText(resp.StatusCode))
	}
	return nil
}
