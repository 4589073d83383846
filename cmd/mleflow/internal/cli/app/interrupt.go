package app

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// onInterrupt is what becomes of attempts and jobs that can go on without this
// process when it is interrupted.
type onInterrupt string

// The values of --on-interrupt, and the other answer to the question.
const (
	AskFirst  onInterrupt = "ask"
	LeaveThem onInterrupt = "leave"
	StopThem  onInterrupt = "stop"
	goOn      onInterrupt = "continue"
)

// PauseSignal stops a run as StopThem does, whatever its policy.
const PauseSignal = syscall.SIGUSR1

// interrupts is what decides about a signal.
type interrupts struct {
	// policy is the value of --on-interrupt; a command without it is stopped.
	policy atomic.Value
	// attempts are the agents on this machine that can go on, and jobs, if it is
	// set, counts those on a cluster.
	attempts atomic.Int64
	jobs     atomic.Pointer[func() int]
	// reading counts the pipelines that are being read.
	reading atomic.Int64
}

// Reading calls read, during which nothing is written: a signal ends the process at
// once, with the status of an interruption.
func (i *interrupts) Reading(read func()) {
	i.reading.Add(1)
	defer i.reading.Add(-1)
	read()
}

// Follow makes a policy hold from now on. A reader of our output who is gone, such
// as a terminal that was closed, does not end the process any more.
func (i *interrupts) Follow(policy onInterrupt) {
	i.policy.Store(policy)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// going returns how many attempts and jobs could go on.
func (i *interrupts) going() (attempts, jobs int) {
	if count := i.jobs.Load(); count != nil {
		jobs = (*count)()
	}
	return int(i.attempts.Load()), jobs
}

// Interruptible returns a context that SIGINT, SIGTERM or SIGHUP (the terminal is
// gone) cancels, after saying so; its cause is executor.ErrLeave if what can go on
// is to be left. Another signal ends the process at once, as the first one does while
// a pipeline is read.
func Interruptible(parent context.Context, t *Terminal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, PauseSignal)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup sets it
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		first, ok := t.interrupted(signals, cancel)
		for ok {
			var next os.Signal
			// What ends a session sends SIGHUP and SIGTERM together.
			if next, ok = <-signals; ok && (next == os.Interrupt || next == first) {
				t.leave()
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// interrupted waits for the signal that cancels, and returns it.
func (t *Terminal) interrupted(signals <-chan os.Signal, cancel context.CancelCauseFunc) (os.Signal, bool) {
	for first := range signals {
		if t.Interrupts.reading.Load() > 0 {
			t.leave()
			os.Exit(exitInterrupted)
		}
		attempts, jobs := t.Interrupts.going()
		switch t.decide(first, signals, attempts, jobs) {
		case goOn:
			t.Say("The run continues.")
			continue
		case LeaveThem:
			if attempts > 0 {
				t.Say(fmt.Sprintf("Leaving: %s on this machine. The next apply continues with them; mleflow runs cleanup --cancel ends them.", view.Verb(attempts, "attempt", "goes on", "go on")))
				cancel(executor.ErrLeave)
				return first, true
			}
			t.Say(stopping(first))
			cancel(executor.ErrLeave)
		default:
			t.Say(stopping(first))
			if first == PauseSignal {
				cancel(engine.ErrPaused)
			}
			cancel(nil) // says nothing after another cause
		}
		return first, true
	}
	return nil, false
}

// stopping says what a signal does; only someone at a terminal can press keys.
func stopping(sig os.Signal) string {
	const text = "Stopping: steps in flight are being ended."
	if sig == os.Interrupt {
		return text + " Press Ctrl-C again to quit at once."
	}
	return text
}

// decide says what a signal does, asking if there is something to ask and somebody
// who can answer.
func (t *Terminal) decide(sig os.Signal, signals <-chan os.Signal, attempts, jobs int) onInterrupt {
	policy, _ := t.Interrupts.policy.Load().(onInterrupt)
	switch {
	case sig == PauseSignal:
		return StopThem
	case policy != AskFirst || attempts+jobs == 0:
		return policy
	case sig != os.Interrupt || !view.IsTerminal(t.Stderr) || !foreground(t.Stdin):
		return LeaveThem
	}
	var running []string
	if attempts > 0 {
		running = append(running, view.Verb(attempts, "attempt", "runs", "run")+" on this machine")
	}
	if jobs > 0 {
		running = append(running, view.Verb(jobs, "job", "runs", "run")+" on the cluster")
	}
	t.Say(strings.Join(running, " and ") + ". Leave them running, stop them (attempts with on_loss keep a checkpoint), or continue the run? [leave/stop/continue]")
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(t.Stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-signals:
		return LeaveThem
	case answer := <-answers:
		switch {
		case strings.HasPrefix(answer, "s"), strings.HasPrefix(answer, "ca"):
			return StopThem
		case strings.HasPrefix(answer, "c"):
			return goOn
		}
		return LeaveThem
	}
}

// foreground reports whether r is a terminal that this process may read.
func foreground(r any) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// CheckInterrupt returns the policy that --on-interrupt names.
func (f *ClusterFlags) CheckInterrupt() (onInterrupt, error) {
	switch policy := onInterrupt(f.onInterrupt); policy {
	case AskFirst, LeaveThem, StopThem:
		return policy, nil
	case "cancel": // its name when it was about jobs only
		return StopThem, nil
	}
	return "", Usagef("--on-interrupt: %q is not known; it takes %q, %q or %q", f.onInterrupt, AskFirst, LeaveThem, StopThem)
}

// cancelJobs decides what becomes of the jobs of a run that was interrupted.
func (t *Terminal) cancelJobs(left bool, jobs int) bool {
	if left {
		t.Say(fmt.Sprintf("%s on the cluster. The next apply with --on continues with them; mleflow runs cleanup --cancel --on cancels them.", view.Verb(jobs, "job", "goes on", "go on")))
		return false
	}
	t.Say(fmt.Sprintf("Cancelling %s on the cluster.", view.Plural(jobs, "job")))
	return true
}
