package containerd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/device"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
)

// leaseAge is the time for which new objects are safe from the daemon's garbage
// collector before anything refers to them. It is also the time after which the remains
// of a crash are collected.
const leaseAge = time.Hour

// cleanupTimeout limits the removal of a container. On a busy disk the daemon may need
// half a minute for it. Anything not removed waits for the next sweep.
const cleanupTimeout = 2 * time.Minute

// mainProcess is the name of the command's process within the task.
const mainProcess = "command"

// run is one command in its container.
type run struct {
	e    *Executor
	c    *client.Client
	spec executor.Spec
	// name is the run's name and id its container's. Each container of a run gets a new
	// id, because the daemon may still be busy with the request of a dead process.
	name, id string
	// replaced is the container that was removed to make way for this one. Its shim may
	// appear late.
	replaced string
	claim    *claim.Claim
	record   record
	// build means that the command builds an image: its root file system is writable.
	build bool
	// harvest is called after the command has exited successfully, before its container
	// is removed.
	harvest func(context.Context) error
	// resumed means that an earlier process started the command. left means that the
	// command continues without an owner.
	resumed, left bool
	// users are the host's users to which the guest's are mapped. If it is zero, the
	// guest has the host's users.
	users users
	// lost are the services that cannot be served again.
	lost []string

	output    *guest.Output
	streams   *streams
	follower  *executor.Follower
	serving   *executor.Serving
	container client.Container
	task      client.Task
	paused    <-chan client.ExitStatus // the pause's end
	command   *specs.Process           // the container's own process is the pause
	process   client.Process
	exited    <-chan client.ExitStatus // the command's end
	limits    chan time.Duration       // new time limits
}

// Run implements executor.Executor.
func (e *Executor) Run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	if err := check(spec); err != nil {
		return executor.Exit{}, err
	}
	if ctx.Err() != nil {
		return executor.Exit{}, context.Cause(ctx)
	}
	r := &run{e: e, spec: spec, name: runName(spec), limits: make(chan time.Duration, 1)}
	return r.whole(ctx, logs)
}

// whole runs the command from its claim to its removal.
func (r *run) whole(ctx context.Context, logs io.Writer) (exit executor.Exit, err error) {
	if ctx, r.c, err = r.e.connect(ctx); err != nil {
		return exit, err
	}
	if r.claim, err = claim.Await(ctx, r.e.runDir(r.name)); err != nil {
		return exit, fmt.Errorf("start command %q: %w", r.spec.ID, err)
	}
	defer func() {
		if r.left { // the next owner removes it if it cannot continue
			_ = r.serving.Close()
			r.follower.Finish()
			_ = r.claim.Drop()
			return
		}
		err = errors.Join(err, r.remove(ctx))
	}()
	ctx, started, cancel := executor.LimitSetup(ctx, r.spec.Limits.Setup)
	defer cancel()
	outer := ctx
	ctx, err = r.start(ctx, logs)
	started()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return exit, err
	}
	if r.spec.OnFreezer != nil {
		_ = r.task.Resume(ctx) // an owner that died may have left it frozen
		r.spec.OnFreezer(r.freeze)
	}
	if r.spec.OnLimit != nil {
		r.spec.OnLimit(r.extend)
	}
	if r.spec.OnStart != nil {
		r.spec.OnStart(r.record.Started)
	}
	exit, err = r.watch(ctx)
	if err == nil && exit.OK() && r.harvest != nil {
		err = r.harvest(outer)
	}
	return exit, err
}

// start finds the command that an earlier process left, or starts a new one. The
// returned context is cancelled when a service fails.
func (r *run) start(ctx context.Context, logs io.Writer) (context.Context, error) {
	found, err := r.find(ctx)
	if err != nil {
		return ctx, err
	}
	if !found {
		if err := r.create(ctx); err != nil {
			return ctx, fmt.Errorf("make container: %w", err)
		}
	}
	services := r.spec.Services
	if found && !r.alive(ctx) {
		services = nil // the earlier process died when only the removal was left
	}
	serveCtx, serving, err := executor.Serve(ctx, services, r.listen)
	if err != nil {
		return ctx, err
	}
	r.serving = serving
	if found { // the earlier output comes again
		r.follower, err = executor.Follow(r.claim.Path(outputFile), logs)
		return serveCtx, err
	}
	return serveCtx, r.launch(ctx, logs)
}

