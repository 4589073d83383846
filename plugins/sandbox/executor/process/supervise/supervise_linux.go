package supervise

import (
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Intervals of the supervisor.
const (
	sampleEvery = 100 * time.Millisecond
	// killEvery is the pause between two passes of killing.
	killEvery = 10 * time.Millisecond
	// killPatience is the time after which a killed process that has not died counts as
	// stuck, for example in the kernel.
	killPatience = 10 * time.Second
)

// A process that is started as a supervisor does nothing else. It becomes one before
// the other packages of the program are initialised, which would take longer than
// everything that the supervisor does.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Command && os.Getenv(Variable) != "" {
		os.Exit(serve())
	}
}

// serve runs commands below this process, one after another, and reports to the mleflow
// that started it. When mleflow has no more commands, it returns the exit status.
func serve() int {
	CloseOnExec(FD)
	if becomeSubreaper() != nil || syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) != nil {
		return 1
	}
	signals := make(chan os.Signal, 1)
	// The signals are caught rather than ignored, because commands would inherit that
	// they are ignored.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	messages := make(chan message)
	c := &conn{}
	go c.receive(messages)
	for m := range messages {
		if m.order == nil {
			continue // it came after the command had ended
		}
		select {
		case <-signals: // likewise
		default:
		}
		s := &supervision{order: *m.order, streams: m.streams, messages: messages, signals: signals}
		report := s.run()
		if err := report.write(c); err != nil || s.orphaned || report.Stuck > 0 {
			return 1
		}
	}
	return 0
}

// supervision is the supervision of one command.
type supervision struct {
	order    Order
	streams  []int
	messages <-chan message
	signals  <-chan os.Signal

	started time.Time
	peak    int64
	// own is the supervisor's memory when it started the command. The kernel attributes
	// it to the command until the command has replaced the program.
	own      int64
	stopped  Reason // why the tree was stopped, "" when it was not
	orphaned bool   // mleflow is dead
	status   syscall.WaitStatus
	reaped   Reaped
	report   Report
}

// run runs the command from its own thread. The thread's mount namespace ends with it,
// and the command is killed if the thread dies.
func (s *supervision) run() Report {
	started, ended := make(chan error), make(chan struct{})
	defer close(ended)
	var pid int
	go func() {
		runtime.LockOSThread()
		var err error
		pid, err = s.start()
		started <- err
		<-ended
	}()
	err := <-started
	closeAll(s.streams) // only the command has them now, so they end when it does
	if err != nil {
		return Report{StartError: err.Error()}
	}
	s.watch(pid)
	exit := &s.report
	exit.CPU, exit.PeakMemoryBytes = s.reaped.CPU(), s.reaped.Peak(s.peak, s.own)
	exit.Reason, exit.Code, exit.Signal = Ending(s.status, s.stopped)
	return s.report
}

func (s *supervision) start() (int, error) {
	if err := protect(s.order.ReadOnly); err != nil {
		return 0, err
	}
	start := s.fork
	if limit := s.order.FileBytes; limit > 0 {
		start = Limited(syscall.RLIMIT_FSIZE, uint64(limit), start)
	}
	// The kernel does not apply this limit to privileged users.
	if more := s.order.Processes; more > 0 && os.Geteuid() != 0 {
		start = Limited(rlimitNProc, threadsOf(os.Getuid())+uint64(more), start)
	}
	s.own = PeakBytes()
	s.started = time.Now()
	return start()
}

// Limited applies a limit to the command that start starts. The supervisor itself has
// the limit only while it forks, because it must be able to start threads and to serve
// another command.
func Limited(resource int, limit uint64, start func() (int, error)) func() (int, error) {
	return func() (int, error) {
		var own syscall.Rlimit
		if err := syscall.Getrlimit(resource, &own); err != nil {
			return 0, os.NewSyscallError("get limit", err)
		}
		limit := min(own.Cur, limit)
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: own.Max}); err != nil {
			return 0, os.NewSyscallError("set limit", err)
		}
		pid, err := start()
		_ = syscall.Setrlimit(resource, &own)
		if err == nil {
			// The process may have ended, or belong to another user.
			_ = prlimit(pid, resource, &syscall.Rlimit{Cur: limit, Max: limit})
		}
		return pid, err
	}
}

func (s *supervision) fork() (int, error) {
	files := make([]uintptr, len(s.streams))
	for i, fd := range s.streams {
		files[i] = uintptr(fd)
	}
	pid, err := syscall.ForkExec(s.order.Path, s.order.Command, &syscall.ProcAttr{
		Dir: s.order.Dir, Env: s.order.Env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: s.order.Path, Err: err}
	}
	return pid, nil
}

