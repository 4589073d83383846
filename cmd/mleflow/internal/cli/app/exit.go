package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// The exit statuses of the process.
const (
	exitOK          = 0
	ExitFailed      = 1
	exitUsage       = 2
	exitMismatch    = 3
	exitInvalid     = 4
	exitClaimed     = 5
	exitFindings    = 6
	exitRunning     = 7
	exitInterrupted = 130
)

// ErrSilent is joined to errors that the person has been told of already.
var ErrSilent = errors.New("already reported")

// Failing returns err or, if something failed that was shown already, ErrSilent.
func Failing(err error, failed bool) error {
	if err == nil && failed {
		return ErrSilent
	}
	return err
}

// ErrInvalidSubmission says that a submission cannot be scored.
var ErrInvalidSubmission = errors.New("invalid submission")

// ErrClaimed says that a bundle is intact, and that not all of its scores were
// recomputed.
var ErrClaimed = errors.New("checked, but not everything was recomputed")

// ErrFindings says that a board was built in which a person should look at
// something.
var ErrFindings = errors.New("the board was built, but not everything is as it should be")

// ErrRunning says that a run has not ended in the time that a command waited for it.
var ErrRunning = errors.New("still running")

// Ended returns the error, shown already, for how a run ended; nil if it succeeded.
func Ended(status event.Status, mismatch bool) error {
	switch {
	case status == event.Cancelled:
		return fmt.Errorf("%w: %w", ErrSilent, context.Canceled)
	case mismatch:
		return fmt.Errorf("%w: %w", ErrSilent, step.ErrMismatch)
	case status == event.Failed:
		return fmt.Errorf("%w: steps failed", ErrSilent)
	}
	return nil
}

// FailsOnAgent reports whether a command line has --fail-on agent.
func FailsOnAgent(argv []string) bool {
	line := strings.Join(argv, " ") + " "
	return strings.Contains(line, "-fail-on agent ") || strings.Contains(line, "-fail-on=agent ")
}

// UsageError is wrong use of the command line.
type UsageError struct{ err error }

func (e UsageError) Error() string { return e.err.Error() }
func (e UsageError) Unwrap() error { return e.err }

// Usagef makes an error of wrong usage.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// DiagError carries diagnostics up to where they are shown.
type DiagError struct {
	List  diag.List
	files diag.Sources
}

func (e *DiagError) Error() string { return e.List.Error() }

// Unwrap returns what the world did, if that is what the diagnostics tell.
func (e *DiagError) Unwrap() error { return diag.Cause(e.List) }

// Checked returns the list as an error if it holds one.
func Checked(list diag.List, files diag.Sources) error {
	if !list.HasErrors() {
		return nil
	}
	return &DiagError{List: list, files: files}
}

// CheckedFile is Checked for the diagnostics of one file, whose lines it shows.
func CheckedFile(list diag.List, path string) error {
	src, _ := os.ReadFile(path) // if it cannot be read, the list says so and has no lines of it
	return Checked(list, diag.Sources{path: {Bytes: src}})
}

// ExitStatus maps the outcome of a command to the status of the process. It
// is the only place that does.
func ExitStatus(err error) int {
	var usage UsageError
	var diags *DiagError
	var child StatusError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &child):
		return child.Status
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &diags) && diag.Cause(diags.List) == nil:
		return exitUsage
	case errors.Is(err, step.ErrMismatch):
		return exitMismatch
	case errors.Is(err, ErrInvalidSubmission):
		return exitInvalid
	case errors.Is(err, ErrClaimed):
		return exitClaimed
	case errors.Is(err, ErrFindings):
		return exitFindings
	case errors.Is(err, ErrRunning):
		return exitRunning
	default:
		return ExitFailed
	}
}

// Wrong says that an error is a mistake in the command line, if it is no mismatch.
func Wrong(err error) error {
	if err == nil || errors.Is(err, step.ErrMismatch) {
		return err
	}
	return UsageError{err}
}

// StatusError is the exit status of a process that has told the rest itself.
type StatusError struct{ Status int }

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// ShowDiagnostics writes diagnostics to the standard error: for people with
// the lines of the file they point at, or as JSON.
func (t *Terminal) ShowDiagnostics(list diag.List, files diag.Sources) {
	if len(list) == 0 {
		return
	}
	list = Merge(list)
	var err error
	if t.JSON {
		err = diag.WriteJSON(t.Stderr, list)
	} else {
		err = diag.WriteText(t.Stderr, files, list, uint(max(0, view.Width(t.Stderr))), t.ErrStyle().Colored())
	}
	if err != nil {
		fmt.Fprintln(t.Stderr, list.Error())
	}
}

