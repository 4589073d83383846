package check

import (
	"context"
	"net"
	"sync"
)

// pipes is a listener without a network: nothing else on the machine can reach what
// listens.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.done) })
	return p
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error { p.close(); return nil }

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "judge", Net: "pipe"} }

// dial opens a connection to the listener.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
