package first

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// A process that is started as the first of a sandbox does nothing else. It becomes one
// before the other packages of the program are initialised, which would take longer than
// everything that it does until the command starts.
func init() {
	switch {
	case len(os.Args) < 2 || os.Getenv(Variable) == "":
	case len(os.Args) == 2 && os.Args[1] == Command && os.Getpid() == 1:
		if door := os.Getenv(Variable); door[0] == '/' {
			os.Exit(enter(door))
		}
		os.Exit(run())
	case len(os.Args) == 3 && os.Args[1] == LaunchCommand:
		os.Exit(launch(os.Args[2]))
	}
}

// run is the first process of a sandbox. It builds the guest's world from inside,
// starts the command, reaps processes and enforces the limits. When it ends, the kernel
// kills all other processes in the sandbox. It returns the exit status.
func run() int {
	os.Clearenv()
	supervise.CloseOnExec(ControlFD)
	for _, fd := range []int{ControlFD, ListenFD} {
		_ = syscall.SetNonblock(fd, false) // there is no listener if the command cannot be resumed
	}
	s := &sandbox{owner: owner{fd: ControlFD}}
	err := withstandSignals()
	if err == nil {
		err = s.prepare()
	}
	if err != nil {
		var start unstartable
		_ = s.owner.send(message{Failed: err.Error(), Start: errors.As(err, &start)})
		return 1
	}
	s.supervise()
	return 0
}

// unstartable is an error that the command itself causes.
type unstartable struct{ error }

// sandbox is the life of one command, as seen by its first process.
type sandbox struct {
	plan      Plan
	owner     owner
	listeners []*os.File
	ready     Ready
	// oomScore is the file that determines which process the kernel kills first.
	oomScore *os.File

	supervision
}

// prepare builds the guest's world and starts the command in it.
func (s *sandbox) prepare() error {
	if err := readPlan(&s.plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	syscall.Umask(0o022)
	if err := s.listen(); err != nil {
		return err
	}
	w := &world{plan: &s.plan, held: s.plan.Held}
	if s.plan.Container {
		spareThreads()
		for _, t := range s.plan.Tmpfs {
			w.memory = append(w.memory, t.Guest)
		}
	} else if err := errors.Join(os.NewSyscallError("sethostname", syscall.Sethostname([]byte(s.plan.Hostname))), w.make()); err != nil {
		return err
	}
	if s.plan.Container { // a program that it cannot read hides its files even from itself
		_ = prctl(prSetDumpable, 1, 0)
	}
	// Opened while this process has the permission.
	s.oomScore, _ = os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err := prctl(prSetDumpable, 0, 0); err != nil { // nobody looks into this process
		return os.NewSyscallError("prctl", err)
	}
	s.tmpfs, s.viewed, s.ready.Held = w.memory, w.viewed, w.held
	if err := s.start(); err != nil {
		return err
	}
	if err := s.owner.send(message{Ready: &s.ready}, s.descriptors()...); err != nil {
		return err
	}
	s.owner.hurry()
	if !s.plan.Resume {
		for _, l := range s.listeners {
			l.Close()
		}
	}
	return nil
}

// descriptors returns the descriptors of the listeners.
func (s *sandbox) descriptors() []int {
	fds := make([]int, 0, len(s.listeners))
	for _, l := range s.listeners {
		fds = append(fds, int(l.Fd()))
	}
	return fds
}

func readPlan(p *Plan) error {
	f := os.NewFile(PlanFD, "plan")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return decode(text, p)
}

// listen creates the services' listeners in the guest's network namespace.
func (s *sandbox) listen() error {
	if !s.plan.HostNetwork && !s.plan.Container {
		if err := guest.LoopbackUp(); err != nil {
			return fmt.Errorf("bring up the loopback interface: %w", err)
		}
	}
	for _, service := range s.plan.Services {
		port := service.Port
		if s.plan.HostNetwork {
			port = 0
		}
		file, at, err := listenAt(port)
		if err != nil {
			return fmt.Errorf("listen for service %s: %w", service.Name, err)
		}
		s.listeners, s.ready.Ports = append(s.listeners, file), append(s.ready.Ports, at)
		address := fmt.Appendf(nil, "http://127.0.0.1:%d", at)
		for _, name := range slices.Sorted(maps.Keys(service.Env)) {
			value := bytes.ReplaceAll([]byte(service.Env[name]), []byte(guest.Address), address)
			s.plan.Env = append(s.plan.Env, Text(name+"="+string(value)))
		}
	}
	return nil
}

// start starts the command.
func (s *sandbox) start() error {
	env := make([]string, len(s.plan.Env))
	for i, v := range s.plan.Env {
		env[i] = string(v)
	}
	env = withHome(env, s.plan.User.UID)
	path, err := guest.LookPath(s.plan.Command[0], env, s.plan.Dir)
	if err != nil {
		return unstartable{err}
	}
	if err := s.openOutput(); err != nil {
		return err
	}
	s.own = supervise.PeakBytes()
	s.ready.Started = time.Now()
	guest.OnThread(func() { s.pid, err = s.confined(path, env) })
	if err != nil {
		return err
	}
	s.letGoOfStreams()
	return nil
}

// withHome adds HOME from the image's list of users if nothing sets it.
func withHome(env []string, uid int) []string {
	if slices.ContainsFunc(env, func(v string) bool { return bytes.HasPrefix([]byte(v), []byte("HOME=")) }) {
		return env
	}
	list, _ := os.ReadFile("/etc/passwd")
	for line := range bytes.Lines(list) { // name:password:uid:gid:comment:home:shell
		fields := bytes.Split(bytes.TrimSpace(line), []byte(":"))
		if len(fields) > 5 && string(fields[2]) == strconv.Itoa(uid) && len(fields[5]) > 0 {
			return append(env, "HOME="+string(fields[5]))
		}
	}
	return append(env, "HOME=/")
}

// sigaction is the kernel's struct sigaction: the handler, the flags, the address to
// which a handler returns, and the signals blocked meanwhile.
type sigaction [4]uint64

// handler is the address of a handler that does nothing.
var handler uint64

// faults are the signals that look like faults of this process if the command sends them
// with sigqueue. Go would end the process.
var faults = []syscall.Signal{syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS}

// withstandSignals ensures that no signal from the command ends this process, which may
// belong to the same user.
//
// The kernel drops signals without a handler for a first process, except while its main
// thread blocks signals, as it does to start another thread. Package os/signal gives
// handlers too, but switches threads twice for each signal. The command does not inherit
// a handler; Go resets ignored signals in it.
func withstandSignals() error {
	var action sigaction // Go preempts with SIGURG, which keeps its handler
	if err := sigactionCall(syscall.SIGURG, nil, &action); err != nil {
		return err
	}
	action[0] = handler
	ignore := sigaction{1} // SIG_IGN; a real fault still ends the process
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		set := &action
		switch {
		case sig == syscall.SIGKILL || sig == syscall.SIGSTOP || sig == syscall.SIGURG:
			continue
		case slices.Contains(faults, sig):
			set = &ignore
		}
		if err := sigactionCall(sig, set, nil); err != nil {
			return err
		}
	}
	return nil
}

// sigactionCall sets the action of a signal, or gets it.
func sigactionCall(sig syscall.Signal, set, get *sigaction) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}