// alive reports whether the container's first process is alive.
func (r *run) alive(ctx context.Context) bool {
	status, err := r.task.Status(ctx)
	return err == nil && status.Status == client.Running
}

// listen creates a service's listener in the guest. A resumed command already knows the
// port. If the command itself took that port while nobody served it, it continues
// without the service.
func (r *run) listen(i int) (l net.Listener, err error) {
	port := r.spec.Services[i].Port
	switch {
	case i < len(r.record.Ports):
		port = r.record.Ports[i]
	case r.spec.Network.Open:
		port = 0
	}
	guest.OnThread(func() { l, err = listenIn(r.task.Pid(), port) })
	if err != nil && r.resumed {
		r.lost = append(r.lost, r.spec.Services[i].Name)
		return nil, nil
	}
	return l, err
}

// create creates the container and its task, in which only the pause will run.
func (r *run) create(ctx context.Context) error {
	ctx, release, err := r.e.lease(ctx, r.c)
	if err != nil {
		return err
	}
	defer release()
	r.id = r.name + "-" + strings.ToLower(rand.Text()[:8])
	if err := claim.Save(r.claim.Path(recordFile), r.newRecord()); err != nil {
		return err
	}
	image, err := r.e.image(ctx, r.c, r.spec.Image, r.spec.Work)
	if err != nil {
		return err
	}
	if !r.build && !r.spec.Sandbox.HostUsers { // root builds images
		if r.users, err = r.e.leaseUsers(r.name); err != nil {
			return err
		}
	}
	uid, gid, err := r.owner()
	if err != nil {
		return err
	}
	views, err := r.makeViews()
	if err != nil {
		return err
	}
	plan, err := r.blueprint(image, views)
	if err != nil {
		return err
	}
	shim, shimOptions, err := handler(r.spec.Sandbox.Handler)
	if err != nil {
		return err
	}
	r.container, err = r.c.NewContainer(ctx, r.id,
		client.WithImage(image), client.WithSnapshotter(r.e.opts.Snapshotter),
		client.WithNewSnapshot(r.id, image, snapshots.WithLabels(map[string]string{labelState: r.claim.Dir})),
		client.WithRuntime(shim, shimOptions),
		client.WithContainerLabels(r.labels()),
		client.WithNewSpec(plan.options()...))
	if err != nil {
		return err
	}
	if err := errors.Join(executor.Give(r.spec.Mounts, uid, gid), r.prepareRoot(ctx, uid, gid)); err != nil {
		return err
	}
	r.task, err = r.container.NewTask(ctx, cio.NullIO)
	if err != nil {
		return err
	}
	if r.paused, err = awaitExit(ctx, r.task); err != nil {
		return err
	}
	return r.task.Start(ctx)
}

func (r *run) blueprint(image client.Image, views map[string]string) (*blueprint, error) {
	etc := r.claim.Path("etc") // no guest shares a file with another one
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return nil, err
	}
	pause, err := pauseFile(r.claim.Dir)
	if err != nil {
		return nil, err
	}
	described, err := device.Open(r.e.opts.CDIDirs)
	if err != nil {
		return nil, err
	}
	return &blueprint{run: r, image: image, etc: etc, pause: pause, views: views, cdi: described}, nil
}

// launch starts the command in the task.
func (r *run) launch(ctx context.Context, logs io.Writer) error {
	env := executor.Variables(r.command.Env)
	maps.Copy(env, r.serving.Env())
	r.command.Env = executor.Pairs(env)
	r.record = r.newRecord()
	r.record.Started, r.record.Ports = time.Now(), r.serving.Ports()
	if err := claim.Save(r.claim.Path(recordFile), r.record); err != nil {
		return err
	}
	attach, err := r.io(logs)
	if err != nil {
		return err
	}
	// From here on, a cancellation stops the command in the regular way.
	ctx = context.WithoutCancel(ctx)
	if r.process, err = r.task.Exec(ctx, mainProcess, r.command, attach); err != nil {
		return fmt.Errorf("start command: %w", err)
	}
	if r.exited, err = awaitExit(ctx, r.process); err != nil {
		return fmt.Errorf("start command: %w", err)
	}
	if err := r.process.Start(ctx); err != nil {
		return r.startError(err)
	}
	r.streams.started(ctx, r.process)
	return nil
}

