package executor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
)

// The common properties of guests in runtimes that isolate.
const (
	Hostname = "mleflow"
	// TmpBytes is the size of /tmp if the Spec neither mounts it nor sets a disk limit.
	// RunBytes is the size of /run.
	TmpBytes = 256 << 20
	RunBytes = 16 << 20
	// OpenFiles is the limit on open descriptors, unless the machine's is lower.
	OpenFiles = 1 << 16
)

// ParseUser parses Sandbox.User.
func ParseUser(text string) (uid, gid int, err error) {
	u, g, ok := strings.Cut(cmp.Or(text, DefaultUser), ":")
	first, uErr := strconv.ParseUint(u, 10, 31)
	second, gErr := strconv.ParseUint(g, 10, 31)
	if !ok || uErr != nil || gErr != nil {
		return 0, 0, fmt.Errorf("user %q: write UID:GID in numbers, such as %s", text, DefaultUser)
	}
	return int(first), int(second), nil
}

// WorkingDir returns the command's working directory in an image that declares this
// one.
func (s Spec) WorkingDir(image string) string {
	below := s.ImageDir && strings.HasPrefix(path.Clean(image), path.Clean(s.Dir)+"/")
	if s.Dir == "" || below {
		return cmp.Or(image, "/")
	}
	return s.Dir
}

// Names returns, by path, the files that name the guest and the hosts that it can
// reach.
func Names() map[string]string {
	return map[string]string{
		"/etc/hosts":       "127.0.0.1 localhost " + Hostname + "\n::1 localhost\n",
		"/etc/hostname":    Hostname + "\n",
		"/etc/resolv.conf": "# There is no name service here.\n",
	}
}

// LimitSetup returns a context that is cancelled when the set-up takes longer than d.
// started ends the set-up. If d is 0, there is no limit.
func LimitSetup(ctx context.Context, d time.Duration) (limited context.Context, started, cancel func()) {
	limited, stop := context.WithCancelCause(ctx)
	started = func() {}
	if d > 0 {
		timer := time.AfterFunc(d, func() { stop(fmt.Errorf("the set-up takes longer than %v", d)) })
		started = func() { timer.Stop() }
	}
	return limited, started, func() { stop(nil) }
}

// Follower passes on the content of a growing file.
type Follower struct {
	file       *os.File
	dst        io.Writer
	stop, done chan struct{}
}

// followEvery is the interval at which the file is read.
const followEvery = 100 * time.Millisecond

// Follow begins to pass on a file. It creates the file if it does not exist.
func Follow(name string, dst io.Writer) (*Follower, error) {
	file, err := nolink.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &Follower{file: file, dst: dst, stop: make(chan struct{}), done: make(chan struct{})}
	go f.run()
	return f, nil
}

func (f *Follower) run() {
	defer close(f.done)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		_, _ = io.Copy(f.dst, f.file)
		select {
		case <-tick.C:
		case <-f.stop:
			_, _ = io.Copy(f.dst, f.file)
			return
		}
	}
}

// Finish passes on the rest once everything has been written.
func (f *Follower) Finish() {
	if f != nil && f.file != nil {
		close(f.stop)
		<-f.done
		f.file.Close()
		f.file = nil
	}
}
