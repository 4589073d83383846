package supervise

import (
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// How the supervisor watches.
const (
	sampleEvery = 100 * time.Millisecond
	// killEvery is the pause between two passes that kill what is left.
	killEvery = 10 * time.Millisecond
	// killPatience is after how long a process that does not die counts as
	// stuck, in the kernel for instance.
	killPatience = 10 * time.Second
)

// A process that was started as a supervisor is nothing else. It becomes one before
// the packages of the rest of the program are initialised, which would take longer
// than all that it does.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Command && os.Getenv(Variable) != "" {
		os.Exit(serve())
	}
}

// serve runs one command below this process and reports to the mleflow that
// started it. It returns the exit status.
func serve() int {
	// The command dies with the thread that started it; this one stays.
	runtime.LockOSThread()
	closeOnExec(OrderFD)
	orders, reports := os.NewFile(OrderFD, "orders"), os.NewFile(ReportFD, "report")
	o, err := readOrder(orders)
	if err != nil {
		return 2
	}
	s := &supervision{order: o, orders: orders}
	if err := s.run().write(reports); err != nil {
		return 1
	}
	return 0
}

// supervision is the life of one command.
type supervision struct {
	order  Order
	orders io.Reader

	started time.Time
	reaped  chan reaped
	peak    int64
	// own is the supervisor's memory when it started the command: the kernel
	// counts it as the command's until that has replaced the program.
	own     int64
	stopped Reason // why the tree was stopped, "" when it was not
	status  syscall.WaitStatus
	report  Report
}

// reaped is one process that ended; none says that no descendant is left.
type reaped struct {
	pid    int
	status syscall.WaitStatus
	none   bool
}

func (s *supervision) run() Report {
	if err := becomeSubreaper(); err != nil {
		return Report{StartError: os.NewSyscallError("become subreaper", err).Error()}
	}
	if err := setLimits(s.order); err != nil {
		return Report{StartError: err.Error()}
	}
	if err := protect(s.order.ReadOnly); err != nil {
		return Report{StartError: err.Error()}
	}
	pid, err := s.startCommand()
	if err != nil {
		return Report{StartError: err.Error()}
	}
	s.watch(pid)
	s.finish()
	return s.report
}

func setLimits(o Order) error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return os.NewSyscallError("switch off core dumps", err)
	}
	if o.FileBytes > 0 {
		lim := syscall.Rlimit{Cur: uint64(o.FileBytes), Max: uint64(o.FileBytes)}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lim); err != nil {
			return os.NewSyscallError("limit file size", err)
		}
	}
	return nil
}

// limitProcesses lets what start starts have so many processes and threads more
// than the user has now, and returns its pid. The supervisor itself must be able
// to start threads when they are used up, so it has the limit only while it
// forks. The kernel holds nobody with privileges to it.
func limitProcesses(more int, start func() (int, error)) (int, error) {
	if more == 0 || os.Geteuid() == 0 {
		return start()
	}
	var own syscall.Rlimit
	if err := syscall.Getrlimit(rlimitNProc, &own); err != nil {
		return 0, os.NewSyscallError("limit processes", err)
	}
	most := min(own.Cur, threadsOf(os.Getuid())+uint64(more))
	if err := syscall.Setrlimit(rlimitNProc, &syscall.Rlimit{Cur: most, Max: own.Max}); err != nil {
		return 0, os.NewSyscallError("limit processes", err)
	}
	pid, err := start()
	_ = syscall.Setrlimit(rlimitNProc, &own)
	if err == nil {
		// It may have ended, or be another user's.
		_ = prlimit(pid, rlimitNProc, &syscall.Rlimit{Cur: most, Max: most})
	}
	return pid, err
}

func (s *supervision) startCommand() (int, error) {
	s.own = ownPeakBytes()
	s.started = time.Now()
	pid, err := limitProcesses(s.order.Processes, func() (int, error) {
		return syscall.ForkExec(s.order.Path, s.order.Command, &syscall.ProcAttr{
			Dir: s.order.Dir, Env: s.order.Env, Files: []uintptr{0, 1, 2},
			Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
		})
	})
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: s.order.Path, Err: err}
	}
	letGoOfStreams()
	s.reaped = make(chan reaped)
	go reap(s.reaped)
	return pid, nil
}

