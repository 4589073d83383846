package cli

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
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// onInterrupt is what becomes of attempts and jobs that can go on without this
// process when it is interrupted.
type onInterrupt string

// The values of --on-interrupt, and the other answer to the question.
const (
	askFirst  onInterrupt = "ask"
	leaveThem onInterrupt = "leave"
	stopThem  onInterrupt = "stop"
	goOn      onInterrupt = "continue"
)

// interrupts is what decides about a signal.
type interrupts struct {
	// policy is the value of --on-interrupt; a command without it is stopped.
	policy atomic.Value
	// attempts are the agents on this machine that can go on, and jobs, if it is
	// set, counts those on a cluster.
	attempts atomic.Int64
	jobs     atomic.Pointer[func() int]
}

// follow makes a policy hold from now on. A reader of our output who is gone, such
// as a terminal that was closed, does not end the process any more.
func (i *interrupts) follow(policy onInterrupt) {
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

// interruptible returns a context that SIGINT, SIGTERM or SIGHUP (the terminal is
// gone) cancels, after saying so; its cause is executor.ErrLeave if what can go on
// is to be left. Another signal ends the process at once.
func interruptible(parent context.Context, t *terminal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
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
func (t *terminal) interrupted(signals <-chan os.Signal, cancel context.CancelCauseFunc) (os.Signal, bool) {
	for first := range signals {
		attempts, jobs := t.interrupts.going()
		switch t.decide(first, signals, attempts, jobs) {
		case goOn:
			t.say("The run continues.")
			continue
		case leaveThem:
			if attempts > 0 {
				t.say(fmt.Sprintf("Leaving: %s on this machine. The next apply continues with them; mleflow runs cleanup --cancel ends them.", goingOn(attempts, "attempt")))
				cancel(executor.ErrLeave)
				return first, true
			}
			t.say(stopping)
			cancel(executor.ErrLeave)
		default:
			t.say(stopping)
			cancel(nil)
		}
		return first, true
	}
	return nil, false
}

const stopping = "Stopping: steps in flight are being ended. Press Ctrl-C again to quit at once."

// decide says what a signal does, asking if there is something to ask and somebody
// who can answer.
func (t *terminal) decide(sig os.Signal, signals <-chan os.Signal, attempts, jobs int) onInterrupt {
	policy, _ := t.interrupts.policy.Load().(onInterrupt)
	switch {
	case policy != askFirst || attempts+jobs == 0:
		return policy
	case sig != os.Interrupt || !view.IsTerminal(t.stderr) || !foreground(t.stdin):
		return leaveThem
	}
	var running []string
	if attempts > 0 {
		running = append(running, runs(attempts, "attempt")+" on this machine")
	}
	if jobs > 0 {
		running = append(running, runs(jobs, "job")+" on the cluster")
	}
	t.say(strings.Join(running, " and ") + ". Leave them running, stop them, or continue the run? [leave/stop/continue]")
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(t.stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-signals:
		return leaveThem
	case answer := <-answers:
		switch {
		case strings.HasPrefix(answer, "s"), strings.HasPrefix(answer, "ca"):
			return stopThem
		case strings.HasPrefix(answer, "c"):
			return goOn
		}
		return leaveThem
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

// checkInterrupt returns the policy that --on-interrupt names.
func (f *clusterFlags) checkInterrupt() (onInterrupt, error) {
	switch policy := onInterrupt(f.onInterrupt); policy {
	case askFirst, leaveThem, stopThem:
		return policy, nil
	case "cancel": // its name when it was about jobs only
		return stopThem, nil
	}
	return "", usagef("flag -on-interrupt: %q is not known; it takes %q, %q or %q", f.onInterrupt, askFirst, leaveThem, stopThem)
}

// cancelJobs decides what becomes of the jobs of a run that was interrupted.
func (t *terminal) cancelJobs(left bool, jobs int) bool {
	if left {
		t.say(fmt.Sprintf("%s on the cluster. The next apply with --on continues with them; mleflow runs cleanup --cancel --on cancels them.", goingOn(jobs, "job")))
		return false
	}
	t.say(fmt.Sprintf("Cancelling %s on the cluster.", view.Plural(jobs, "job")))
	return true
}

func runs(n int, what string) string {
	if n == 1 {
		return "1 " + what + " runs"
	}
	return fmt.Sprintf("%d %ss run", n, what)
}

func goingOn(n int, what string) string {
	if n == 1 {
		return "1 " + what + " goes on"
	}
	return fmt.Sprintf("%d %ss go on", n, what)
}
