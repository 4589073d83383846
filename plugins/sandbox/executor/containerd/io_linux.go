package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
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
	r.output = guest.NewOutput(r.spec.Limits.LogBytes)
	r.streams = &streams{in: r.spec.Stdin, out: r.spec.Stdout, over: make(chan struct{})}
	stderr := r.output.Writer(logs)
	stdout := stderr
	if r.streams.out != nil {
		stdout = r.streams
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
	out  io.Writer
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

// Write passes on standard output. After a failure it drains and drops the rest, so
// that the command does not block.
func (s *streams) Write(p []byte) (int, error) {
	if s.failed() == nil {
		if _, err := s.out.Write(p); err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("pass on standard output: %w", err)
			s.mu.Unlock()
		}
	}
	return len(p), nil
}

// listenIn listens on the loopback interface of the process's network namespace, which this
// thread enters. Port 0 is any free port.
func listenIn(pid uint32, port int) (net.Listener, error) {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter the network namespace: %w", err)
	}
	if err := guest.LoopbackUp(); err != nil {
		return nil, fmt.Errorf("bring up the loopback interface: %w", err)
	}
	return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// LogCommand is the sub-command of the binary that calls Log.
const LogCommand = "container-log"

// The descriptors that containerd's shim passes to a logging program.
const (
	logOutFD   = 3
	logErrFD   = 4
	logReadyFD = 5
)

// The files of a run's output.
const (
	outputFile = "output"
	endFile    = "output.end"
)

// overdue is the time after the grace period at which the log's keeper stops a command
// that no mleflow stopped.
const overdue = 3 * time.Second

// ended is the content of endFile.
type ended struct {
	Dropped int64 `json:"dropped"`
}

// Log keeps the output of one command in the folder args[0] for as long as the command
// lives, even if mleflow dies. It also stops a command that nobody stopped in time.
// Only the hidden sub-command LogCommand calls it, which containerd's shim starts.
func Log(args []string) int {
	if len(args) != 1 || os.Getenv("CONTAINER_ID") == "" {
		_, _ = io.WriteString(os.Stderr, "mleflow "+LogCommand+" is started by containerd, never by hand\n")
		return 2
	}
	// The shim asks the logger to end before it has read the last output.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	if err := keepLog(args[0]); err != nil {
		return 1
	}
	return 0
}

func keepLog(dir string) error {
	rec, err := loadRecord(dir)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = os.NewFile(logReadyFD, "ready").Close()
	output := guest.NewOutput(rec.LogBytes)
	w := output.Writer(f)
	var streams sync.WaitGroup
	for _, fd := range []uintptr{logOutFD, logErrFD} {
		streams.Go(func() { _, _ = io.Copy(w, os.NewFile(fd, "output")) })
	}
	over := make(chan struct{})
	go guard(dir, rec, over)
	streams.Wait()
	close(over)
	text, err := json.Marshal(ended{Dropped: output.Dropped()})
	if err != nil {
		return err
	}
	err = nolink.WriteFile(filepath.Join(dir, endFile), text, 0o600, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the run was removed
	}
	return err
}

// guard stops the command when it is so long overdue that no mleflow can be watching
// it.
func guard(dir string, rec record, over <-chan struct{}) {
	if rec.Timeout == 0 {
		return
	}
	timer := time.NewTimer(time.Until(rec.Deadline()) + rec.Grace + overdue)
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-timer.C:
			if now, err := loadRecord(dir); err == nil && now.Deadline().After(rec.Deadline()) {
				rec = now // its limit was extended
				timer.Reset(time.Until(rec.Deadline()) + rec.Grace + overdue)
				continue
			}
			_ = killContainer(rec)
			timer.Reset(overdue)
		}
	}
}

func killContainer(rec record) error {
	c, err := client.New(rec.Socket, client.WithTimeout(dialTimeout))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(context.Background(), rec.Namespace), dialTimeout)
	defer cancel()
	container, err := c.LoadContainer(ctx, rec.Container)
	if err != nil {
		return err
	}
	task, err := container.Task(ctx, nil)
	if err != nil {
		return err
	}
	return task.Kill(ctx, syscall.SIGKILL, client.WithKillAll)
}

// logPatience is the maximum wait for the end of the output after all processes have
// ended.
const logPatience = 10 * time.Second

// droppedOf waits for the log's keeper, which writes endFile last, and returns the
// number of dropped bytes of output.
func droppedOf(dir string) (int64, error) {
	for until := time.Now().Add(logPatience); ; time.Sleep(10 * time.Millisecond) {
		end, err := claim.Load[ended](filepath.Join(dir, endFile))
		if err == nil || time.Now().After(until) {
			return end.Dropped, err
		}
	}
}