func (r *run) newRecord() record {
	l := r.spec.Limits
	grace := cmp.Or(l.Grace, executor.DefaultGrace)
	return record{
		Run: claim.Run{ID: r.spec.ID, Boot: claim.BootID(), Timeout: l.Timeout, Grace: grace}, Resume: r.spec.Resume,
		LogBytes: l.LogBytes, Socket: r.e.opts.Socket, Namespace: r.e.opts.Namespace, Container: r.id,
	}
}

// startError distinguishes a command that cannot be started from a machine that cannot
// start it. The daemon passes on only runc's error text, which quotes the program if
// that is the cause.
func (r *run) startError(err error) error {
	text := err.Error()
	name := r.spec.Command[0]
	for _, mark := range []string{"exec: " + strconv.Quote(name), "exec " + name + ":", "chdir to cwd"} {
		if strings.Contains(text, mark) {
			return executor.Unstartable(err)
		}
	}
	return fmt.Errorf("start command: %w", err)
}

// kill kills everything in the container and waits for the end. The kernel kills
// everything at once, because nothing outlives the first process of its process
// namespace.
func (r *run) kill(ctx context.Context) error {
	if r.task == nil || r.paused == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), executor.StuckTimeout)
	defer cancel()
	if err := r.task.Kill(ctx, syscall.SIGKILL, client.WithKillAll); err != nil && !gone(err) {
		return fmt.Errorf("stop command: %w", err)
	}
	select {
	case <-r.paused:
		return nil
	case <-ctx.Done():
		return executor.ErrStuck
	}
}

// remove removes everything of the run from the machine.
func (r *run) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	r.follower.Finish()
	if r.serving != nil {
		_ = r.serving.Close()
	}
	if r.id == "" {
		return removeClaim(r.claim)
	}
	err := errors.Join(r.e.discard(ctx, r.c, r.id), r.discardLate(ctx))
	if r.replaced != "" {
		err = errors.Join(err, r.e.endShim(ctx, r.replaced))
	}
	if err != nil {
		return errors.Join(err, r.claim.Drop())
	}
	return errors.Join(removeClaim(r.claim), r.e.freeUsers())
}

// discardLate removes containers and snapshots of the run that the daemon created late,
// for processes that had died and whose remains had already been removed.
func (r *run) discardLate(ctx context.Context) error {
	ours := fmt.Sprintf("labels.%q==%q", labelState, r.claim.Dir)
	containers, err := r.c.ContainerService().List(ctx, ours)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	late, err := r.e.snapshots(ctx, r.c, ours)
	for _, ct := range containers {
		err = errors.Join(err, r.e.discard(ctx, r.c, ct.ID))
		delete(late, ct.ID)
	}
	for id := range late {
		err = errors.Join(err, r.e.discardSnapshot(ctx, r.c, id))
	}
	return err
}

// labels returns the container's labels, for people who list containers and for Sweep.
func (r *run) labels() map[string]string {
	labels := map[string]string{labelRun: r.spec.ID, labelState: r.claim.Dir, labelBoot: claim.BootID()}
	for name, value := range r.spec.Labels {
		if len(name)+len(value) < 4000 {
			labels["mleflow/"+name] = value
		}
	}
	return labels
}

// The labels of containers.
const (
	labelRun   = "mleflow.id"
	labelState = "mleflow.state"
	labelBoot  = "mleflow.boot"
	// labelOwner is the process that holds a lease.
	labelOwner = "mleflow.owner"
	// labelUsed is the time of an image's last use.
	labelUsed = "mleflow.used"
)
