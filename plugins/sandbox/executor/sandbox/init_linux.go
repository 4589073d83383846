package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// initVariable is set in the first process's own environment, so that a program that
// does not implement InitCommand cannot start itself endlessly.
const initVariable = "MLEFLOW_SANDBOX"

// Init is the first process of a sandbox. It builds the guest's world from inside,
// starts the command, reaps processes and enforces the limits. When it ends, the kernel
// kills all other processes in the sandbox. It returns the exit status. Only the hidden
// sub-command InitCommand calls it.
func Init() int {
	if os.Getenv(initVariable) == "" || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "mleflow "+InitCommand+" is started by mleflow itself, never by hand")
		return 2
	}
	os.Clearenv()
	supervise.CloseOnExec(controlFD)
	control := os.NewFile(controlFD, "owner")
	owner, err := connOf(control)
	if err := errors.Join(withstandSignals(), err); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := &sandbox{control: control, owner: owner}
	if err := s.prepare(); err != nil {
		_ = owner.send(message{Failed: err.Error(), Start: errors.Is(err, executor.ErrStart)})
		return 1
	}
	s.supervise()
	return 0
}

// sandbox is the life of one command, as seen by its first process.
type sandbox struct {
	plan plan
	// control holds the descriptor of the first owner, so that no other file gets its
	// number: links in an image could name it.
	control   *os.File
	owner     conn
	listeners []*os.File
	ready     ready
	// oomScore is the file that determines which process the kernel kills first.
	oomScore *os.File

	supervision
}

// prepare builds the guest's world and starts the command in it.
func (s *sandbox) prepare() error {
	if err := readPlan(&s.plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	unix.Umask(0o022)
	if err := s.listen(); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(s.plan.Hostname)); err != nil {
		return os.NewSyscallError("sethostname", err)
	}
	w := &world{plan: &s.plan, held: s.plan.Held}
	if err := w.make(); err != nil {
		return err
	}
	// Opened while this process has the permission.
	s.oomScore, _ = os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nobody looks into this process
		return os.NewSyscallError("prctl", err)
	}
	s.tmpfs, s.viewed, s.ready.Held = w.memory, w.viewed, w.held
	if err := s.start(); err != nil {
		return err
	}
	if err := s.owner.send(message{Ready: &s.ready}, s.descriptors()...); err != nil {
		return err
	}
	if !s.plan.Resume {
		closeAll(s.listeners)
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

func readPlan(p *plan) error {
	f := os.NewFile(planFD, "plan")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return json.NewDecoder(f).Decode(p)
}

// listen creates the services' listeners in the guest's network namespace.
func (s *sandbox) listen() error {
	if !s.plan.HostNetwork {
		if err := executor.LoopbackUp(); err != nil {
			return fmt.Errorf("bring up the loopback interface: %w", err)
		}
	}
	for _, service := range s.plan.Services {
		port := service.Port
		if s.plan.HostNetwork {
			port = 0
		}
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("listen for service %s: %w", service.Name, err)
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			return fmt.Errorf("listen for service %s: %w", service.Name, err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		l.Close()
		s.listeners, s.ready.Ports = append(s.listeners, file), append(s.ready.Ports, port)
		for _, v := range executor.Pairs(service.Variables(port)) {
			s.plan.Env = append(s.plan.Env, hostText(v))
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
	path, err := executor.LookPath(s.plan.Command[0], env, s.plan.Dir)
	if err != nil {
		return executor.Unstartable(err)
	}
	if err := s.openOutput(); err != nil {
		return err
	}
	s.own = supervise.PeakBytes()
	s.ready.Started = time.Now()
	executor.OnThread(func() { s.pid, err = s.confined(path, env) })
	if err != nil {
		return err
	}
	s.letGoOfStreams()
	return nil
}

// withHome adds HOME from the image's list of users if nothing sets it.
func withHome(env []string, uid int) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }) {
		return env
	}
	home := "/"
	found, err := user.ParsePasswdFileFilter("/etc/passwd", func(u user.User) bool { return u.Uid == uid && u.Home != "" })
	if err == nil && len(found) > 0 {
		home = found[0].Home
	}
	return append(env, "HOME="+home)
}

// sigaction is the kernel's struct sigaction: the handler, the flags, the address to
// which a handler returns, and the signals blocked meanwhile.
type sigaction [4]uint64

// handler is the address of a handler that does nothing.
var handler uint64

// withstandSignals ensures that no signal from the command ends this process, which may
// belong to the same user.
func withstandSignals() error {
	signal.Notify(make(chan os.Signal, 1))
	var own sigaction
	if err := sigactionCall(unix.SIGURG, nil, &own); err != nil {
		return err
	}
	// Go leaves two signals to C libraries. The kernel drops them for a first process,
	// except while its main thread blocks signals, as it does to start another thread.
	// They get a handler, because the command would inherit it if they were ignored.
	own[0] = handler
	for _, sig := range []unix.Signal{32, 34} {
		if err := sigactionCall(sig, &own, nil); err != nil {
			return err
		}
	}
	// If the command sends these with sigqueue, they look like faults of this process,
	// and Go would end it. Ignoring them prevents that; a real fault still ends the
	// process. Go resets them in the command.
	ignore := sigaction{1} // SIG_IGN
	for _, sig := range []unix.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS} {
		if err := sigactionCall(sig, &ignore, nil); err != nil {
			return err
		}
	}
	return nil
}

// sigactionCall sets the action of a signal, or gets it.
func sigactionCall(sig unix.Signal, set, get *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}