// Merge shows a mistake that many instances of a block share once, with the
// first instance's detail and the number of the others.
func Merge(list diag.List) diag.List {
	type place struct {
		summary string
		at      hcl.Range
		nowhere *hcl.Diagnostic
	}
	placeOf := func(d *hcl.Diagnostic) place {
		if d.Subject == nil {
			return place{nowhere: d}
		}
		return place{summary: d.Summary, at: *d.Subject}
	}
	return lists.Of(lists.Grouped(list, placeOf), func(same []*hcl.Diagnostic) *hcl.Diagnostic {
		shown := *same[0]
		if more := len(same) - 1; more > 0 {
			shown.Detail += fmt.Sprintf(" (And %d more here.)", more)
		}
		return &shown
	})
}

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
	// server is true if the job is a run of a server, which is only followed.
	server atomic.Bool
	// outlived is true if what runs goes on when this process ends.
	outlived atomic.Bool
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

// follow makes a policy hold from now on. A reader of our output who is gone, such
// as a terminal that was closed, does not end the process any more.
func (i *interrupts) follow(policy onInterrupt) {
	i.policy.Store(policy)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// FollowServer says that what can go on is a run of a server.
func (i *interrupts) FollowServer() {
	one := func() int { return 1 }
	i.jobs.Store(&one)
	i.server.Store(true)
}

// Outlived says that what runs goes on when this process ends.
func (i *interrupts) Outlived() { i.outlived.Store(true) }

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
		text, cause := "Stopping: steps in flight are being ended.", error(nil)
		if t.Interrupts.outlived.Load() {
			text = "Ending: what runs goes on."
		}
		if first == os.Interrupt { // only someone at a terminal can press keys
			text += " Press Ctrl-C again to quit at once."
		}
		switch t.decide(first, signals, attempts, jobs) {
		case goOn:
			t.Say("The run continues.")
			continue
		case LeaveThem:
			cause = executor.ErrLeave
			if t.Interrupts.server.Load() {
				text = "Leaving: the server goes on with the run."
			}
			if attempts > 0 {
				text = fmt.Sprintf("Leaving: %s on this machine. The next apply continues with them; mleflow runs cleanup --cancel ends them.", view.Verb(attempts, "attempt", "goes on", "go on"))
			}
		default:
			if first == PauseSignal {
				cause = engine.ErrPaused
			}
		}
		t.Say(text)
		cancel(cause)
		return first, true
	}
	return nil, false
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
	case sig != os.Interrupt || !t.CanAsk():
		return LeaveThem
	}
	var running view.Parts
	running.If(attempts > 0, view.Verb(attempts, "attempt", "runs", "run")+" on this machine")
	where := "cluster"
	if t.Interrupts.server.Load() {
		where = "server"
	}
	running.If(jobs > 0, view.Verb(jobs, "job", "runs", "run")+" on the "+where)
	answers := t.asked(running.Join(" and ") + ". Leave them running, stop them (attempts with on_loss keep a checkpoint), or continue the run? [leave/stop/continue]")
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

// CanAsk reports whether somebody can answer a question.
func (t *Terminal) CanAsk() bool { return view.IsTerminal(t.Stderr) && foreground(t.Stdin) }

// Ask asks a question and returns the answer in lower case. It is "" if there is none
// before the context ends.
func (t *Terminal) Ask(ctx context.Context, question string) string {
	select {
	case <-ctx.Done():
		return ""
	case answer := <-t.asked(question):
		return answer
	}
}

// asked asks a question and returns what will have the answer.
func (t *Terminal) asked(question string) <-chan string {
	t.Say(question)
	answers := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(t.Stdin).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	return answers
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

// FollowInterrupt makes the policy that --on-interrupt names hold from now on.
func (f *ClusterFlags) FollowInterrupt(i *interrupts) error {
	switch policy := onInterrupt(f.onInterrupt); policy {
	case AskFirst, LeaveThem, StopThem:
		i.follow(policy)
		return nil
	case "cancel": // its name when it was about jobs only
		i.follow(StopThem)
		return nil
	}
	return Usagef("--on-interrupt: %q is not known; it takes %q, %q or %q", f.onInterrupt, AskFirst, LeaveThem, StopThem)
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
