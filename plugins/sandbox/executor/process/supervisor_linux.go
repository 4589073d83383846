package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/small"
)

// idleFor is the time for which a supervisor waits for another command.
const idleFor = 500 * time.Millisecond

// supervisor is a running supervisor, as seen by mleflow.
type supervisor struct {
	cmd     *exec.Cmd
	conn    *net.UnixConn
	reports *bufio.Reader

	mu sync.Mutex
	// running means that a command runs.
	running bool
	// ordering means that the order of a command was not sent yet, and early is its new limit.
	ordering bool
	early    time.Duration
}

// hire returns a supervisor without a command.
func (e *Executor) hire() (*supervisor, error) {
	for s := e.waiting(); s != nil; s = e.waiting() {
		if s.alive() {
			return s, nil
		}
		s.close()
	}
	return start(cmp.Or(small.Path(), e.self))
}

// waiting takes an idle supervisor, or returns nil.
func (e *Executor) waiting() *supervisor {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := len(e.idle) - 1
	if last < 0 {
		return nil
	}
	s := e.idle[last]
	e.idle = e.idle[:last]
	return s
}

// release keeps a supervisor for another command, for a limited time.
func (e *Executor) release(s *supervisor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.idle = append(e.idle, s)
	time.AfterFunc(idleFor, func() {
		e.mu.Lock()
		i := slices.Index(e.idle, s)
		if i >= 0 {
			e.idle = slices.Delete(e.idle, i, i+1)
		}
		e.mu.Unlock()
		if i >= 0 {
			s.close()
		}
	})
}

func start(self string) (*supervisor, error) {
	conn, theirs, err := executor.SocketPair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(self, supervise.Command)
	cmd.Env = []string{supervise.Variable + "=1", "GOMAXPROCS=1"}
	cmd.ExtraFiles = []*os.File{supervise.FD - 3: theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	return &supervisor{cmd: cmd, conn: conn, reports: bufio.NewReader(conn)}, nil
}

// alive reports whether an idle supervisor was alive a moment ago. Someone may have
// killed it.
func (s *supervisor) alive() bool {
	raw, err := s.conn.SyscallConn()
	if err != nil {
		return false
	}
	var silence error
	err = raw.Read(func(fd uintptr) bool {
		_, _, silence = unix.Recvfrom(int(fd), []byte{0}, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	})
	return err == nil && errors.Is(silence, unix.EAGAIN)
}

// close ends the supervisor, and its command if there is one.
func (s *supervisor) close() {
	s.conn.Close()
	_ = s.cmd.Wait()
}

// limit replaces the time limit of the command that runs.
func (s *supervisor) limit(limit time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ordering:
		s.early = limit
		return nil
	case !s.running:
		return errors.New("the command has ended")
	}
	return supervise.WriteLimit(s.conn, limit)
}

// orders notes that a command is about to be ordered: its limit can be replaced already.
func (s *supervisor) orders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ordering, s.early = true, 0
}

// runs notes whether a command runs, and passes on the limit that came before its start.
func (s *supervisor) runs(running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if running && s.early > 0 {
		_ = supervise.WriteLimit(s.conn, s.early) // a supervisor that is gone sends no report
	}
	s.running, s.ordering, s.early = running, false, 0
}

// converse sends the order, passes on cancellation, and returns the report. free
// reports whether the supervisor is ready for another command.
func (s *supervisor) converse(ctx context.Context, o supervise.Order, streams *executor.Streams) (rep supervise.Report, free bool, err error) {
	_, _, sendErr := s.conn.WriteMsgUnix([]byte{supervise.OrderByte}, unix.UnixRights(descriptors(streams.Guest())...), nil)
	streams.Given()
	if sendErr == nil {
		sendErr = o.Write(s.conn)
	}
	s.runs(true)
	defer s.runs(false)
	stop := context.AfterFunc(ctx, func() { s.conn.Write([]byte{supervise.CancelByte}) })
	rep, readErr := supervise.ReadReport(s.reports)
	free = stop() && rep.Stuck == 0
	if err := errors.Join(sendErr, readErr); err != nil {
		return rep, false, fmt.Errorf("supervise command: the supervisor ended without a report: %w", err)
	}
	return rep, free, nil
}

func descriptors(files []*os.File) (fds []int) {
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	return fds
}
