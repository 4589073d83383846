package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

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
