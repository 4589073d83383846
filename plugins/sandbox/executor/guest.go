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
	"io/fs"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
)

// The common properties of guests in runtimes that isolate.
const (
	Hostname = "mleflow"
	// TmpBytes is the size of /tmp if the Spec neither mounts it nor sets a disk limit.
	// RunBytes is the size of /run.
	TmpBytes = 256 << 20
	RunBytes = 16 << 20
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

// MakeFolder is os.MkdirAll for folders that every user may enter, whatever the umask.
func MakeFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		if err = MakeFolder(filepath.Dir(dir)); err == nil {
			return MakeFolder(dir)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return err
}

// Readable lets every user read what is in a folder, whatever the umask was.
func Readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()
		return os.Chmod(path, mode|(mode&0o500)>>3|(mode&0o500)>>6)
	})
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
	file *os.File
	dst  io.Writer
	stop func()
}

// followEvery is the interval at which the file is read.
const followEvery = 100 * time.Millisecond

// Follow begins to pass on a file. It creates the file if it does not exist.
func Follow(name string, dst io.Writer) (*Follower, error) {
	file, err := nolink.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	f := &Follower{file: file, dst: dst}
	f.stop = progress.Every(followEvery, f.pass)
	return f, nil
}

func (f *Follower) pass() { _, _ = io.Copy(f.dst, f.file) }

// Finish passes on the rest once everything has been written.
func (f *Follower) Finish() {
	if f != nil && f.file != nil {
		f.stop()
		f.pass()
		f.file.Close()
		f.file = nil
	}
}

// StuckTimeout is the time after which processes that the kernel has killed but not ended
// count as stuck.
const StuckTimeout = time.Minute

// ErrStuck means that killed processes do not end.
var ErrStuck = errors.New("stop command: processes would not die")

// useEvery is the interval at which the use of a command is reported.
const useEvery = 2 * time.Second

// ReportUse reports what measure returns to OnUse, until it is stopped. measure returns
// false if it is unknown what the command uses.
func (s Spec) ReportUse(measure func() (Use, bool)) (stop func()) {
	if s.OnUse == nil {
		return func() {}
	}
	return progress.Every(useEvery, func() {
		if use, known := measure(); known {
			s.OnUse(use)
		}
	})
}

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
		maps.Copy(s.env, service.Variables(port))
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
