package first

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// Intervals of the first process.
const (
	sampleEvery = 100 * time.Millisecond
	tellEvery   = 2 * time.Second
	// killEvery is the pause between two passes that kill what is left.
	killEvery = 10 * time.Millisecond
	// killPatience is the maximum wait for killed processes. After that, this process
	// ends, and the kernel kills and reaps the rest of its process namespace.
	killPatience = 10 * time.Second
)

// supervision is the supervision of one command.
type supervision struct {
	pid          int
	outFD, errFD uintptr
	// output copies the output of a command that can be resumed.
	output *guest.Output
	pipe   *os.File
	copied chan struct{}
	// abandoned means that the command was killed because its owner died before others
	// could find it. That is no end that they may be told of.
	abandoned bool
	// tmpfs are the file systems in memory, whose files count as memory.
	tmpfs []string
	// viewed are the kernel's files that are replaced in the guest.
	viewed map[string]view
	// own is the first process's peak memory when it started the command.
	own    int64
	reaped supervise.Reaped
	// held is the memory that the command held at the last measurement.
	held, peak int64
	stopped    supervise.Reason // why the command was stopped, "" when it was not
	status     syscall.WaitStatus
	report     Report
}

// openOutput chooses the destination of the command's streams: its owner, or a file if
// they must outlive the owner.
func (s *sandbox) openOutput() error {
	s.outFD, s.errFD = 1, 2
	if !s.plan.Resume {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	s.pipe = write
	s.outFD, s.errFD = write.Fd(), write.Fd()
	s.output = guest.NewOutput(s.plan.Limits.LogBytes)
	file := os.NewFile(OutputFD, "output")
	s.copied = make(chan struct{})
	go func() {
		defer close(s.copied)
		_, _ = io.Copy(s.output.Writer(file), read)
	}()
	return nil
}

// letGoOfStreams closes this process's copies of the standard streams, so that they end
// with the command.
func (s *sandbox) letGoOfStreams() {
	if s.pipe != nil {
		s.pipe.Close()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for fd := range 3 {
		_ = syscall.Dup3(int(null.Fd()), fd, syscall.O_CLOEXEC)
	}
}

// supervise watches until no process is left and sends the report to the owner.
func (s *sandbox) supervise() {
	s.watch()
	s.finish()
	if s.output != nil && !s.abandoned {
		select {
		case <-s.copied:
		case <-time.After(OutputDelay): // a process that does not die may still write
		}
		s.report.Exit.LogDropped = s.output.Dropped()
		end := os.NewFile(EndFD, "end")
		_, _ = end.Write(append(encode(nil, reflect.ValueOf(s.report)), '\n'))
		_ = end.Sync()
	}
	_ = s.owner.send(message{Report: &s.report})
}

func (s *sandbox) watch() {
	ends := s.reaped.Reap(s.pid)
	s.status = syscall.WaitStatus(syscall.SIGKILL) // unless its real end is seen
	asked := s.follow()
	var timeout, kill <-chan time.Time
	if s.plan.Limits.Timeout > 0 {
		timeout = time.After(s.plan.Limits.Timeout)
	}
	sample, tell := time.NewTimer(sampleEvery/10), time.NewTicker(tellEvery)
	defer sample.Stop()
	defer tell.Stop()
	var since time.Time
	startKilling := func() {
		if since.IsZero() {
			since, kill = time.Now(), time.After(0)
			sample.Stop()
		}
	}
	for {
		select {
		case e, some := <-ends:
			if !some {
				return
			}
			s.status = e.Status
			s.report.Exit.Wall = e.At.Sub(s.ready.Started)
			s.report.Exit.Leftover = len(supervise.Living(os.Getpid()))
			startKilling()
		case a := <-asked:
			switch {
			case a.gone:
				s.abandoned = since.IsZero()
				startKilling()
			case a.Limit > 0:
				if s.stopped == "" && !s.report.Cancelled {
					timeout = time.After(time.Until(s.ready.Started.Add(a.Limit)))
				}
				continue
			case !s.report.Cancelled:
				timeout = s.soften()
			}
			s.report.Cancelled = true
		case <-timeout:
			if s.stopped == "" && !s.report.Cancelled {
				s.stopped = supervise.TimedOut
				timeout = s.soften()
				continue
			}
			startKilling()
		case <-sample.C:
			began := time.Now()
			if s.sample() && !s.spare() && s.stopped == "" {
				s.stopped = supervise.OutOfMemory
				startKilling()
				continue
			}
			sample.Reset(max(sampleEvery, time.Since(began))) // examining many processes takes long
		case <-tell.C:
			s.refresh()
			if s.plan.TellUse {
				_ = s.owner.send(message{Memory: s.held, CPU: int64(supervise.CPU(os.Getpid()))})
			}
		case <-kill:
			if time.Since(since) > killPatience {
				return
			}
			_ = syscall.Kill(-1, syscall.SIGKILL) // everything but this process
			kill = time.After(killEvery)
		}
	}
}

// soften sends SIGTERM to all processes. The returned channel delivers the end of the
// grace period.
func (s *sandbox) soften() <-chan time.Time {
	_ = syscall.Kill(-1, syscall.SIGTERM)
	return time.After(s.plan.Limits.Grace)
}

// follow passes on the requests of the owner and of later owners.
func (s *sandbox) follow() <-chan order {
	orders := make(chan order, 1)
	go func() {
		kept := false
		for {
			o, ok := s.owner.receive()
			kept = kept || o.Keep
			switch {
			case ok && o.Freeze:
				s.freeze()
			case ok && o.Thaw, !ok: // an owner that died may have left it frozen
				supervise.Thaw(os.Getpid())
			}
			switch {
			case ok && (o.Cancel || o.Limit > 0):
				orders <- o
			case !ok && !(s.plan.Resume && kept && s.another()):
				orders <- order{gone: true}
				return
			}
		}
	}()
	return orders
}

// freeze stops the command for the owner.
func (s *sandbox) freeze() {
	m := message{Frozen: true}
	if _, err := supervise.Freeze(os.Getpid()); err != nil {
		m.Failed = err.Error()
	}
	_ = s.owner.send(m)
}

// another waits for the next owner.
func (s *sandbox) another() bool {
	if !s.owner.replace() {
		return false
	}
	_ = s.owner.send(message{Ready: &s.ready}, s.descriptors()...)
	return true
}

// others returns the processes in the sandbox other than the first, ended ones included.
func others() []int {
	return slices.DeleteFunc(supervise.PIDs(), func(pid int) bool { return pid == 1 })
}

// sample measures the command's memory and reports whether it exceeds the limit.
func (s *sandbox) sample() bool {
	held, limit := s.memory(), s.plan.Limits.MemoryBytes
	if limit > 0 && held > limit {
		held = s.exactMemory(held)
	}
	s.held, s.peak = held, max(s.peak, held)
	return limit > 0 && held > limit
}

// spareKills is the number of processes that are killed to free memory before the
// command itself is ended, because the memory may be in files.
const spareKills = 3

// spare kills the process with the most memory, as the kernel does at the memory limit
// of a container. It reports whether that may be enough.
func (s *sandbox) spare() bool {
	worst, most := 0, int64(0)
	for _, pid := range others() {
		if held := privateBytes(pid); held > most {
			worst, most = pid, held
		}
	}
	if worst == 0 {
		return false
	}
	s.report.Exit.OOMKills++
	_ = syscall.Kill(worst, syscall.SIGKILL)
	return s.report.Exit.OOMKills < spareKills
}

// privateBytes is the memory of a process without mapped files.
func privateBytes(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

// memory returns the command's memory that the kernel cannot reclaim: the memory of its
// processes without files, and the files in memory. Shared memory counts once per
// process.
func (s *sandbox) memory() (total int64) {
	for _, pid := range others() {
		total += privateBytes(pid)
	}
	return total + s.files()
}

// files returns the size of the file systems in memory.
func (s *sandbox) files() (total int64) {
	for _, dir := range s.tmpfs {
		var st syscall.Statfs_t
		if syscall.Statfs(dir, &st) == nil {
			total += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return total
}

// exactMemory counts shared memory once. If the kernel does not report it, it returns
// fallback.
func (s *sandbox) exactMemory(fallback int64) int64 {
	var private, shared int64
	for _, pid := range supervise.Living(os.Getpid()) {
		sums, err := supervise.Rollup(pid)
		if _, known := sums["Pss_Anon"]; os.IsPermission(err) || len(sums) > 0 && !known {
			return fallback
		}
		private += sums["Pss_Anon"]
		shared += sums["Pss_Shmem"]
	}
	return private + max(shared, s.files()) // mapped files in memory are in both
}

func (s *sandbox) finish() {
	exit := &s.report.Exit
	exit.CPU, exit.PeakMemoryBytes = s.reaped.CPU(), s.reaped.Peak(s.peak, s.own)
	exit.Reason, exit.Code, exit.Signal = supervise.Ending(s.status, s.stopped)
	if s.plan.Container {
		exit.OOMKills += groupKills()
	}
	if s.stopped == "" && exit.Signal == int(syscall.SIGKILL) && exit.OOMKills > 0 {
		exit.Reason = supervise.OutOfMemory
	}
}