// letGoOfStreams leaves the standard streams to the command alone, so that
// their end is its end.
func letGoOfStreams() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for fd := range 3 {
		_ = syscall.Dup3(int(null.Fd()), fd, syscall.O_CLOEXEC)
	}
}

// reap collects every descendant that ends, orphans included, until there is
// none left.
func reap(out chan<- reaped) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			out <- reaped{none: true}
			return
		default:
			out <- reaped{pid: pid, status: status}
		}
	}
}

// watch returns when no descendant is left, or some would not die.
func (s *supervision) watch(pid int) {
	cancel := s.listen()
	timeout := make(<-chan time.Time)
	if s.order.Timeout > 0 {
		timeout = time.After(s.order.Timeout)
	}
	sample := time.NewTimer(sampleEvery / 10)
	kill := make(<-chan time.Time)
	var end *killing
	startKilling := func() {
		if end == nil {
			end, kill = &killing{}, time.After(0)
		}
	}
	for {
		select {
		case r := <-s.reaped:
			if r.none {
				return
			}
			if r.pid == pid {
				s.status = r.status
				s.report.Wall = time.Since(s.started)
				if !childless() {
					s.report.Leftover = len(living())
					startKilling()
				}
			}
		case polite := <-cancel:
			switch {
			case !polite:
				startKilling()
			case !s.report.Cancelled:
				timeout = s.soften()
			}
			s.report.Cancelled = true
		case <-timeout:
			if s.stopped == "" && !s.report.Cancelled {
				s.stopped = TimedOut
				timeout = s.soften()
				continue
			}
			startKilling()
		case <-sample.C:
			if s.sample() && s.stopped == "" {
				s.stopped = OutOfMemory
				startKilling()
			}
			sample.Reset(sampleEvery)
		case <-kill:
			// New ones may come for as long as they like; only some that were
			// killed and do not die end this.
			if seen, stuck := end.pass(killPatience); stuck > 0 && stuck == seen {
				s.report.Stuck = stuck
				return
			}
			kill = time.After(killEvery)
		}
	}
}

// soften asks the whole tree to end and returns when the grace is over.
func (s *supervision) soften() <-chan time.Time {
	signalAll(living(), syscall.SIGTERM)
	return time.After(s.order.Grace)
}

// listen gives true when mleflow asks for the end, false when mleflow is dead.
// Signals to the supervisor count as asking: they are caught, not ignored, as
// an ignored signal would be ignored by the command too.
func (s *supervision) listen() <-chan bool {
	cancel := make(chan bool, 1)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		<-signals
		cancel <- true
	}()
	go func() {
		buf := make([]byte, 1)
		for {
			n, err := s.orders.Read(buf)
			if n == 1 && buf[0] == CancelByte {
				cancel <- true
			}
			if err != nil {
				cancel <- false
				return
			}
		}
	}()
	return cancel
}

// sample measures the tree's memory and reports whether it is over the limit.
func (s *supervision) sample() bool {
	total := memoryOf(living(), s.order.MemoryBytes)
	s.peak = max(s.peak, total)
	return s.order.MemoryBytes > 0 && total > s.order.MemoryBytes
}

// memoryOf is the memory that processes hold. What they share is counted for
// each of them, unless that would be beyond the limit.
func memoryOf(procs []proc, limit int64) int64 {
	total := residentBytes(procs)
	if limit > 0 && total > limit {
		total = proportionalBytes(procs, total)
	}
	return total
}

func (s *supervision) finish() {
	exit := &s.report
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err == nil {
		exit.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	exit.PeakMemoryBytes = s.peak
	// A command too short to be sampled has at most what the kernel says.
	if children := usage.Maxrss * 1024; children > s.own || s.peak == 0 {
		exit.PeakMemoryBytes = max(s.peak, children)
	}
	exit.Reason, exit.Code = Exited, s.status.ExitStatus()
	if s.status.Signaled() {
		exit.Reason, exit.Signal = Signalled, int(s.status.Signal())
		exit.Code = 128 + exit.Signal
	}
	if s.stopped != "" {
		exit.Reason = s.stopped
	}
}

func ownPeakBytes() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss * 1024
}
