package s3test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// version is the server's, Apache-2.0.
const version = "v1.8.0"

// The credentials of the server.
const (
	accessKey = "mleflow-test"
	secretKey = "mleflow-test-secret"
	region    = "us-east-1"
)

// Server is a running server.
type Server struct {
	// Dir holds a folder for each bucket, with a file for each object.
	Dir string
	// Addr is the address at which it listens.
	Addr string

	pid int
}

// ProcessorTime returns the processor time of this process and of the server so
// far, which are 0 where the system does not tell.
func (s *Server) ProcessorTime() (ours, servers time.Duration) {
	return processorTime(0), processorTime(s.pid)
}

// Start starts a server with an empty bucket called bucket and sets the
// environment of the test to its credentials. The server ends with the test.
func Start(t testing.TB) *Server { return StartAt(t, "127.0.0.1") }

// StartAt starts a server at another address of this machine.
func StartAt(t testing.TB, host string) *Server {
	t.Helper()
	program := build(t)
	s := &Server{Dir: t.TempDir(), Addr: freeAddr(t, host)}
	if err := os.Mkdir(filepath.Join(s.Dir, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(program, "--access", accessKey, "--secret", secretKey, "--region", region, "--port", s.Addr, "--quiet", "posix", s.Dir)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() && out.Len() > 0 {
			t.Logf("versitygw: %s", out.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.Addr)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("versitygw does not listen on %s: %v\n%s", s.Addr, err, out.String())
		}
	}
	for name, value := range Environ() {
		t.Setenv(name, value)
	}
	return s
}

// Environ is the environment for the server's credentials only.
func Environ() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": "", "AWS_REGION": region,
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	}
}

// Address returns the URL of a prefix of the bucket on a server, or a proxy,
// that listens at addr.
func Address(addr, prefix string) string {
	q := url.Values{"endpoint": {"http://" + addr}, "use_path_style": {"true"}, "region": {region}}
	return fmt.Sprintf("s3://bucket/%s?%s", prefix, q.Encode())
}

// Files returns the files of the objects whose keys match a pattern.
func (s *Server) Files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Dir, "bucket", filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func freeAddr(t testing.TB, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// build returns the server's program, and builds it if it does not exist. Tests
// in several processes wait for one of them to build it.
func build(t testing.TB) string {
	t.Helper()
	if program := os.Getenv("MLEFLOW_VERSITYGW"); program != "" {
		return program
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "mleflow-test", "versitygw-"+version)
	program := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err == nil {
		return program
	}
	cmd := exec.Command("go", "install", "github.com/versity/versitygw/cmd/versitygw@"+version)
	bin := filepath.Join(dir, "bin")
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=", "CGO_ENABLED=0", "GOWORK=off")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build versitygw %s (or set MLEFLOW_VERSITYGW to its program): %v\n%s", version, err, out)
	}
	if err := os.Rename(filepath.Join(bin, "versitygw"), program); err != nil {
		t.Fatal(err)
	}
	return program
}
