package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// Port is the port of a proxy on the guest's loopback interface.
const Port = 3128

// Variables are the environment variables in which programs look for a proxy.
var Variables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}

// Options configure a Proxy. Zero fields have defaults.
type Options struct {
	Allow *Policy
	// Record is called for every connection and plain request when it has ended.
	Record func(Conn)
	// Lookup and Dial access the network; Own returns this machine's addresses.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Own    func() []netip.Addr
	// DialTimeout limits the time for one name or address, HelloTimeout the beginning
	// of a TLS session, Idle the time without traffic on a connection, and Total the
	// duration of a connection.
	DialTimeout, HelloTimeout, Idle, Total time.Duration
	// Connections limits the number of simultaneous connections.
	Connections int
}

// Conn is one connection, or one plain request.
type Conn struct {
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	Method  string    `json:"method"`
	Host    string    `json:"host"`
	Port    uint16    `json:"port"`
	// SNI is the server name in the client's TLS session.
	SNI string `json:"sni,omitempty"`
	// Address is the dialled address.
	Address string `json:"address,omitempty"`
	// Verdict is allowed, refused or failed; Reason is the reason for it.
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	// Status is the status of the reply to a plain request.
	Status int `json:"status,omitempty"`
	// Up and Down are the bytes sent to the place and received from it.
	Up   int64 `json:"bytes_up"`
	Down int64 `json:"bytes_down"`
}

// The verdicts on a connection.
const (
	Allowed = "allowed"
	Refused = "refused"
	failed  = "failed"
)

// Proxy is a forward proxy for one agent.
type Proxy struct{ opts Options }

// New returns a proxy.
func New(o Options) *Proxy {
	o.Allow = cmp.Or(o.Allow, &Policy{})
	if o.Record == nil {
		o.Record = func(Conn) {}
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupNetIP
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Own == nil {
		o.Own = ownAddresses
	}
	o.DialTimeout = cmp.Or(o.DialTimeout, 10*time.Second)
	o.HelloTimeout = cmp.Or(o.HelloTimeout, 10*time.Second)
	o.Idle = cmp.Or(o.Idle, 15*time.Minute)
	o.Total = cmp.Or(o.Total, 24*time.Hour)
	o.Connections = cmp.Or(o.Connections, 256)
	return &Proxy{opts: o}
}

// Serve serves on l until ctx ends, and returns when every connection has been closed
// and recorded.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	return service.Serve(ctx, l, p, service.Limits{
		Connections: p.opts.Connections, Header: p.opts.HelloTimeout, HeaderBytes: 32 << 10, Body: 2 * time.Minute, Idle: time.Minute,
	})
}

// Service is the proxy for a guest, with the variables in which programs look for it.
func (p *Proxy) Service() executor.Service {
	vars := map[string]string{}
	for _, name := range Variables {
		vars[name] = executor.Address
	}
	return executor.Service{Name: "network proxy", Port: Port, Env: vars, Serve: p.Serve}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &Conn{Time: time.Now().UTC(), Method: r.Method}
	var err error
	if r.Method == http.MethodConnect {
		err = p.connect(w, r, c)
	} else {
		err = p.plain(w, r, c)
	}
	c.Seconds = time.Since(c.Time).Seconds()
	var no refused
	switch {
	case errors.As(err, &no):
		c.Verdict, c.Reason = Refused, no.text
	case err != nil:
		c.Verdict, c.Reason = failed, err.Error()
	default:
		c.Verdict = Allowed
	}
	p.opts.Record(*c)
}

// deny replies to a refused or failed request. The client learns what was refused, but
// nothing about the network behind the proxy.
func deny(w http.ResponseWriter, err error) {
	if no, ok := errors.AsType[refused](err); ok {
		http.Error(w, "mleflow: refused: "+no.text, http.StatusForbidden)
		return
	}
	http.Error(w, "mleflow: the place cannot be reached", http.StatusBadGateway)
}

// find returns the place that allows the request.
func (p *Proxy) find(host string, port uint16) (place, error) {
	one, ok := p.opts.Allow.find(host, port)
	if !ok {
		return place{}, refused{net.JoinHostPort(host, strconv.Itoa(int(port))) + " is not on the list network.allow"}
	}
	return one, nil
}

