package check

import (
	"context"
	"net"
	"sync"
)

// pipe is a listener that programs elsewhere cannot reach: dial makes its connections in
// memory.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipe() *pipe {
	p := &pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the server's end of a connection.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and dial return net.ErrClosed.
func (p *pipe) Close() error {
	p.close()
	return nil
}

// Addr has no address.
func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
