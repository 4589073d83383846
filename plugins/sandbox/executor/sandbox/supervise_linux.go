package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// How the first process watches.
const (
	sampleEvery = 100 * time.Millisecond
	tellEvery   = 2 * time.Second
	// tellPatience is how long the owner is waited for.
	tellPatience = 100 * time.Millisecond
	// killEvery is the pause between two passes that kill what is left.
	killEvery = 10 * time.Millisecond
	// killPatience is how long this process waits for those that it kills. It ends
	// then, and the kernel ends and reaps whatever is left in its process namespace.
	killPatience = 10 * time.Second
)

// supervision is the command while it runs.
type supervision struct {
	pid          int
	outFD, errFD uintptr
	// output copies what a command prints that may be resumed.
	output *executor.Output
	pipe   *os.File
	copied chan struct{}
	// mu guards the owner.
	mu sync.Mutex
	// tmpfs are the file systems in memory, which count as memory.
	tmpfs []string
	// viewed are the kernel's files that the guest sees others of.
	viewed map[string]view
	// own is the most memory that the first process had when it started the command.
	own    int64
	reaped supervise.Reaped
	// held is what the command held when it was last measured.
	held, peak int64
	stopped    executor.Reason // why the command was stopped, "" when it was not
	status     syscall.WaitStatus
	report     report
}

// openOutput decides where the command's streams go: to its owner, or to a file
// where they outlive that.
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
	s.output = executor.NewOutput(s.plan.Limits.LogBytes)
	file := os.NewFile(outputFD, "output")
	s.copied = make(chan struct{})
	go func() {
		defer close(s.copied)
		_, _ = io.Copy(s.output.Writer(file), read)
	}()
	return nil
}

// letGoOfStreams leaves the standard streams to the command alone, so that their
// end is its end.
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
		_ = unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC)
	}
}

// supervise watches until nothing is left and tells the owner how it was.
func (s *sandbox) supervise() {
	s.watch()
	s.finish()
	if s.output != nil {
		select {
		case <-s.copied:
		case <-time.After(outputDelay): // somebody who does not die may write
		}
		s.report.Exit.LogDropped = s.output.Dropped()
		if text, err := json.Marshal(s.report); err == nil {
			end := os.NewFile(endFD, "end")
			_, _ = end.Write(append(text, '\n'))
			_ = end.Sync()
		}
	}
	s.tell(message{Report: &s.report})
}

func (s *sandbox) watch() {
	ends := s.reaped.Reap(s.pid)
	s.status = syscall.WaitStatus(unix.SIGKILL) // unless it is seen to end otherwise
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
			s.report.Exit.Leftover = len(alive())
			startKilling()
		case a := <-asked:
			switch {
			case a.gone:
				startKilling()
			case !s.report.Cancelled:
				timeout = s.soften()
			}
			s.report.Cancelled = true
		case <-timeout:
			if s.stopped == "" && !s.report.Cancelled {
				s.stopped = executor.TimedOut
				timeout = s.soften()
				continue
			}
			startKilling()
		case <-sample.C:
			began := time.Now()
			if s.sample() && !s.spare() && s.stopped == "" {
				s.stopped = executor.OutOfMemory
				startKilling()
				continue
			}
			sample.Reset(max(sampleEvery, time.Since(began))) // many processes take long to look at
		case <-tell.C:
			s.refresh()
			if s.plan.TellMemory {
				s.tell(message{Memory: s.held})
			}
		case <-kill:
			if time.Since(since) > killPatience {
				return
			}
			_ = unix.Kill(-1, unix.SIGKILL) // everything but this process
			kill = time.After(killEvery)
		}
	}
}

// soften asks everything to end and returns when the grace is over.
func (s *sandbox) soften() <-chan time.Time {
	_ = unix.Kill(-1, unix.SIGTERM)
	return time.After(s.plan.Limits.Grace)
}

// order is what the owner wants; gone says that it died and nobody will come.
type order struct{ gone bool }

// follow passes on what the owner says, and what the next one does.
func (s *sandbox) follow() <-chan order {
	orders := make(chan order, 1)
	go func() {
		kept := false
		for {
			m, files, err := s.current().receive()
			for _, f := range files {
				f.Close()
			}
			kept = kept || m.Keep
			switch {
			case err == nil && m.Cancel:
				orders <- order{}
			case err != nil && !(s.plan.Resume && kept && s.another()):
				orders <- order{gone: true}
				return
			}
		}
	}()
	return orders
}

