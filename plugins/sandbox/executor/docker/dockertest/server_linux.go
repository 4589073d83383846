package dockertest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a private server.
type Server struct {
	// Socket is its socket, and Dir a folder of its own.
	Socket, Dir string
	// Env are the variables with which the server's own client finds it.
	Env []string
	cmd *exec.Cmd
}

// Docker starts dockerd, which needs root. It has no network.
func Docker(t testing.TB, flags ...string) *Server {
	t.Helper()
	require(t, true, "dockerd", "runc", "containerd")
	s := newServer(t)
	args := []string{"--iptables=false", "--bridge=none", "--host", "unix://" + s.Socket, "--data-root", filepath.Join(s.Dir, "data"),
		"--exec-root", filepath.Join(s.Dir, "exec"), "--pidfile", filepath.Join(s.Dir, "pid")}
	s.start(t, exec.Command("dockerd", append(args, flags...)...))
	return s
}

// Podman starts Podman's service as this user.
func Podman(t testing.TB) *Server {
	t.Helper()
	require(t, false, "podman", "runc")
	if os.Getuid() != 0 {
		require(t, false, "newuidmap")
		if !subordinate(t) {
			miss(t, "needs a line for this user in /etc/subuid and /etc/subgid")
		}
	}
	s := newServer(t)
	config := "[engine]\nruntime=\"runc\"\ncgroup_manager=\"cgroupfs\"\nevents_logger=\"none\"\n[containers]\ndefault_ulimits=[\"nofile=1024:1024\",\"nproc=1024:1024\"]\n"
	storage := fmt.Sprintf("[storage]\ndriver=\"vfs\"\ngraphroot=%q\nrunroot=%q\n", filepath.Join(s.Dir, "data"), filepath.Join(s.Dir, "run"))
	for name, text := range map[string]string{"containers.conf": config, "storage.conf": storage} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.Env = append(os.Environ(), "CONTAINERS_CONF="+filepath.Join(s.Dir, "containers.conf"), "CONTAINERS_STORAGE_CONF="+filepath.Join(s.Dir, "storage.conf"),
		"XDG_RUNTIME_DIR="+s.Dir, "HOME="+s.Dir, "TMPDIR="+s.Dir)
	cmd := exec.Command("podman", "system", "service", "--time", "0", "unix://"+s.Socket)
	cmd.Env = s.Env
	s.start(t, cmd)
	return s
}

// Ordinary runs the test of that name again as an ordinary user who has subordinate IDs,
// where this is root, with more variables.
func Ordinary(t *testing.T, name string, env ...string) {
	t.Helper()
	require(t, true, "podman", "newuidmap")
	who := ordinary(t)
	if who == nil {
		miss(t, "needs a user with a line in /etc/subuid and /etc/subgid")
	}
	uid, _ := strconv.ParseUint(who.Uid, 10, 32)
	gid, _ := strconv.ParseUint(who.Gid, 10, 32)
	dir, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	text, err := os.ReadFile("/proc/self/exe")
	for _, err := range []error{err, os.WriteFile(program, text, 0o755), os.Chmod(program, 0o755), os.Chown(dir, int(uid), int(gid))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command(program, "-test.v", "-test.count=1", "-test.timeout=30m", "-test.run=^"+name+"$")
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "CI=" + os.Getenv("CI")}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("as user %s: %v\n%s", who.Username, err, out)
	}
}

// ordinary returns the first user with subordinate IDs.
func ordinary(t testing.TB) *user.User {
	for _, name := range names(t, "/etc/subuid") {
		if who, err := user.Lookup(name); err == nil && who.Uid != "0" && slices.Contains(names(t, "/etc/subgid"), name) {
			return who
		}
	}
	return nil
}

func subordinate(t testing.TB) bool {
	who, err := user.Current()
	return err == nil && slices.Contains(names(t, "/etc/subuid"), who.Username) && slices.Contains(names(t, "/etc/subgid"), who.Username)
}

// names returns the first fields of a file's lines.
func names(t testing.TB, file string) (list []string) {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		name, _, _ := strings.Cut(in.Text(), ":")
		list = append(list, name)
	}
	return list
}

// require skips the test if the server cannot be started. If CI is set, the test fails
// instead, because CI installs it.
func require(t testing.TB, root bool, programs ...string) {
	t.Helper()
	var missing []string
	if root && os.Getuid() != 0 {
		t.Skipf("needs root (this is user %d)", os.Getuid())
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) > 0 {
		miss(t, "needs "+strings.Join(missing, ", "))
	}
}

func miss(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// newServer makes the server's folder. A socket's path has at most 107 bytes.
func newServer(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.Getuid() != 0 { // files in containers belong to subordinate users
			_ = exec.Command("podman", "unshare", "rm", "-rf", dir).Run()
		}
		_ = os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return &Server{Dir: dir, Socket: filepath.Join(dir, "s.sock")}
}

func (s *Server) start(t testing.TB, cmd *exec.Cmd) {
	cmd.Dir = s.Dir // conmon leaves a file in it after a kill for memory
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.cmd = cmd
	t.Cleanup(s.stop)
	for range 1200 {
		if conn, err := net.Dial("unix", s.Socket); err == nil {
			conn.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	t.Fatalf("%s does not listen:\n%s", cmd.Path, text)
}

// Get returns what the server answers to a GET of a path.
func (s *Server) Get(path string) ([]byte, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", s.Socket)
	}}}
	resp, err := c.Get("http://server" + path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// stopPatience is how long a server may take to end.
const stopPatience = 30 * time.Second

func (s *Server) stop() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM) // Podman of an ordinary user is two processes
	timer := time.AfterFunc(stopPatience, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	_ = s.cmd.Wait()
	// Podman of an ordinary user leaves a process that holds its user namespace.
	if text, err := os.ReadFile(filepath.Join(s.Dir, "libpod", "tmp", "pause.pid")); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], s.Dir+"/") {
			_ = syscall.Unmount(fields[1], syscall.MNT_DETACH)
		}
	}
}
