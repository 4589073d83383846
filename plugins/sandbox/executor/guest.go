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

// What guests of runtimes that isolate have in common.
const (
	Hostname = "mleflow"
	// TmpBytes is the size of /tmp when the Spec neither mounts it nor has a disk
	// limit, RunBytes that of /run.
	TmpBytes = 256 << 20
	RunBytes = 16 << 20
	// OpenFiles is the limit of descriptors, unless the machine's is lower.
	OpenFiles = 1 << 16
)

// ParseUser reads Sandbox.User.
func ParseUser(text string) (uid, gid int, err error) {
	u, g, ok := strings.Cut(cmp.Or(text, DefaultUser), ":")
	first, uErr := strconv.ParseUint(u, 10, 31)
	second, gErr := strconv.ParseUint(g, 10, 31)
	if !ok || uErr != nil || gErr != nil {
		return 0, 0, fmt.Errorf("user %q: write UID:GID in numbers, such as %s", text, DefaultUser)
	}
	return int(first), int(second), nil
}

// WorkingDir is where the command starts in an image with this working directory.
func (s Spec) WorkingDir(image string) string {
	below := s.ImageDir && strings.HasPrefix(path.Clean(image), path.Clean(s.Dir)+"/")
	if s.Dir == "" || below {
		return cmp.Or(image, "/")
	}
	return s.Dir
}

// Names are texts that say who the guest is and whom it can reach, by their places.
func Names() map[string]string {
	return map[string]string{
		"/etc/hosts":       "127.0.0.1 localhost " + Hostname + "\n::1 localhost\n",
		"/etc/hostname":    Hostname + "\n",
		"/etc/resolv.conf": "# There is no name service here.\n",
	}
}

// LimitSetup returns a context that is cancelled when the set-up, which started
// ends, takes longer than d; 0 is no limit.
func LimitSetup(ctx context.Context, d time.Duration) (limited context.Context, started, cancel func()) {
	limited, stop := context.WithCancelCause(ctx)
	started = func() {}
	if d > 0 {
		timer := time.AfterFunc(d, func() { stop(fmt.Errorf("the set-up takes longer than %v", d)) })
		started = func() { timer.Stop() }
	}
	return limited, started, func() { stop(nil) }
}

// Follower passes on a file that grows.
type Follower struct {
	file       *os.File
	dst        io.Writer
	stop, done chan struct{}
}

// followEvery is how often the file is looked at.
const followEvery = 100 * time.Millisecond

// Follow begins to pass on a file, which is made where it is missing.
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

// Finish passes on the rest, when all is written.
func (f *Follower) Finish() {
	if f != nil && f.file != nil {
		close(f.stop)
		<-f.done
		f.file.Close()
		f.file = nil
	}
}
