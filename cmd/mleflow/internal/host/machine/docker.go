package machine

import (
	"context"
	"errors"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker"
)

// dockerTimeout bounds what a server is asked: Podman starts programs to answer, which takes
// seconds on a busy machine.
const dockerTimeout = 20 * time.Second

// DockerHere says whether the runtime docker can be used.
func (m Machine) DockerHere() executor.Availability {
	c := m.docker(context.Background())
	return executor.Availability{OK: c.Status == OK, Because: c.Detail, Fix: c.Fix}
}

// docker looks for a server of Docker's API that agents can run on, and says what mleflow
// does in its place.
func (m Machine) docker(ctx context.Context) Check {
	c := Check{Name: "docker"}
	ctx, cancel := context.WithTimeout(ctx, dockerTimeout)
	defer cancel()
	socket, by, err := docker.Find(m.Env, m.Home)
	if errors.Is(err, docker.ErrNoServer) {
		return c.but(Absent, "no socket of Docker or Podman", "needed only for runtime = \"docker\": install Docker or Podman, or name its socket in DOCKER_HOST=unix:///PATH")
	}
	const other = "the runtimes containerd and sandbox need no Docker"
	if err != nil {
		return c.but(Warn, err.Error(), other)
	}
	s, err := docker.Open(ctx, socket, by)
	if err != nil {
		return c.but(Warn, err.Error(), other)
	}
	defer s.Close()
	c = c.but(OK, s.Name+" at "+socket+" (by "+by+"): "+s.Users(), "")
	if limits := s.Limits(); limits != "" {
		c = c.but(OK, "; "+limits, "")
	}
	return c
}
