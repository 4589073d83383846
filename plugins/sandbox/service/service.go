package service

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Limits limit the resources that a client can use on a server.
type Limits struct {
	// Connections is the maximum number of open connections; more wait.
	Connections int
	// Header limits the time for a request's header, HeaderBytes its size.
	Header      time.Duration
	HeaderBytes int
	// Body limits the time for which a request's body may stall. The body must also arrive at
	// slowest bytes a second, after this time.
	Body time.Duration
	// Idle limits the time that a connection may wait for its next request.
	Idle time.Duration
	// Write limits the time for which a client may read nothing of an answer; 0 is no limit.
	Write time.Duration
	// End is the time that requests in progress have when the context ends, before their
	// connections are closed.
	End time.Duration
	// TLS is for HTTPS; nil is HTTP.
	TLS *tls.Config
}

// hop are the headers that apply to one connection only.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// DropHop removes the headers that apply to one connection only, and the given ones.
func DropHop(h http.Header, others ...string) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			delete(h, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
	for _, name := range slices.Concat(hop, others) {
		delete(h, name)
	}
}

// last is the time for which Serve waits, at its end, for requests in progress.
const last = 5 * time.Second

// Serve serves HTTP on l until ctx ends. It then closes all connections, gives requests
// in progress a few seconds to end, and returns nil. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler, limits Limits) error {
	crew := &crew{handler: h, body: limits.Body, idle: make(chan struct{})}
	defer crew.end()
	server := &http.Server{
		Handler:           crew,
		ReadHeaderTimeout: limits.Header,
		IdleTimeout:       limits.Idle,
		MaxHeaderBytes:    limits.HeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// HTTP/1 is enough, and it offers less to abuse.
		Protocols:                    new(http.Protocols),
		DisableGeneralOptionsHandler: true,
	}
	server.Protocols.SetHTTP1(true)
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		short, end := context.WithTimeout(context.WithoutCancel(ctx), limits.End)
		defer end()
		_ = server.Shutdown(short)
		_ = server.Close() // what still runs is cut off
	})
	l = &bounded{Listener: l, slots: make(chan struct{}, limits.Connections), write: limits.Write, done: ctx.Done()}
	if limits.TLS != nil {
		l = tls.NewListener(l, limits.TLS)
	}
	err := server.Serve(l)
	if !stop() {
		<-closed
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// bounded is a listener that limits the number of simultaneous connections.
type bounded struct {
	net.Listener
	slots chan struct{}
	write time.Duration
	done  <-chan struct{}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &slotted{Conn: c, write: b.write, release: sync.OnceFunc(func() { <-b.slots })}, nil
}

type slotted struct {
	net.Conn
	write   time.Duration
	release func()
}

// piece is the number of bytes that a client must take within the limit for writes.
const piece = 64 << 10

// Write implements net.Conn.
func (c *slotted) Write(b []byte) (n int, err error) {
	if c.write <= 0 {
		return c.Conn.Write(b)
	}
	for more := true; more && err == nil; more = n < len(b) {
		var wrote int
		if err = c.SetWriteDeadline(time.Now().Add(c.write)); err == nil {
			wrote, err = c.Conn.Write(b[n:min(len(b), n+piece)])
		}
		n += wrote
	}
	return n, err
}

// Close implements net.Conn.
func (c *slotted) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite closes the sending half.
func (c *slotted) CloseWrite() error { return CloseWrite(c.Conn) }

// CloseWrite closes the sending half of a connection, if it can.
func CloseWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// crew is a handler that tracks the requests in progress, including those that took
// over their connection.
type crew struct {
	handler http.Handler
	body    time.Duration

	// Requests in progress are counted: waiting for a lock would stop the clocks of tests, and
	// keep a goroutine for a request that never ends.
	mu    sync.Mutex
	busy  int
	ended bool
	idle  chan struct{}
}

// ServeHTTP implements http.Handler.
func (c *crew) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.busy++
	c.mu.Unlock()
	defer c.leave()
	if r.Body != http.NoBody {
		b := &body{ReadCloser: r.Body, control: http.NewResponseController(w), begun: time.Now(), stall: c.body}
		b.extend()
		r.Body = b
		defer b.leave()
	}
	crash.Handler(c.handler).ServeHTTP(w, r)
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy--; c.busy == 0 && c.ended {
		close(c.idle)
	}
}

// end rejects new requests and waits for those in progress.
func (c *crew) end() {
	c.mu.Lock()
	c.ended = true
	busy := c.busy
	c.mu.Unlock()
	if busy == 0 {
		return
	}
	select {
	case <-c.idle:
	case <-time.After(last):
	}
}

// Journal is a file of JSON lines with a limited size. It outlives the process: when
// opened again, it continues at its end. It may be used by several goroutines.
type Journal struct {
	// filter is applied to each line before it is written.
	filter func([]byte) []byte

	mu    sync.Mutex
	file  *os.File
	left  int64
	lines int
}

// OpenJournal opens the journal at path, which grows to at most limit bytes; entries
// beyond that are only counted. filter, if not nil, changes each line before it is
// written, for example to mask secrets.
func OpenJournal(path string, limit int64, filter func([]byte) []byte) (*Journal, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{filter: filter, file: f, left: limit}
	if err := j.count(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return j, nil
}

// count counts the existing lines. It terminates a line that the end of an earlier
// process cut off.
func (j *Journal) count() error {
	buf := make([]byte, 64<<10)
	last := byte('\n')
	for {
		n, err := j.file.Read(buf)
		j.lines += bytes.Count(buf[:n], []byte("\n"))
		if n > 0 {
			last = buf[n-1]
		}
		j.left -= int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if last == '\n' {
		return nil
	}
	j.lines++
	_, err := j.file.Write([]byte("\n"))
	return err
}

// Add writes an entry as one line. An entry that cannot be written is only counted, so
// that the agent's work does not stop.
func (j *Journal) Add(entry any) {
	line, err := json.Marshal(entry)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines++
	if err == nil && j.filter != nil {
		line = j.filter(line)
	}
	if err == nil && int64(len(line))+1 <= j.left {
		n, _ := j.file.Write(append(line, '\n'))
		j.left -= int64(n)
	}
}

// Lines is the number of entries, including those that were not written.
func (j *Journal) Lines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
