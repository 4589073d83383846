package proxy

import (
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

	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

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
	port := uint16(80)
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return place{}, refused{"the port is not a number from 1 to 65535"}
		}
		port = uint16(n)
	}
	c.Port = port
	if _, err := netip.ParseAddr(c.Host); err != nil {
		name, err := canonical(c.Host)
		if err != nil {
			return place{}, refused{err.Error()}
		}
		c.Host = name
	}
	return p.find(c.Host, port)
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