// methods are the methods of plain requests that are passed on.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// plain serves a request in absolute form.
func (p *Proxy) plain(w http.ResponseWriter, r *http.Request, c *Conn) error {
	one, err := p.asked(r, c)
	if err != nil {
		deny(w, err)
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.opts.Total)
	defer cancel()
	upstream := &upstream{proxy: p, place: one, host: c.Host}
	out := outgoing(ctx, r, c, one.port)
	transport := &http.Transport{
		DialContext: upstream.dial, DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: 256 << 10, ResponseHeaderTimeout: p.opts.Idle,
	}
	resp, err := transport.RoundTrip(out)
	if err != nil {
		c.Address, c.Up, c.Down = upstream.counts()
		deny(w, err)
		return err
	}
	defer resp.Body.Close()
	c.Status = resp.StatusCode
	service.DropHop(resp.Header)
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	err = flow(w, resp.Body)
	c.Address, c.Up, c.Down = upstream.counts()
	return err
}

// asked parses the target of a plain request and finds it on the list.
func (p *Proxy) asked(r *http.Request, c *Conn) (place, error) {
	u := r.URL
	c.Host = u.Hostname()
	switch {
	case !u.IsAbs() || u.Host == "":
		return place{}, refused{"this is a proxy: write the whole address, http://host:port/path"}
	case u.Scheme != "http":
		return place{}, refused{"of plain requests only those to http:// are passed on; use CONNECT"}
	case u.User != nil || u.Opaque != "":
		return place{}, refused{"the URL must not contain a user"}
	case !slices.Contains(methods, r.Method):
		return place{}, refused{"this method is not passed on"}
	case r.Header.Get("Upgrade") != "":
		return place{}, refused{"connections are not upgraded"}
	}
	var err error
	if _, c.Port, err = splitHostPort(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))); err != nil {
		return place{}, refused{"the port is not a number from 1 to 65535"}
	}
	if _, err := netip.ParseAddr(c.Host); err != nil {
		if c.Host, err = canonical(c.Host); err != nil {
			return place{}, refused{err.Error()}
		}
	}
	return p.find(c.Host, c.Port)
}

// outgoing rewrites a request from its parsed form.
func outgoing(ctx context.Context, r *http.Request, c *Conn, port uint16) *http.Request {
	host := net.JoinHostPort(c.Host, strconv.Itoa(int(port)))
	if port == 80 {
		host = strings.TrimSuffix(host, ":80")
	}
	out := (&http.Request{
		Method: r.Method,
		URL:    &url.URL{Scheme: "http", Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.Header.Clone(), Host: host, ContentLength: r.ContentLength,
	}).WithContext(ctx)
	if r.ContentLength != 0 {
		out.Body = r.Body
	}
	service.DropHop(out.Header)
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // do not add one either
	}
	return out
}

// flow copies a reply as it arrives, so that event streams are not delayed.
func flow(w http.ResponseWriter, body io.Reader) error {
	control := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, bad := w.Write(buf[:n]); bad != nil {
				return fmt.Errorf("reply: %w", bad)
			}
			_ = control.Flush()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
	}
}

// upstream is the connection of one plain request; it counts the bytes.
type upstream struct {
	proxy *Proxy
	place place
	host  string
	conn  atomic.Pointer[counted]
}

// dial opens the place, whatever address it is given.
func (u *upstream) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := u.proxy.open(ctx, u.place, u.host)
	if err != nil {
		return nil, err
	}
	out := &counted{Conn: c, idle: u.proxy.opts.Idle}
	u.conn.Store(out)
	return out, nil
}

func (u *upstream) counts() (addr string, up, down int64) {
	c := u.conn.Load()
	if c == nil {
		return "", 0, 0
	}
	return c.RemoteAddr().String(), c.up.Load(), c.down.Load()
}

type counted struct {
	net.Conn
	idle     time.Duration
	up, down atomic.Int64
}

// Read implements net.Conn.
func (c *counted) Read(p []byte) (int, error) {
	_ = c.Conn.SetReadDeadline(time.Now().Add(c.idle))
	n, err := c.Conn.Read(p)
	c.down.Add(int64(n))
	return n, err
}

// Write implements net.Conn. It counts first: a reply may arrive, and end the connection,
// before Write has returned.
func (c *counted) Write(p []byte) (int, error) {
	_ = c.Conn.SetWriteDeadline(time.Now().Add(c.idle))
	c.up.Add(int64(len(p)))
	n, err := c.Conn.Write(p)
	c.up.Add(int64(n - len(p)))
	return n, err
}
