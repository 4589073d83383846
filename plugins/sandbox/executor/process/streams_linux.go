package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// outputDelay is the maximum wait for output after all processes have ended.
const outputDelay = 2 * time.Second

// streams are the standard streams of a command, with the goroutines that copy between
// them and those of a Spec.
type streams struct {
	// files are the command's ends, pipes the other ends.
	files, pipes []*os.File
	copying      int
	copied       chan error
}

func newStreams(spec executor.Spec, stderr io.Writer) (*streams, error) {
	s := &streams{copied: make(chan error, 3)}
	err := s.input(spec.Stdin)
	if err == nil && spec.Stdout != nil {
		err = s.output(spec.Stdout)
	}
	if err == nil {
		err = s.output(stderr)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *streams) input(from io.Reader) error {
	if from == nil {
		null, err := os.Open(os.DevNull)
		s.files = append(s.files, null)
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.files, s.pipes = append(s.files, r), append(s.pipes, w)
	s.pass(w, func() error {
		_, err := io.Copy(w, from)
		if errors.Is(err, syscall.EPIPE) {
			return nil // the command did not read all of it
		}
		return err
	})
	return nil
}

func (s *streams) output(to io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.files, s.pipes = append(s.files, w), append(s.pipes, r)
	s.pass(r, func() error {
		_, err := io.Copy(to, r)
		return err
	})
	return nil
}

// pass copies to or from a pipe and then closes it.
func (s *streams) pass(pipe io.Closer, copied func() error) {
	s.copying++
	go func() {
		err := copied()
		pipe.Close()
		s.copied <- err
	}()
}

// guest returns the descriptors for the command's standard streams.
func (s *streams) guest() []int {
	var fds []int
	for _, f := range s.files {
		fds = append(fds, int(f.Fd()))
	}
	if len(fds) == 2 {
		fds = append(fds, fds[1])
	}
	return fds
}

// given closes this process's copies of the command's streams once the command has
// them.
func (s *streams) given() {
	for _, f := range s.files {
		f.Close()
	}
}

// wait returns when all output of the command has been passed on.
func (s *streams) wait() error {
	defer s.close()
	late := time.NewTimer(outputDelay)
	defer late.Stop()
	var err error
	for range s.copying {
		select {
		case one := <-s.copied:
			err = errors.Join(err, one)
		case <-late.C:
			return errors.Join(err, exec.ErrWaitDelay)
		}
	}
	return err
}

func (s *streams) close() {
	s.given()
	for _, f := range s.pipes {
		f.Close()
	}
}
