package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// Executor runs commands in containers.
type Executor struct {
	opts     Options
	owner    *sandbox.Executor
	programs image.Programs

	mu     sync.Mutex
	server *Server
	token  string
	images sync.Map // name → *sync.Mutex: one load at a time
}

// New returns the runtime's Executor. It connects to the server at first use.
func New(opts Options) *Executor {
	opts.Options = opts.WithDefaults("docker")
	e := &Executor{opts: opts}
	e.programs = image.Programs{Dir: filepath.Join(e.opts.Dir, "programs")}
	owned := opts.Options
	owned.Containers = e
	e.owner = sandbox.New(owned)
	return e
}

// Runtime returns the runtime "docker".
func (e *Executor) Runtime() executor.Runtime {
	rt := e.owner.Runtime()
	rt.Name = "docker"
	rt.Doc = "Runs the command in a container of Docker or Podman, of root or of an ordinary user, with nothing of the machine but what the " +
		"step mounts, no network and no privileges. Needs a server of Docker's API on this machine."
	rt.Executor, rt.ProgramImage, rt.Sweep = e, e.programs.Build, e.Sweep
	rt.HostImage, rt.HostProgram = "", nil
	return rt
}

// Run implements executor.Executor.
func (e *Executor) Run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	return e.owner.Run(ctx, spec, logs)
}

// connect returns the server.
func (e *Executor) connect(ctx context.Context) (*Server, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		return e.server, nil
	}
	socket, by := e.opts.Socket, "the options"
	if socket == "" {
		home, _ := os.UserHomeDir()
		var err error
		if socket, by, err = Find(os.Getenv, home); err != nil {
			return nil, err
		}
	}
	s, err := Open(ctx, socket, by)
	if err != nil {
		return nil, err
	}
	if e.token, err = secretOf(e.opts.Dir); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	e.server = s
	return s, nil
}

// secretOf returns the secret of a folder, by which its runtime knows its containers again.
func secretOf(dir string) (string, error) {
	if err := nolink.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "token")
	text, err := nolink.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if f, createErr := nolink.OpenFile(name+"."+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); createErr == nil {
			_, writeErr := f.WriteString(rand.Text())
			// The first of several processes decides.
			err = errors.Join(writeErr, f.Close(), ignore(os.Link(f.Name(), name), fs.ErrExist), os.Remove(f.Name()))
		} else {
			err = createErr
		}
		if err == nil {
			text, err = nolink.ReadFile(name)
		}
	}
	if err == nil && len(text) < 20 {
		err = fmt.Errorf("%s is not as mleflow wrote it; remove it when no attempt runs", name)
	}
	return string(text), err
}

func ignore(err, known error) error {
	if errors.Is(err, known) {
		return nil
	}
	return err
}

// Place implements sandbox.Containers.
func (e *Executor) Place(ctx context.Context, spec executor.Spec, open func(dir string) (v1.Image, error), dir string) (p sandbox.Place, err error) {
	s, err := e.connect(ctx)
	if err != nil {
		return p, err
	}
	uid, gid, err := executor.ParseUser(spec.Sandbox.User)
	if err != nil {
		return p, err
	}
	if p.User, p.Host, err = s.users(first.IDs{UID: uid, GID: gid}); err != nil {
		return p, err
	}
	p.Memory, p.CPUs, p.Processes, p.Devices = s.Memory, s.CPUs, s.Processes, s.CDI
	p.Held = map[string]string{"server": s.Name, "users": "the machine's"}
	if s.Rootless || s.Remap != nil {
		p.Held["users"] = "namespace"
	}
	if err := e.image(ctx, s, spec.Image, open, filepath.Join(dir, "image"), &p); err != nil {
		return p, fmt.Errorf("get image %s: %w", spec.Image, err)
	}
	return p, e.copyUp(ctx, s, spec, p, filepath.Join(dir, "up"))
}

// users returns the command's user in a container for the one that the Spec wants, and who
// that is on the machine unless it is the caller.
func (s *Server) users(want first.IDs) (inside first.IDs, host *first.IDs, err error) {
	own := first.IDs{UID: os.Geteuid(), GID: os.Getegid()}
	switch {
	case s.Rootless && s.podman && s.keepID:
		return want, nil, nil
	case s.Rootless && s.podman:
		return own, nil, nil
	case s.Rootless: // root of the container is the caller; it has no capabilities
		return first.IDs{}, nil, nil
	case own.UID == 0 && s.Remap != nil:
		return want, &first.IDs{UID: s.Remap.UID + want.UID, GID: s.Remap.GID + want.GID}, nil
	case own.UID == 0:
		return want, &want, nil
	case s.Remap != nil:
		return want, nil, errors.New("the server maps the users of containers to others (userns-remap), to whom only root can give files: run mleflow as root, or use rootless Podman or the runtime sandbox")
	}
	return own, nil, nil
}

// namespace returns the user namespace for a container whose command has that user.
func (s *Server) namespace(inside first.IDs) container.UsernsMode {
	switch {
	case s.Rootless && s.podman && s.keepID:
		return container.UsernsMode(fmt.Sprintf("keep-id:uid=%d,gid=%d", inside.UID, inside.GID))
	case s.Rootless && s.podman:
		return "keep-id"
	}
	return ""
}

// The paths in a container of its first process and of the door.
const (
	initPath = "/dev/mleflow-init"
	doorPath = "/dev/mleflow-door"
)

// The labels of containers.
const (
	labelID  = "mleflow.id"
	labelRun = "mleflow.run"
)

