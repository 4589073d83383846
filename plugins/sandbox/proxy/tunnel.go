package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// connect serves CONNECT.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, c *Conn) error {
	one, err := p.target(r, c)
	if err != nil {
		deny(w, err)
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.opts.Total)
	defer cancel()
	server, err := p.open(ctx, one, c.Host)
	if err != nil {
		deny(w, err)
		return err
	}
	defer server.Close()
	c.Address = server.RemoteAddr().String()
	client, err := take(w)
	if err != nil {
		return err
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	// Only after this line does the client begin its TLS session.
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	h, err := p.greet(ctx, client, c)
	if err != nil {
		return err
	}
	if _, err := server.Write(h.raw); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	c.Up = int64(len(h.raw))
	up, down := p.join(client, server)
	c.Up, c.Down = c.Up+up, down
	return nil
}

// target parses the target of a CONNECT and finds it on the list.
func (p *Proxy) target(r *http.Request, c *Conn) (place, error) {
	host, port, err := splitHostPort(r.RequestURI)
	if err != nil {
		return place{}, refused{"CONNECT needs \"host:port\""}
	}
	c.Host, c.Port = host, port
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		return place{}, refused{"a CONNECT has no body"}
	}
	if _, err := netip.ParseAddr(host); err != nil {
		if c.Host, err = canonical(host); err != nil {
			return place{}, refused{"CONNECT: " + err.Error()}
		}
	}
	return p.find(c.Host, port)
}

// take takes over the connection of a request from the HTTP server.
func take(w http.ResponseWriter) (net.Conn, error) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return nil, errors.New("the connection cannot be taken over")
	}
	conn, rw, err := hijacker.Hijack()
	if err != nil {
		return nil, fmt.Errorf("take connection over: %w", err)
	}
	return &early{Conn: conn, rest: rw.Reader}, nil
}

// early is a connection whose first bytes are already in a reader.
type early struct {
	net.Conn
	rest *bufio.Reader
}

// Read implements net.Conn.
func (e *early) Read(p []byte) (int, error) {
	if n := e.rest.Buffered(); n > 0 {
		return e.rest.Read(p[:min(n, len(p))])
	}
	return e.Conn.Read(p)
}

// CloseWrite closes the sending half.
func (e *early) CloseWrite() error { return service.CloseWrite(e.Conn) }

// greet reads the beginning of the client's TLS session and judges it.
func (p *Proxy) greet(ctx context.Context, client net.Conn, c *Conn) (hello, error) {
	_ = client.SetDeadline(time.Now().Add(p.opts.HelloTimeout))
	h, err := readHello(ctx, client)
	_ = client.SetDeadline(time.Time{})
	if err != nil {
		return h, refused{errHello.Error()}
	}
	c.SNI = h.name
	_, err = netip.ParseAddr(c.Host)
	if why := h.refuse(c.Host, err == nil); why != "" {
		return h, refused{why}
	}
	return h, nil
}

// join copies bytes in both directions until both sides have ended or nothing has moved
// for the idle time. It returns the number of bytes in each direction.
func (p *Proxy) join(client, server net.Conn) (up, down int64) {
	var moved atomic.Int64
	moved.Store(time.Now().UnixNano())
	sent := make(chan int64)
	go func() {
		sent <- p.pass(server, client, &moved)
	}()
	down = p.pass(client, server, &moved)
	return <-sent, down
}

// pass copies src to dst and then closes dst for writing. It waits for src as long as
// bytes move in the other direction.
func (p *Proxy) pass(dst, src net.Conn, moved *atomic.Int64) (n int64) {
	buf := make([]byte, 32<<10)
	for {
		_ = src.SetReadDeadline(time.Unix(0, moved.Load()).Add(p.opts.Idle))
		got, err := src.Read(buf)
		if got > 0 {
			moved.Store(time.Now().UnixNano())
			_ = dst.SetWriteDeadline(time.Now().Add(p.opts.Idle))
			put, bad := dst.Write(buf[:got])
			n += int64(put)
			if bad != nil {
				break
			}
		}
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && time.Since(time.Unix(0, moved.Load())) < p.opts.Idle {
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = src.Close()
				_ = dst.Close()
				return n
			}
			break
		}
	}
	if service.CloseWrite(dst) != nil {
		_ = dst.Close()
	}
	return n
}

// helloBytes limits the bytes that a client may send before its ClientHello is
// complete.
const helloBytes = 32 << 10

// encryptedHello is the number of the extension encrypted_client_hello.
const encryptedHello = 0xfe0d

// hello is the beginning of a TLS session.
type hello struct {
	// raw has the bytes read: the ClientHello and nothing that the client can only send
	// later.
	raw []byte
	// name is the server name, or "".
	name      string
	encrypted bool
}

var errHello = errors.New("what follows is not the beginning of a TLS session")

// readHello reads a ClientHello. The parser is crypto/tls, which rejects anything that
// servers might interpret differently, such as a repeated extension.
func readHello(ctx context.Context, c net.Conn) (hello, error) {
	rec := &recorder{Conn: c}
	var h hello
	seen := false
	server := tls.Server(rec, &tls.Config{
		MinVersion: tls.VersionTLS10, //nolint:gosec // only the beginning is read
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			h.name, seen = info.ServerName, true
			h.encrypted = slices.Contains(info.Extensions, encryptedHello)
			return nil, errHello // stop here
		},
	})
	err := server.HandshakeContext(ctx)
	h.raw = rec.raw.Bytes()
	if !seen {
		return h, fmt.Errorf("%w: %w", errHello, err)
	}
	return h, nil
}

// recorder is a connection that records the bytes read and discards those written.
type recorder struct {
	net.Conn
	raw bytes.Buffer
}

// Read implements net.Conn.
func (r *recorder) Read(p []byte) (int, error) {
	if r.raw.Len() >= helloBytes {
		return 0, fmt.Errorf("more than %d bytes", helloBytes)
	}
	n, err := r.Conn.Read(p[:min(len(p), helloBytes-r.raw.Len())])
	r.raw.Write(p[:n])
	return n, err
}

// Write implements net.Conn. It discards the alert that ends the handshake.
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// Close implements net.Conn. It does nothing, because the connection is still needed.
func (r *recorder) Close() error { return nil }

// SetDeadline implements net.Conn. It does nothing, because the caller sets deadlines.
func (r *recorder) SetDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

var _ io.Reader = (*recorder)(nil)

// refuse returns the objection to a hello for a place that was requested as host, or
// "".
func (h hello) refuse(host string, isAddr bool) string {
	name := strings.ToLower(strings.TrimSuffix(h.name, "."))
	switch {
	case h.encrypted:
		return "the server name is encrypted"
	case isAddr && name == "", name == host:
		return ""
	case name == "":
		return "the TLS session names no server"
	}
	return "the TLS session is for another server"
}
