package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
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
	if o.Allow == nil {
		o.Allow = &Policy{}
	}
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
	for _, d := range []struct {
		field     *time.Duration
		otherwise time.Duration
	}{{&o.DialTimeout, 10 * time.Second}, {&o.HelloTimeout, 10 * time.Second}, {&o.Idle, 15 * time.Minute}, {&o.Total, 24 * time.Hour}} {
		*d.field = cmp.Or(*d.field, d.otherwise)
	}
	o.Connections = cmp.Or(o.Connections, 256)
	return &Proxy{opts: o}
}

// Serve serves on l until ctx ends, and returns when every connection has been closed
// and recorded.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	return service.Serve(ctx, l, p, service.Limits{
		Connections: p.opts.Connections, Header: p.opts.HelloTimeout, HeaderBytes: 32 << 10, Idle: time.Minute,
	})
}

// Service is the proxy for a guest with its own network, with the variables that name it.
func (p *Proxy) Service() (executor.Service, map[string]string) {
	return executor.Service{Name: "network proxy", Port: Port, Serve: p.Serve}, Named(fmt.Sprintf("http://127.0.0.1:%d", Port))
}

// Named returns the variables in which programs look for a proxy, for one at an address.
func Named(address string) map[string]string {
	vars := map[string]string{}
	for _, name := range Variables {
		vars[name] = address
	}
	return vars
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