// Start implements sandbox.Containers.
func (e *Executor) Start(ctx context.Context, c sandbox.Container) (string, error) {
	s, err := e.connect(ctx)
	if err != nil {
		return "", err
	}
	config, host, err := e.describe(s, c)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	made, err := s.create(ctx, "mleflow-"+c.Run, config, host)
	if err != nil {
		return "", s.explain(err)
	}
	if _, err = s.client.ContainerStart(ctx, made, client.ContainerStartOptions{}); err != nil {
		return made, s.explain(err)
	}
	return made, nil
}

// createTries is the number of names that are tried, as somebody may have taken one.
const createTries = 3

func (s *Server) create(ctx context.Context, name string, config *container.Config, host *container.HostConfig) (id string, err error) {
	for range createTries {
		var made client.ContainerCreateResult
		made, err = s.client.ContainerCreate(ctx, client.ContainerCreateOptions{Config: config, HostConfig: host, Name: name + "-" + strings.ToLower(rand.Text()[:8])})
		if err == nil && !identifier.MatchString(made.ID) {
			return "", fmt.Errorf("the server names a new container %.80q, which is no identifier", made.ID)
		}
		if err == nil || !errdefs.IsConflict(err) {
			return made.ID, err
		}
	}
	return "", err
}

var identifier = regexp.MustCompile(`^[0-9a-f]{12,128}$`)

// Running implements sandbox.Containers.
func (e *Executor) Running(ctx context.Context, id string) (bool, error) {
	state, err := e.state(ctx, id)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return state.Running, err
}

func (e *Executor) state(ctx context.Context, id string) (state container.State, err error) {
	s, err := e.connect(ctx)
	if err != nil {
		return state, err
	}
	if !identifier.MatchString(id) {
		return state, fmt.Errorf("%.80q names no container", id)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := s.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	for range inspectTries { // Podman fails now and then while a container changes its state
		if err == nil || errdefs.IsNotFound(err) || progress.Sleep(ctx, inspectPause) != nil {
			break
		}
		found, err = s.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	}
	if err != nil {
		return state, fmt.Errorf("look at container %.12s: %w", id, tidy(err))
	}
	if found.Container.State != nil {
		state = *found.Container.State
	}
	return state, nil
}

// A container is looked at again when that failed: who adopts one would end it otherwise.
const (
	inspectTries = 10
	inspectPause = 300 * time.Millisecond
)

// Failure implements sandbox.Containers.
func (e *Executor) Failure(ctx context.Context, id string) string {
	state, err := e.state(ctx, id)
	switch {
	case err != nil:
		return err.Error()
	case state.OOMKilled:
		return "its memory limit is too small for its first process"
	case state.ExitCode == first.NoDoor:
		return "its first process cannot reach mleflow's socket; AppArmor, SELinux or the container's runtime may refuse it"
	case state.Error != "":
		return tidy(errors.New(state.Error)).Error()
	}
	return fmt.Sprintf("its first process ended with status %d", state.ExitCode)
}

// OutOfMemory implements sandbox.Containers.
func (e *Executor) OutOfMemory(ctx context.Context, id string) bool {
	state, err := e.state(ctx, id)
	return err == nil && state.OOMKilled
}

// runName is the name of a run.
var runName = regexp.MustCompile(`^[0-9a-f]{24}$`)

// list returns the IDs of the runtime's containers, by run.
func (e *Executor) list(ctx context.Context, s *Server, label string) (map[string][]string, error) {
	found, err := s.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", tidy(err))
	}
	runs := map[string][]string{}
	for _, c := range found.Items {
		token, run, _ := strings.Cut(c.Labels[labelRun], "/") // a server may ignore the filter
		if token == e.token && runName.MatchString(run) && identifier.MatchString(c.ID) {
			runs[run] = append(runs[run], c.ID)
		}
	}
	return runs, nil
}

// Runs implements sandbox.Containers.
func (e *Executor) Runs(ctx context.Context) ([]string, error) {
	s, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	runs, err := e.list(ctx, s, labelRun)
	return slices.Collect(keys(runs)), err
}

// Remove implements sandbox.Containers.
func (e *Executor) Remove(ctx context.Context, run string) error {
	s, err := e.connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var failed error
	for until := time.Now().Add(removePatience); ; time.Sleep(20 * time.Millisecond) {
		runs, err := e.list(ctx, s, labelRun+"="+e.token+"/"+run)
		if err != nil || len(runs[run]) == 0 {
			return err
		}
		if failed != nil && time.Now().After(until) {
			return failed
		}
		failed = nil
		for _, id := range runs[run] {
			if _, err := s.client.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil && !errdefs.IsNotFound(err) {
				failed = fmt.Errorf("remove container %.12s: %w", id, tidy(err))
			}
		}
	}
}

// removePatience is how long a container is removed again and again: a server refuses while
// it starts one, while another request removes it, and Podman while one ends.
const removePatience = time.Minute

// Sweep removes the remains of dead processes; see executor.Runtime.
func (e *Executor) Sweep(ctx context.Context) error { return e.sweep(ctx, image.MaxAge, e.owner.Sweep) }

// Purge is Sweep without waiting times.
func (e *Executor) Purge(ctx context.Context) error { return e.sweep(ctx, 0, e.owner.Purge) }

func (e *Executor) sweep(ctx context.Context, age time.Duration, runs func(context.Context) error) error {
	if _, err := os.Stat(filepath.Join(e.opts.Dir, "token")); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever run
	}
	s, err := e.connect(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	return errors.Join(runs(ctx), e.sweepImages(ctx, s, age), image.Sweep(e.programs.Dir, age, os.RemoveAll))
}
