package executortest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Order is what an owner is told: the options of its runtime and what of a Spec can be
// written down.
type Order struct {
	Options   any
	ID, Image string
	Command   []string
	Timeout   time.Duration
	Resume    bool
	Mounts    []executor.Mount
	// Services are those of the command.
	Services []executor.Service
	// Dir is where it makes a volume, unless it is empty.
	Dir string
}

// Order has an owner run the spec.
func (b *Bench) Order(spec executor.Spec) Order {
	return Order{
		Options: b.Options, ID: spec.ID, Image: spec.Image, Command: spec.Command,
		Timeout: spec.Limits.Timeout, Resume: spec.Resume, Mounts: spec.Mounts, Services: spec.Services,
	}
}

// Owner runs an order as mleflow would, in the runtime with the options. It returns the
// exit status.
func Owner[Options any](args []string, open func(Options) executor.Runtime) int {
	var o struct {
		Order
		Options Options
	}
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		fmt.Println(err)
		return 1
	}
	runtime := open(o.Options)
	if o.Dir != "" {
		if _, err := runtime.Volume(context.Background(), executor.VolumeSpec{Dir: o.Dir, Bytes: 8 << 20}); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	spec := executor.Spec{
		ID: o.ID, Image: o.Image, Command: o.Command, Dir: "/", Resume: o.Resume, Mounts: o.Mounts,
		Limits: executor.Limits{Timeout: o.Timeout, Grace: 200 * time.Millisecond}, Services: o.Services,
	}
	Serve(&spec, "old")
	exit, err := runtime.Executor.Run(context.Background(), spec, os.Stdout)
	fmt.Println(exit, err)
	return 0
}

// Serve gives the spec's services a text to answer.
func Serve(spec *executor.Spec, text string) {
	for i := range spec.Services {
		spec.Services[i].Serve = func(_ context.Context, l net.Listener) error {
			return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		}
	}
}

// Resumable counts ticks and can be resumed.
func (b *Bench) Resumable(t *testing.T, ticks int) executor.Spec {
	spec := b.Ticks(t, ticks)
	spec.Resume = true
	return spec
}

// Ticks counts ticks, with the bench's mark in its arguments.
func (b *Bench) Ticks(t *testing.T, n int) executor.Spec {
	return b.Spec(t, "ticks", fmt.Sprint(n), b.mark())
}

func (b *Bench) mark() string { return "mark-" + b.Dir }

// Gone waits until no command runs on this machine that has the bench's mark.
func (b *Bench) Gone(t *testing.T) {
	t.Helper()
	for range 2400 {
		if len(b.alive()) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("alive: %v", b.alive())
}

func (b *Bench) alive() (list []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), b.Program) && strings.Contains(string(line), b.mark()) {
			list = append(list, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}

// Resume resumes commands of owners that were killed, or that left.
func (b *Bench) Resume(t *testing.T) {
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"not interrupted", b.notInterrupted},
		{"running", func(t *testing.T) {
			Slower(t, func(factor int) string { return b.running(t, 15*factor) })
		}},
		{"ended meanwhile", func(t *testing.T) {
			Slower(t, func(factor int) string { return b.endedMeanwhile(t, 3*factor) })
		}},
		{"time limit", func(t *testing.T) {
			Slower(t, func(factor int) string { return b.timeLimit(t, time.Duration(factor)*time.Second) })
		}},
		{"time limit without an owner", b.timeLimitAlone},
		{"service", b.resumedService},
		{"output limit", b.outputLimit},
		{"left", b.left},
		{"cancelled", b.cancelled},
	} {
		t.Run(tt.name, tt.test)
	}
}

func (b *Bench) notInterrupted(t *testing.T) {
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), b.Resumable(t, 3), &logs)
	if err != nil || !exit.OK() || exit.Resumed {
		t.Errorf("got %+v, %v", exit, err)
	}
	WantTicks(t, logs.String(), 3)
}

// running resumes a command twice. It says why it could not.
func (b *Bench) running(t *testing.T, ticks int) string {
	spec := b.Resumable(t, ticks)
	o := b.Order(spec)
	first, said := TryOwner(t, o, "tick 2")
	if first == nil {
		return said
	}
	_, err := b.Runtime.Executor.Run(t.Context(), spec, io.Discard)
	if err == nil {
		return "the owner ended, or another one took the command from it"
	}
	if !strings.Contains(err.Error(), "live process holds") {
		t.Errorf("taken from a live process: %v", err)
	}
	Kill(first)
	if problem := KillOwner(t, o, "tick 4"); problem != "" {
		return problem
	}
	left, err := b.Runtime.Left(t.Context(), spec.ID)
	if err == nil && !left {
		return "the command is not left"
	}
	if err != nil {
		t.Error(err)
	}
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
	if err == nil && !exit.Resumed {
		return "the command is not resumed"
	}
	if err != nil || !exit.OK() || exit.Wall < time.Duration(ticks)*tick || exit.PeakMemoryBytes == 0 {
		t.Errorf("got %+v, %v", exit, err)
	}
	WantTicks(t, logs.String(), ticks)
	return ""
}

// endedMeanwhile resumes a command that has ended without an owner. It says why it could
// not.
func (b *Bench) endedMeanwhile(t *testing.T, ticks int) string {
	spec := b.Resumable(t, ticks)
	began := time.Now()
	if problem := KillOwner(t, b.Order(spec), "tick 1"); problem != "" {
		return problem
	}
	b.Gone(t)
	ended := time.Since(began)
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
	if err == nil && !exit.Resumed {
		return "the command is not resumed"
	}
	if err != nil || !exit.OK() || exit.Wall > ended {
		t.Errorf("got %+v, %v after %v", exit, err, ended)
	}
	WantTicks(t, logs.String(), ticks)
	return ""
}

