package executor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
)

// Serving are the services of one run while they are served. It is for runtimes.
type Serving struct {
	env       map[string]string
	ports     []int
	listeners []net.Listener
	cancel    context.CancelCauseFunc
	running   sync.WaitGroup
	mu        sync.Mutex
	ending    bool
	err       error
}

// Serve calls listen for the listener of each service, by index, and serves the
// service. A service whose listener is nil is not served. The returned context is
// cancelled when a service fails; its cause names the service.
func Serve(ctx context.Context, services []Service, listen func(i int) (net.Listener, error)) (context.Context, *Serving, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Serving{env: map[string]string{}, cancel: cancel}
	for i, service := range services {
		l, err := listen(i)
		if err != nil {
			s.Close()
			return ctx, nil, fmt.Errorf("listen for service %s: %w", service.Name, err)
		}
		if l == nil {
			continue
		}
		s.listeners = append(s.listeners, l)
		port := 0
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			port = addr.Port
		}
		s.ports = append(s.ports, port)
		s.running.Go(func() { s.serve(ctx, service, l) })
		if service.Env != "" {
			s.env[service.Env] = "http://127.0.0.1:" + strconv.Itoa(port)
		}
	}
	return ctx, s, nil
}

func (s *Serving) serve(ctx context.Context, service Service, l net.Listener) {
	err := service.Serve(ctx, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || ctx.Err() != nil || err == nil {
		return
	}
	s.err = errors.Join(s.err, fmt.Errorf("serve %s: %w", service.Name, err))
	s.cancel(s.err)
}

// Env returns the variables with the addresses of the services.
func (s *Serving) Env() map[string]string { return s.env }

// Ports returns the services' ports, in order.
func (s *Serving) Ports() []int { return s.ports }

// Close closes the listeners, waits until every service has returned, and returns the
// earlier failures.
func (s *Serving) Close() error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.cancel(nil)
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
