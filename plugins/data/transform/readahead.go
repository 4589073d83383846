package transform

import "io"

// readAhead reads a file in a goroutine of its own, so that unpacking continues
// while the bytes already read are processed.
type readAhead struct {
	full, free chan []byte
	stop, done chan struct{}
	now, rest  []byte
	err        error // set before full is closed
}

// The blocks of a readAhead.
const (
	aheadBlocks = 4
	aheadBytes  = 1 << 18
)

func newReadAhead(r io.Reader) *readAhead {
	a := &readAhead{
		full: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range aheadBlocks {
		a.free <- make([]byte, aheadBytes)
	}
	go a.fill(r)
	return a
}

func (a *readAhead) fill(r io.Reader) {
	defer close(a.done)
	defer close(a.full)
	for a.err == nil {
		var block []byte
		select {
		case block = <-a.free:
		case <-a.stop:
			return
		}
		var n int
		n, a.err = io.ReadFull(r, block[:aheadBytes])
		if n > 0 {
			a.full <- block[:n]
		}
	}
	if a.err == io.ErrUnexpectedEOF {
		a.err = io.EOF
	}
}

// Read implements io.Reader.
func (a *readAhead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.now != nil {
			a.free <- a.now
		}
		block, ok := <-a.full
		if a.now, a.rest = block, block; !ok {
			return 0, a.err
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close ends the goroutine and waits for it; the file is the caller's again.
func (a *readAhead) Close() {
	close(a.stop)
	<-a.done
}