// timeLimit resumes a command that exceeds its time with the next owner.
func (b *Bench) timeLimit(t *testing.T, limit time.Duration) string {
	spec := b.Resumable(t, 1000)
	spec.Limits.Timeout = limit
	if problem := KillOwner(t, b.Order(spec), "tick 1"); problem != "" {
		return problem
	}
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, io.Discard)
	if err != nil || exit.Reason != executor.TimedOut || exit.Wall < limit || exit.Wall > limit+time.Minute {
		t.Errorf("got %+v, %v", exit, err)
	}
	return ""
}

// timeLimitAlone kills the owner of a command that then exceeds its time with nobody
// watching but what the runtime has left beside it.
func (b *Bench) timeLimitAlone(t *testing.T) {
	spec := b.Resumable(t, 1000)
	Slower(t, func(factor int) string {
		spec.Limits.Timeout = time.Duration(factor) * time.Second
		return KillOwner(t, b.Order(spec), "tick 1")
	})
	b.Gone(t)
	if b.Ended != nil {
		b.Ended(t)
	}
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, io.Discard)
	if err != nil || exit.Reason != executor.TimedOut || !exit.Resumed {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// resumedService sees that the service of the new owner answers.
func (b *Bench) resumedService(t *testing.T) {
	spec := b.Resumable(t, 0)
	spec.Command = []string{b.Program, GuestCommand, "asks", "ANSWERS"}
	spec.Services = []executor.Service{{Name: "answers", Env: map[string]string{"ANSWERS": executor.Address}}}
	Kill(StartOwner(t, b.Order(spec), "old"))
	Serve(&spec, "new")
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
	if err != nil || !exit.OK() || !exit.Resumed || !strings.HasPrefix(logs.String(), "old\n") || !strings.HasSuffix(logs.String(), "new\n") {
		t.Errorf("got %+v, %v:\n%s", exit, err, logs.String())
	}
}

func (b *Bench) outputLimit(t *testing.T) {
	spec := b.Resumable(t, 0)
	spec.Command = []string{b.Program, ProbeCommand, "flood", "5000000"}
	spec.Limits.LogBytes = 12_345
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
	if err != nil || logs.Len() != 12_345 || exit.LogDropped != 5_000_000-12_345 {
		t.Errorf("%d bytes, %+v, %v", logs.Len(), exit, err)
	}
}

// left sees that a command goes on which its owner leaves, and that it can be ended after
// that; one that cannot be resumed is stopped.
func (b *Bench) left(t *testing.T) {
	leave := func(spec executor.Spec) {
		ctx, cancel := context.WithCancelCause(t.Context())
		spec.OnStart = func(time.Time) { cancel(executor.ErrLeave) }
		if _, err := b.Runtime.Executor.Run(ctx, spec, io.Discard); !errors.Is(err, executor.ErrLeave) {
			t.Errorf("got %v", err)
		}
		if left, err := b.Runtime.Left(t.Context(), spec.ID); err != nil || left != spec.Resume {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	spec := b.Resumable(t, 15)
	leave(spec)
	leave(spec) // by the second owner, too
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
	if err != nil || !exit.OK() || !exit.Resumed {
		t.Errorf("got %+v, %v", exit, err)
	}
	WantTicks(t, logs.String(), 15)
	spec = b.Resumable(t, 1000)
	leave(spec)
	if err := b.Runtime.End(t.Context(), spec.ID); err != nil {
		t.Error(err)
	}
	if left, err := b.Runtime.Left(t.Context(), spec.ID); err != nil || left {
		t.Errorf("left: %v, %v", left, err)
	}
	spec.Resume = false
	leave(spec)
}

func (b *Bench) cancelled(t *testing.T) {
	cause := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	spec := b.Resumable(t, 1000)
	spec.OnStart = func(time.Time) { cancel(cause) }
	if _, err := b.Runtime.Executor.Run(ctx, spec, io.Discard); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// KilledOwners kills owners at all moments, a pause apart. What comes after finds the
// command or starts it again.
func (b *Bench) KilledOwners(t *testing.T, pause time.Duration) {
	resumed := 0
	for i := range 12 {
		Slower(t, func(factor int) string {
			exit := b.killedOwner(t, i, pause, 4*factor)
			if exit.Resumed {
				resumed++
			} else if i%4 == 3 {
				return "the command is not resumed"
			}
			return ""
		})
	}
	if resumed < 3 {
		t.Errorf("only %d were resumed", resumed)
	}
	t.Logf("%d of 12 were resumed", resumed)
}

// killedOwner kills an owner at the moment i and runs its command to the end.
func (b *Bench) killedOwner(t *testing.T, i int, pause time.Duration, ticks int) executor.Exit {
	t.Helper()
	spec := b.Resumable(t, ticks)
	spec.ID = fmt.Sprint(t.Name(), i)
	KillOwnerAt(t, b.Order(spec), i, pause, "tick 1")
	if err := b.Sweep(t.Context()); err != nil {
		t.Errorf("sweep: %v", err)
	}
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
	if err != nil || !exit.OK() {
		t.Errorf("killed after %v: %+v, %v", time.Duration(i)*pause, exit, err)
	}
	WantTicks(t, logs.String(), ticks)
	return exit
}
