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
	"strings"
	"syscall"
	"time"
)

// web is how a source reaches servers: the address that a person named wherever
// it is, and what that leads to only on the public internet, unless the address
// is in a private network itself. Else a server could have this machine ask its
// own services, or those of its network, and take the answers for data.
//
// What counts is the address that a connection is made to, after names were
// resolved, so that a name that changes its address helps nobody. The two
// clients share no connections for the same reason.
type web struct {
	open, guarded *http.Client
	proxy         func(*http.Request) (*url.URL, error)
	// internal reports whether an address is not on the public internet.
	internal func(netip.Addr) bool
}

// newWeb returns the two clients of one; nil is one with sensible limits on
// every phase but the body's length.
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

// newTransport speaks HTTP/1.1, for which several requests are several
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

// proxied is the key of a context whose connection is to a proxy, which the
// person chose; where that goes is not seen here.
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
	return fmt.Sprintf("follow redirect: the server leads to %s, an address of this machine or of a private network; if the data are there, give that address itself", e.address)
}

// where says where a server is.
type where int

const (
	unknown where = iota
	public
	private
)

// do sends a request, to wherever it leads or to the public internet only, and
// says where it went.
func (w *web) do(req *http.Request, anywhere bool) (*http.Response, where, error) {
	at := unknown
	if proxy, err := w.throughProxy(req); err == nil && proxy {
		// The proxy resolves names; only a plain address can be judged here.
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

// reserved are the networks that are not on the public internet, besides those
// that package netip knows (IANA's registries of special-purpose addresses).
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "100::/64", "fec0::/10",
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// internal reports whether an address is of this machine, of its link, of a
// private network, or of none that can be told.
func internal(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return true
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// errProxy is the answer of a proxy that will not do it.
var errProxy = errors.New("the proxy refuses")

// refusedByProxy keeps a refusal of the proxy from being taken for a failure
// that passes.
func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return fmt.Errorf("%w: %s", errProxy, statusText(resp.StatusCode))
	}
	return nil
}
