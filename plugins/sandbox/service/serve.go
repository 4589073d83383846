package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits bound what a client can take from a server.
type Limits struct {
	// Connections is how many are open at once; more wait.
	Connections int
	// Header is how long a request's header may take, HeaderBytes its size.
	Header      time.Duration
	HeaderBytes int
	// Request is how long a whole request may take to arrive; 0 is no limit.
	Request time.Duration
	// Idle is how long a connection may wait for its next request.
	Idle time.Duration
}

// hop are the headers that are for one connection only.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// DropHop removes the headers that are for one connection only, and others.
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

// last is how long Serve waits for requests in progress at its end.
const last = 5 * time.Second

// Serve serves HTTP on l until ctx ends. Then all connections are closed,
// requests in progress have a few seconds to end, and the error is nil. It
// closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler, limits Limits) error {
	crew := &crew{handler: h, idle: make(chan struct{})}
	defer crew.end()
	server := &http.Server{
		Handler:           crew,
		ReadHeaderTimeout: limits.Header,
		ReadTimeout:       limits.Request,
		IdleTimeout:       limits.Idle,
		MaxHeaderBytes:    limits.HeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		// HTTP/1 only: nothing else is needed, and less can be abused.
		Protocols:                    new(http.Protocols),
		DisableGeneralOptionsHandler: true,
	}
	server.Protocols.SetHTTP1(true)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(&bounded{Listener: l, slots: make(chan struct{}, limits.Connections), done: ctx.Done()})
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// bounded is a listener that accepts no more connections than it has slots.
type bounded struct {
	net.Listener
	slots chan struct{}
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
	return &slotted{Conn: c, release: sync.OnceFunc(func() { <-b.slots })}, nil
}

type slotted struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *slotted) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite ends the sending half.
func (c *slotted) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	return half.CloseWrite()
}

// crew is a handler that knows which requests are in progress, those included
// that took their connection over.
type crew struct {
	handler http.Handler

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
	c.handler.ServeHTTP(w, r)
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy--; c.busy == 0 && c.ended {
		close(c.idle)
	}
}

// end lets nobody in any more and waits for those inside.
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
