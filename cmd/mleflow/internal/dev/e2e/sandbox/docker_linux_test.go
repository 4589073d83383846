package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker/dockertest"
)

// newDockerHost is a machine for the runtime docker.
func newDockerHost(t testing.TB, server *dockertest.Server) *host {
	t.Helper()
	dir := t.TempDir()
	h := &host{t: t, runtime: "docker", server: server, dir: dir, cache: filepath.Join(dir, "cache")}
	h.env = append(os.Environ(), "DOCKER_HOST=unix://"+server.Socket, "MLEFLOW_CACHE_DIR=", "MLEFLOW_AUTO_RUNTIME=process", "TERM=dumb", "HOME="+dir)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
	h.makeImage()
	return h
}

// containers lists all that the server has.
func (h *host) containers() (list []string) {
	var found []struct {
		Names []string
		State string
	}
	text, err := h.server.Get("/containers/json?all=1")
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return []string{err.Error()}
	}
	for _, c := range found {
		list = append(list, fmt.Sprint("container ", c))
	}
	return list
}

// weakerDocker is where the runtime docker gives more than containerd, with the reason.
var weakerDocker = map[string]string{
	"inodes":          "no file system of its own: a watcher counts bytes",
	"locks of others": "files are bound, not laid below an overlay of their own",
}

// judgeDocker sees that a thief in a container gets what is known, and nothing else.
func (p *plot) judgeDocker(t *testing.T, list []finding) {
	for _, f := range list {
		if len(f.Canaries) > 0 || f.Open != (weakerDocker[f.Probe] != "") {
			t.Errorf("%s (%s): %s %v", f.Probe, f.Tried, f.Got, f.Canaries)
		}
	}
}

// TestThiefInDocker lets the thief hunt in a container of root's Docker, and
// TestThiefInPodman in one of an ordinary user's Podman.
func TestThiefInDocker(t *testing.T) {
	p := newPlot(t, newDockerHost(t, dockertest.Docker(t)))
	p.judgeDocker(t, p.hunt(t))
}

func TestThiefInPodman(t *testing.T) {
	if again(t) {
		return
	}
	p := newPlot(t, newDockerHost(t, dockertest.Podman(t)))
	p.judgeDocker(t, p.hunt(t))
}

// TestKillInDocker does what TestKill does with root's Docker, and TestKillInPodman with an
// ordinary user's Podman: the next apply adopts the container, nothing runs twice, and no
// container is left.
func TestKillInDocker(t *testing.T) { killed(t, newDockerHost(t, dockertest.Docker(t))) }

func TestKillInPodman(t *testing.T) {
	if again(t) {
		return
	}
	killed(t, newDockerHost(t, dockertest.Podman(t)))
}

// again runs the test as an ordinary user, where this is root.
func again(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return false
	}
	dockertest.Ordinary(t, t.Name(), programsVariable+"="+filepath.Dir(mleflow))
	return true
}
