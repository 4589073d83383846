package containerd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// daemon starts a private containerd and returns its socket. Where there is
// none to start the test cannot run; on CI, which installs it, that is a
// failure.
func daemon(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("containerd")
	if err != nil || os.Getuid() != 0 {
		reason := fmt.Sprintf("needs root and containerd on the path (uid %d, %v)", os.Getuid(), err)
		if os.Getenv("CI") != "" && os.Getuid() == 0 {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "c.sock")
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\n[grpc]\n  address = %q\n[ttrpc]\n  address = %q\n[plugins.\"io.containerd.internal.v1.opt\"]\n  path = %q\n",
		filepath.Join(dir, "root"), filepath.Join(dir, "state"), socket, socket+".ttrpc", filepath.Join(dir, "opt"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--config", config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
	})
	waitFor(t, socket, log.Name())
	return socket
}

// waitFor waits until the daemon listens; a minute is far more than it takes.
func waitFor(t *testing.T, socket, log string) {
	t.Helper()
	for range 600 {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(log)
	t.Fatalf("containerd does not listen:\n%s", text)
}

func TestProbe(t *testing.T) {
	d, err := Probe(context.Background(), daemon(t))
	if err != nil || d.Version == "" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestProbeNobody(t *testing.T) {
	if _, err := Probe(context.Background(), filepath.Join(t.TempDir(), "none.sock")); err == nil {
		t.Error("a socket that is not there answered")
	}
}

func TestProbeSomethingElse(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "other.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	if d, err := Probe(context.Background(), socket); err == nil {
		t.Errorf("what is no containerd is taken for version %q", d.Version)
	}
}
