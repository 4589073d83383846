package containerd

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// io returns the destination of the command's streams: the log's keeper if the command
// may outlive this process, and otherwise pipes.
func (r *run) io(logs io.Writer) (cio.Creator, error) {
	if r.spec.Resume {
		var err error
		if r.follower, err = executor.Follow(r.claim.Path(outputFile), logs); err != nil {
			return nil, err
		}
		return cio.BinaryIO(r.e.opts.Self, map[string]string{LogCommand: r.claim.Dir}), nil
	}
	r.output = executor.NewOutput(r.spec.Limits.LogBytes)
	r.streams = &streams{in: r.spec.Stdin, over: make(chan struct{})}
	stderr := r.output.Writer(logs)
	stdout := stderr
	if r.spec.Stdout != nil {
		stdout = &keeper{dst: r.spec.Stdout, streams: r.streams}
	}
	var in io.Reader
	if r.streams.in != nil {
		in = r.streams
	}
	return cio.NewCreator(cio.WithStreams(in, stdout, stderr), cio.WithFIFODir(r.claim.Path("fifo"))), nil
}

// streams are the command's own standard streams.
type streams struct {
	in   io.Reader
	once sync.Once
	over chan struct{} // closed at the end of the input

	mu  sync.Mutex
	err error
}

// Read reads the input and records its end.
func (s *streams) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	if err != nil {
		s.once.Do(func() { close(s.over) })
	}
	return n, err
}

// started closes the command's input once all of it has been written, because the shim
// holds an end of it too.
func (s *streams) started(ctx context.Context, p client.Process) {
	if s == nil || s.in == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		<-s.over
		_ = p.CloseIO(ctx, client.WithStdinCloser)
	}()
}

func (s *streams) failed() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// keeper passes on standard output. After a failure it drains and drops the rest, so
// that the command does not block.
type keeper struct {
	dst     io.Writer
	streams *streams
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.streams.failed() == nil {
		if _, err := k.dst.Write(p); err != nil {
			k.streams.mu.Lock()
			k.streams.err = fmt.Errorf("pass on standard output: %w", err)
			k.streams.mu.Unlock()
		}
	}
	return len(p), nil
}
