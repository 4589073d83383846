package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// Limits of the conversation with a server, which may be slow, or something else.
const (
	// probeTimeout limits the first questions together, and callTimeout every later one but
	// those that carry images.
	probeTimeout = time.Minute
	callTimeout  = 2 * time.Minute
	// answerBytes limits an answer that is no archive.
	answerBytes = 16 << 20
)

// Server is what is known of a server.
type Server struct {
	// Socket is its path, and By is what names it.
	Socket, By string
	// Name is the server's name and release, such as "Docker 20.10.24" or "Podman 4.3.1".
	Name string
	// Rootless means that it belongs to the ordinary user UID.
	Rootless bool
	UID      int
	// Remap are the machine's user and group of root in containers, where they are others.
	Remap *first.IDs
	// Memory, CPUs and Processes report which limits of a container the server enforces.
	Memory, CPUs, Processes bool
	// CDI reports whether it reads the descriptions of devices itself.
	CDI bool

	podman, keepID, swap, selinux bool
	client                        *client.Client
}

// Open connects to the server. The error says what to do if it cannot be used.
func Open(ctx context.Context, socket, by string) (*Server, error) {
	s := &Server{Socket: socket, By: by}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := s.dial(ctx); err != nil {
		return nil, err
	}
	if err := s.examine(ctx); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	return s, nil
}

// dial creates the client, after it has seen whose server listens.
func (s *Server) dial(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", s.Socket)
	if err != nil {
		return fmt.Errorf("connect to the Docker server of %s: %w%s", s.By, err, remedy(err))
	}
	s.UID, err = owner(conn.(*net.UnixConn))
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("connect to the Docker server at %s: %w", s.Socket, err)
	}
	s.Rootless = s.UID != 0
	if s.Rootless && s.UID != os.Geteuid() {
		return fmt.Errorf("the server at %s belongs to user %d, and this is user %d: its containers could not use this user's files", s.Socket, s.UID, os.Geteuid())
	}
	transport := &http.Transport{MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: 30 * time.Second}
	s.client, err = client.New(client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost("unix://"+s.Socket), client.WithScheme("http"), client.WithHTTPResponseHook(bounded))
	return err
}

// owner returns the user of the process that listens.
func owner(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	controlErr := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(controlErr, err); err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}

// remedy returns advice on how to make a connection possible.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return "; start it: systemctl start docker, or systemctl --user start podman.socket"
	case errors.Is(err, fs.ErrPermission):
		return "; its members may use it: usermod -aG docker USER gives this user root's rights on the machine. Rootless Podman or the runtime sandbox need none"
	}
	return ""
}

// bounded limits the size of an answer.
func bounded(resp *http.Response) {
	if resp.Request != nil && strings.HasSuffix(resp.Request.URL.Path, "/archive") {
		return // its reader has a limit of its own
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{&atMost{resp.Body, answerBytes}, resp.Body}
}

// atMost fails after a number of bytes.
type atMost struct {
	from io.Reader
	left int64
}

var errHuge = errors.New("the server's answer is too long")

// Read implements io.Reader.
func (r *atMost) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, errHuge
	}
	return n, err
}

// examine asks the server what it is. Podman's answers describe the machine, not what it
// may do there, so what an ordinary user's server can limit follows from the cgroups.
func (s *Server) examine(ctx context.Context) error {
	version, err := s.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fmt.Errorf("ask the Docker server at %s for its version: %w", s.Socket, tidy(err))
	}
	result, err := s.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fmt.Errorf("ask the Docker server at %s what it is: %w", s.Socket, tidy(err))
	}
	info := result.Info
	s.Name = "Docker " + short(version.Version)
	for _, c := range version.Components {
		if c.Name == "Podman Engine" {
			s.podman, s.Name = true, "Podman "+short(c.Version)
			s.keepID = atLeast(c.Version, 4, 3)
		}
	}
	if err := s.local(info); err != nil {
		return err
	}
	s.Memory, s.CPUs, s.Processes, s.swap = info.MemoryLimit, info.CPUCfsQuota, info.PidsLimit, info.SwapLimit
	s.CDI = len(info.CDISpecDirs) > 0
	s.selinux = slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "name=selinux") })
	if s.Rootless {
		delegated := delegatedTo(s.UID)
		s.Memory, s.CPUs, s.Processes = s.Memory && delegated["memory"], s.CPUs && delegated["cpu"], s.Processes && delegated["pids"]
		if info.CgroupVersion != "2" {
			s.Memory, s.CPUs, s.Processes = false, false, false
		}
	} else if slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return strings.Contains(o, "name=userns") }) {
		s.Remap = remapped(info.DockerRootDir)
	}
	return nil
}

