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

// helloBytes bounds what a client may send before its ClientHello is complete.
const helloBytes = 32 << 10

// encryptedHello is the number of the extension encrypted_client_hello.
const encryptedHello = 0xfe0d

// hello is the beginning of a TLS session.
type hello struct {
	// raw is what was read: the ClientHello and nothing that the client could
	// only send later.
	raw []byte
	// name is the server name, empty if there is none.
	name      string
	encrypted bool
}

var errHello = errors.New("what follows is not the beginning of a TLS session")

// readHello reads a ClientHello. The parser is that of crypto/tls, which
// refuses what servers might read in several ways, such as an extension that
// comes twice.
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

// recorder is a connection that is read and recorded, and never written.
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

// Write implements net.Conn: the alert that ends the handshake goes nowhere.
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }

// Close implements net.Conn: the connection is needed further.
func (r *recorder) Close() error { return nil }

// SetDeadline implements net.Conn: deadlines are the caller's.
func (r *recorder) SetDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

var _ io.Reader = (*recorder)(nil)

// refuse says what speaks against a hello for a place that was asked for as
// host; empty if nothing does.
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
