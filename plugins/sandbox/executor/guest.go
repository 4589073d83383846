package executor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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

// RunName names the command's run by 24 digits. Only a run that can be resumed must be
// found again, so other runs get a new name each time.
func (s Spec) RunName() string {
	name := s.ID
	if !s.Resume {
		name += "\n" + rand.Text()
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// Check rejects specs that no runtime with images can run. runtime is the runtime's
// name.
func (s Spec) Check(runtime string) error {
	switch {
	case s.ID == "":
		return errors.New("run command: no ID given")
	case s.Image == "":
		return fmt.Errorf("run command: the %s runtime needs an image, and none is given", runtime)
	case len(s.Command) == 0:
		return fmt.Errorf("%w: no command given", ErrStart)
	case s.Resume && (s.Stdin != nil || s.Stdout != nil):
		return errors.New("run command: one that can be resumed has neither standard input nor output of its own")
	}
	for _, m := range s.Mounts {
		if !path.IsAbs(m.Guest) || path.Clean(m.Guest) == "/" || !filepath.IsAbs(m.Host) {
			return fmt.Errorf("run command: mount %s at %s: both must be absolute, and not the root", m.Host, m.Guest)
		}
	}
	if _, _, err := ParseUser(s.Sandbox.User); err != nil {
		return fmt.Errorf("run command: %w", err)
	}
	return nil
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
