package executor

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Streams are the standard streams of a command, with the goroutines that copy between
// them and those of a Spec.
type Streams struct {
	// files are the command's ends, pipes the other ends.
	files, pipes []*os.File
	copying      int
	copied       chan error
}

// OpenStreams opens the streams for a command of the Spec. Its standard output goes to
// stderr if the Spec has none for it, and what goes to a nil stderr is discarded.
func OpenStreams(spec Spec, stderr io.Writer) (*Streams, error) {
	s := &Streams{copied: make(chan error, 3)}
	err := s.input(spec.Stdin)
	if err == nil && spec.Stdout != nil {
		err = s.output(spec.Stdout)
	}
	if err == nil {
		err = s.output(stderr)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Streams) input(from io.Reader) error {
	if from == nil {
		return s.null(os.O_RDONLY)
	}
	r, w, err := os.Pipe()
	return s.pass(r, w, err, func() error {
		_, err := io.Copy(w, from)
		if errors.Is(err, syscall.EPIPE) {
			return nil // the command did not read all of it
		}
		return err
	})
}

func (s *Streams) output(to io.Writer) error {
	if to == nil {
		return s.null(os.O_WRONLY)
	}
	r, w, err := os.Pipe()
	return s.pass(w, r, err, func() error {
		_, err := io.Copy(to, r)
		return err
	})
}

func (s *Streams) null(flag int) error {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.files = append(s.files, f)
	}
	return err
}

// pass gives the command its end of a pipe, unless that could not be made, copies to or from
// the other end and then closes it.
func (s *Streams) pass(theirs, ours *os.File, err error, copied func() error) error {
	if err != nil {
		return err
	}
	s.files, s.pipes = append(s.files, theirs), append(s.pipes, ours)
	s.copying++
	go func() {
		err := copied()
		ours.Close()
		s.copied <- err
	}()
	return nil
}

// Guest returns the three files for the command.
func (s *Streams) Guest() []*os.File {
	return []*os.File{s.files[0], s.files[1], s.files[len(s.files)-1]}
}

// Given closes this process's copies of the command's streams once the command has
// them.
func (s *Streams) Given() {
	if s == nil {
		return
	}
	for _, f := range s.files {
		f.Close()
	}
}

// Wait returns when all output of the command has been passed on, or after the delay
// with exec.ErrWaitDelay. It closes the streams.
func (s *Streams) Wait(delay time.Duration) error {
	if s == nil {
		return nil
	}
	defer s.Close()
	late := time.NewTimer(delay)
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

// Close closes the streams.
func (s *Streams) Close() {
	if s == nil {
		return
	}
	s.Given()
	for _, f := range s.pipes {
		f.Close()
	}
}