// watch returns when no descendant is left, or when some do not die.
func (s *supervision) watch(pid int) {
	ends := s.reaped.Reap(pid)
	timeout := make(<-chan time.Time)
	if s.order.Timeout > 0 {
		timeout = time.After(s.order.Timeout)
	}
	sample := time.NewTimer(sampleEvery)
	defer sample.Stop()
	messages := s.messages
	kill := make(<-chan time.Time)
	var end *killing
	startKilling := func() {
		if end == nil {
			end, kill = &killing{reaped: &s.reaped}, time.After(0)
			sample.Stop()
		}
	}
	soften := func() {
		if !s.report.Cancelled {
			s.report.Cancelled = true
			timeout = s.soften()
		}
	}
	for {
		select {
		case e, some := <-ends:
			if !some {
				return
			}
			s.status = e.Status
			s.report.Wall = e.At.Sub(s.started)
			if !childless() {
				s.report.Leftover = len(living())
				startKilling()
			}
		case m, ok := <-messages:
			if ok && m.limit > 0 {
				if s.stopped == "" && !s.report.Cancelled {
					timeout = time.After(time.Until(s.started.Add(m.limit)))
				}
				continue
			}
			if ok {
				soften()
				continue
			}
			messages, s.orphaned, s.report.Cancelled = nil, true, true
			startKilling()
		case <-s.signals:
			soften()
		case <-timeout:
			if s.stopped == "" && !s.report.Cancelled {
				s.stopped = TimedOut
				timeout = s.soften()
				continue
			}
			startKilling()
		case <-sample.C:
			began := time.Now()
			if s.sample() && s.stopped == "" {
				s.stopped = OutOfMemory
				startKilling()
				continue
			}
			sample.Reset(max(sampleEvery, time.Since(began))) // examining many processes takes long
		case <-kill:
			// New processes may appear for as long as they like. Only processes that
			// were killed and do not die end this.
			if s.report.Stuck = end.pass(killPatience); s.report.Stuck > 0 {
				return
			}
			kill = time.After(killEvery)
		}
	}
}

// soften sends SIGTERM to the whole tree. The returned channel delivers the end of the
// grace period.
func (s *supervision) soften() <-chan time.Time {
	signalAll(living(), syscall.SIGTERM)
	return time.After(s.order.Grace)
}

// sample measures the tree's memory and reports whether it exceeds the limit.
func (s *supervision) sample() bool {
	total := Memory(os.Getpid(), s.order.MemoryBytes)
	s.peak = max(s.peak, total)
	return s.order.MemoryBytes > 0 && total > s.order.MemoryBytes
}

// Reaped counts the descendants of this process that have ended.
type Reaped struct{ n, cpu, maxRSS atomic.Int64 }

// End describes the end of a command.
type End struct {
	Status syscall.WaitStatus
	At     time.Time
}

// Reap reaps every descendant that ends, including orphans. It never waits for the
// receiver, because there may be thousands of them. The channel delivers the end of the
// command, a child of this process. It is closed when no descendant is left.
func (r *Reaped) Reap(command int) <-chan End {
	end := make(chan End, 1)
	go func() {
		defer close(end)
		for {
			var status syscall.WaitStatus
			var usage syscall.Rusage
			pid, err := syscall.Wait4(-1, &status, 0, &usage)
			if err == syscall.EINTR {
				continue
			}
			if err != nil {
				return
			}
			r.n.Add(1)
			r.cpu.Add(usage.Utime.Nano() + usage.Stime.Nano())
			r.maxRSS.Store(max(r.maxRSS.Load(), usage.Maxrss*1024))
			if pid == command {
				end <- End{status, time.Now()}
				command = 0 // its PID may be reused
			}
		}
	}()
	return end
}

// CPU returns the processor time of the ended descendants.
func (r *Reaped) CPU() time.Duration { return time.Duration(r.cpu.Load()) }

// Peak returns the peak memory of a command, in bytes: the largest sample, or for a command
// that is too short to be sampled the kernel's measurement. That includes the supervisor's
// own memory, until the command has replaced the program.
func (r *Reaped) Peak(sampled, own int64) int64 {
	if most := r.maxRSS.Load(); most > own || sampled == 0 {
		return max(sampled, most)
	}
	return sampled
}

// PeakBytes returns the peak memory of this process.
func PeakBytes() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss * 1024
}

// Ending returns how a command ended: why it was stopped, unless that is "", and its exit
// status with the signal that ended it.
func Ending(status syscall.WaitStatus, stopped Reason) (reason Reason, code, signal int) {
	reason, code = Exited, status.ExitStatus()
	if status.Signaled() {
		reason, signal = Signalled, int(status.Signal())
		code = 128 + signal
	}
	if stopped != "" {
		reason = stopped
	}
	return reason, code, signal
}
