package confined

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mleflow/mleflow/competitions/grading"
)

// errKilled says that something else than the limits ended a child. The kernel
// does so where the machine has no memory left.
var errKilled = errors.New("the process that reads the submission was killed, as the kernel does when the machine runs out of memory")

// run starts a child where it may have that much memory and returns its answer.
func (g *Grader) run(ctx context.Context, q question, memory int64) (answer, error) {
	leave, err := g.slots.enter(ctx, memory)
	if err != nil {
		return answer{}, err
	}
	defer leave()
	text, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	cmd := exec.CommandContext(ctx, g.self, Command)
	cmd.Env = []string{variable + "=1", "GOGC=off"} // see collectLate
	cmd.WaitDelay = 10 * time.Second
	out, complaint := &grading.Head{Most: maxAnswer}, &grading.Head{Most: 16 << 10}
	cmd.Stdout, cmd.Stderr = out, complaint
	// The pipe stays open while the child lives: its end tells the child that
	// nobody waits any more.
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return answer{}, fmt.Errorf("start a process to read the submission: %w", err)
	}
	_, _ = in.Write(append(text, '\n')) // a child that is gone says more when it is waited for
	err = cmd.Wait()
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	var a answer
	if err == nil {
		if err = json.Unmarshal(out.Bytes(), &a); err == nil {
			return a, nil
		}
	}
	return answer{}, q.Limits.why(cmd, err, complaint.String())
}

// maxAnswer bounds the part of a child's answer that is kept.
const maxAnswer = 64 << 20

// why explains a child without an answer. If the submission is the cause, the
// error is a *grading.Invalid.
func (l limits) why(cmd *exec.Cmd, err error, complaint string) error {
	state := cmd.ProcessState
	status, _ := state.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	switch spent := state.UserTime() + state.SystemTime(); {
	case state.ExitCode() == exitTime, killed && spent >= l.CPU:
		return &grading.Invalid{Reason: fmt.Sprintf("reading and scoring the submission takes more than %v of CPU time", l.CPU), Rule: "limit"}
	case OutOfMemory(complaint):
		return &grading.Invalid{Reason: fmt.Sprintf("reading and scoring the submission takes more than %d MiB of memory", l.Memory>>20), Rule: "limit"}
	case killed:
		return errKilled
	}
	line, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n")
	return fmt.Errorf("read the submission in a process of its own: %w: %s", err, line)
}

// OutOfMemory reports whether the Go runtime ended a program that got no more
// memory, or whose recursion never ended. It has no other way to say so than
// these words and the status of a panic. Its collector does not look whether it got
// memory, and dies of a nil pointer on the stack of a thread (goroutine 0), where no
// code of ours runs; with C, threads say it in other words.
func OutOfMemory(complaint string) bool {
	if strings.HasPrefix(complaint, "SIGSEGV: ") && strings.Contains(complaint, "\ngoroutine 0 ") || strings.HasPrefix(complaint, "runtime/cgo: pthread_create failed") {
		return true
	}
	texts := []string{"out of memory", "cannot allocate memory", "stack overflow", "goroutine stack exceeds", "failed to create new OS thread"}
	return slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(complaint, "fatal error: "+text) || strings.Contains(complaint, "runtime: "+text)
	})
}

// Machine holds the resources that all children share.
type Machine struct {
	CPUs   float64
	Memory int64 // in bytes; 0 is unknown
}

// slots limits how many children run at once: as many as there are processors,
// and as many as the memory suffices for if each takes all that it may have.
// One whose limit is more than the machine has runs alone. Who asked first is
// first.
type slots struct {
	memory int64 // in all
	share  int64 // the least that a child takes
	left   *semaphore.Weighted
}

func newSlots(m Machine) *slots {
	cpus := max(1, int64(m.CPUs))
	if m.Memory <= 0 {
		m.Memory = cpus * baseMemory
	}
	return &slots{m.Memory, m.Memory / cpus, semaphore.NewWeighted(m.Memory)}
}

// enter waits until a child with so much memory may run. Call leave when the
// child has ended.
func (r *slots) enter(ctx context.Context, memory int64) (leave func(), err error) {
	memory = min(max(memory, r.share), r.memory)
	if err := r.left.Acquire(ctx, memory); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { r.left.Release(memory) }, nil
}