// local refuses a server of another machine, a virtual one included: it would mount that
// one's folders.
func (s *Server) local(info system.Info) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return os.NewSyscallError("uname", err)
	}
	ours := unix.ByteSliceToString(u.Release[:])
	if info.KernelVersion == ours && !strings.Contains(info.OperatingSystem, "Docker Desktop") {
		return nil
	}
	where := "in another machine than mleflow"
	if strings.Contains(info.OperatingSystem, "Docker Desktop") {
		where = "in the virtual machine of Docker Desktop"
	}
	return fmt.Errorf("%s at %s runs %s (its kernel is %s, this one's %s): sockets and folders of this machine cannot be mounted there. "+
		"Install Docker Engine or Podman beside it and name its socket in DOCKER_HOST, or use the runtime sandbox", s.Name, s.Socket, where, short(info.KernelVersion), ours)
}

// remapped returns the user and the group of root in containers, by which a server with
// userns-remap names its folder.
func remapped(dir string) *first.IDs {
	ids := &first.IDs{}
	if n, err := fmt.Sscanf(filepath.Base(dir), "%d.%d", &ids.UID, &ids.GID); n != 2 || err != nil {
		return nil
	}
	return ids
}

// delegatedTo returns the controllers of cgroups of version 2 that an ordinary user's
// containers have.
func delegatedTo(uid int) map[string]bool {
	held := map[string]bool{}
	text, _ := os.ReadFile(fmt.Sprintf("/sys/fs/cgroup/user.slice/user-%d.slice/user@%d.service/cgroup.controllers", uid, uid))
	for _, name := range strings.Fields(string(text)) {
		held[name] = true
	}
	return held
}

func atLeast(version string, major, minor int) bool {
	var a, b int
	_, _ = fmt.Sscanf(version, "%d.%d", &a, &b)
	return a > major || a == major && b >= minor
}

// short makes what a server says fit for a line.
func short(text string) string { return fmt.Sprintf("%.40s", plain.Line(text)) }

// tidy makes the text of a server's error fit for a terminal, and short.
func tidy(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return told{fmt.Sprintf("%.1000s", plain.Line(err.Error())), err}
}

// told is an error with a text of its own.
type told struct {
	text string
	error
}

// Error implements error.
func (t told) Error() string { return t.text }

// Unwrap returns the error itself.
func (t told) Unwrap() error { return t.error }

// Limits says in half a sentence which limits the server leaves to mleflow, "" if none.
func (s *Server) Limits() string {
	var ours []string
	for _, l := range []struct {
		name string
		held bool
	}{{"memory", s.Memory}, {"processors", s.CPUs}, {"processes", s.Processes}} {
		if !l.held {
			ours = append(ours, l.name)
		}
	}
	if len(ours) == 0 {
		return ""
	}
	return "it does not limit " + strings.Join(ours, ", ") + " here, so mleflow watches them"
}

// Users says in half a sentence who the guest is on the machine.
func (s *Server) Users() string {
	switch {
	case s.Rootless:
		return "it runs as this user, in a user namespace"
	case s.Remap != nil:
		return "it runs as root, and containers have a user namespace"
	}
	return "it runs as root, and containers have no user namespace (dockerd --userns-remap gives them one)"
}

// Close closes the connections to the server.
func (s *Server) Close() error { return s.client.Close() }