// another waits for the next owner.
func (s *sandbox) another() bool {
	for {
		fd, _, err := unix.Accept4(listenFD, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err != nil {
			return false
		}
		s.mu.Lock()
		s.owner.file.Close()
		s.owner = conn{os.NewFile(uintptr(fd), "owner")}
		s.mu.Unlock()
		s.tell(message{Ready: &s.ready}, s.descriptors()...)
		return true
	}
}

func (s *sandbox) current() conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// tell tells the owner, if there is one. One that was stopped, and does not listen, is
// not waited for.
func (s *sandbox) tell(m message, fds ...int) {
	owner := s.current()
	_ = owner.file.SetWriteDeadline(time.Now().Add(tellPatience))
	_ = owner.send(m, fds...)
}

// others lists the processes in the sandbox besides the first.
func others() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive lists those of the others that have not ended.
func alive() []int {
	return slices.DeleteFunc(others(), func(pid int) bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		// The name, in brackets, may hold anything.
		state := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		return err != nil || len(state) == 0 || state[0] == "Z" || state[0] == "X"
	})
}

// sample measures what the command holds and reports whether it is over the
// limit.
func (s *sandbox) sample() bool {
	held, limit := s.memory(), s.plan.Limits.MemoryBytes
	if limit > 0 && held > limit {
		held = s.exactMemory(held)
	}
	s.held, s.peak = held, max(s.peak, held)
	return limit > 0 && held > limit
}

// spareKills is how many processes are killed for the memory of all before the
// command itself is ended: what is held may be in files.
const spareKills = 3

// spare kills the process that holds most, as the kernel does at the limit of a
// container's memory, and reports whether that may be enough.
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
	_ = unix.Kill(worst, unix.SIGKILL)
	return s.report.Exit.OOMKills < spareKills
}

// privateBytes is what a process holds besides files.
func privateBytes(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}

// memory is what the command holds that the kernel cannot give up: the memory of
// its processes without files, and the files in memory. What processes share
// counts for each of them.
func (s *sandbox) memory() (total int64) {
	for _, pid := range others() {
		total += privateBytes(pid)
	}
	return total + s.files()
}

// files is what the file systems in memory hold.
func (s *sandbox) files() (total int64) {
	for _, dir := range s.tmpfs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			total += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return total
}

// exactMemory counts what processes share once. Where the kernel does not say, it
// returns fallback.
func (s *sandbox) exactMemory(fallback int64) int64 {
	var private, shared int64
	for _, pid := range alive() {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if os.IsPermission(err) || len(text) > 0 && !strings.Contains(string(text), "Pss_Anon:") {
			return fallback
		}
		for line := range strings.Lines(string(text)) {
			name, rest, _ := strings.Cut(line, ":")
			if name != "Pss_Anon" && name != "Pss_Shmem" {
				continue
			}
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if name == "Pss_Anon" {
				private += kib * 1024
			} else {
				shared += kib * 1024
			}
		}
	}
	return private + max(shared, s.files()) // what is mapped of the files is in both
}

func ownPeakBytes() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Maxrss * 1024
}

func (s *sandbox) finish() {
	exit := &s.report.Exit
	exit.CPU, exit.PeakMemoryBytes = s.reaped.CPU(), s.peak
	// A command too short to be sampled has at most what the kernel says; it
	// counts this process's memory until the command has replaced the program.
	if most := s.reaped.MaxRSS(); most > s.own || s.peak == 0 {
		exit.PeakMemoryBytes = max(s.peak, most)
	}
	exit.Reason, exit.Code = executor.Exited, s.status.ExitStatus()
	if s.status.Signaled() {
		exit.Reason, exit.Signal = executor.Signalled, int(s.status.Signal())
		exit.Code = 128 + exit.Signal
	}
	if exit.Signal == int(unix.SIGKILL) && exit.OOMKills > 0 {
		exit.Reason = executor.OutOfMemory
	}
	if s.stopped != "" {
		exit.Reason = s.stopped
	}
}
