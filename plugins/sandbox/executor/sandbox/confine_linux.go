package sandbox

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// confined drops on this thread all privileges that the command must not have, and
// starts the command, which inherits that. The first process's other threads keep
// theirs, so the first process is out of the command's reach.
func (s *sandbox) confined(path string, env []string) (int, error) {
	p := &s.plan
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up new privileges: %w", err)
	}
	s.ready.Held["landlock"] = restrict()
	if err := dropBounds(p.Capabilities); err != nil {
		return 0, fmt.Errorf("give up capabilities: %w", err)
	}
	if err := become(p.User); err != nil {
		return 0, fmt.Errorf("become the user %d: %w", p.User.UID, err)
	}
	if err := dropCapabilities(p.Capabilities); err != nil {
		return 0, fmt.Errorf("give up capabilities: %w", err)
	}
	if len(p.Limits.CPUs) > 0 {
		var set unix.CPUSet
		for _, n := range p.Limits.CPUs {
			set.Set(n)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return 0, fmt.Errorf("keep to processors %v: %w", p.Limits.CPUs, err)
		}
	}
	limits := resourceLimits(p.Limits)
	restore, err := lower(limits)
	if err != nil {
		return 0, err
	}
	for _, filter := range [][]instruction{p.Seccomp, p.Unknown} {
		if err := loadFilter(filter); err != nil {
			restore()
			return 0, fmt.Errorf("filter system calls: %w", err)
		}
	}
	restoreScore := s.preferCommand()
	pid, err := syscall.ForkExec(path, p.Command, &syscall.ProcAttr{
		Dir: p.Dir, Env: env, Files: []uintptr{0, s.outFD, s.errFD},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	restore()
	restoreScore()
	if err != nil {
		return 0, executor.Unstartable(&os.PathError{Op: "fork/exec", Path: path, Err: err})
	}
	for what, limit := range limits {
		_ = unix.Prlimit(pid, what, &unix.Rlimit{Cur: limit, Max: limit}, nil) // the process may have ended
	}
	return pid, nil
}

// preferCommand makes the processes that are started now the first that the kernel
// kills when memory is short. Otherwise it might kill the first process, which would
// end everything.
func (s *sandbox) preferCommand() (restore func()) {
	if s.oomScore == nil {
		return func() {}
	}
	before := make([]byte, 16)
	n, _ := s.oomScore.ReadAt(before, 0)
	_, _ = s.oomScore.WriteAt([]byte("1000"), 0)
	return func() {
		_, _ = s.oomScore.WriteAt(before[:n], 0)
		s.oomScore.Close()
	}
}

// resourceLimits returns the command's kernel limits, by number.
func resourceLimits(l limitPlan) map[int]uint64 {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: executor.OpenFileLimit()}
	if l.FileBytes > 0 {
		limits[unix.RLIMIT_FSIZE] = uint64(l.FileBytes)
	}
	if l.Processes > 0 {
		// This process's threads count too, because they belong to the same user.
		own, _ := os.ReadDir("/proc/self/task")
		limits[unix.RLIMIT_NPROC] = uint64(l.Processes + len(own))
	}
	return limits
}

// lower lowers this process's own limits while the command is forked, and returns a
// function that restores them.
func lower(limits map[int]uint64) (restore func(), err error) {
	before := map[int]unix.Rlimit{}
	restore = func() {
		for what, limit := range before {
			_ = unix.Setrlimit(what, &limit)
		}
	}
	for what, limit := range limits {
		var own unix.Rlimit
		if err := unix.Getrlimit(what, &own); err != nil {
			return restore, os.NewSyscallError("getrlimit", err)
		}
		before[what] = own
		limits[what] = min(limit, own.Max)
		if err := unix.Prlimit(0, what, &unix.Rlimit{Cur: limits[what], Max: own.Max}, nil); err != nil {
			restore()
			return restore, os.NewSyscallError("prlimit", err)
		}
	}
	return restore, nil
}

// dropBounds removes all other capabilities from the bounding set, which limits those
// of the thread's children.
func dropBounds(keep []int) error {
	for n := range unix.CAP_LAST_CAP + 1 {
		if slices.Contains(keep, n) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0); err != nil && err != unix.EINVAL {
			return err // EINVAL: unknown to the kernel
		}
	}
	return nil
}

// dropCapabilities removes all other capabilities from the thread.
func dropCapabilities(keep []int) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var data [2]unix.CapUserData
	for _, n := range keep {
		bit := uint32(1) << (n % 32)
		data[n/32].Effective |= bit
		data[n/32].Permitted |= bit
		data[n/32].Inheritable |= bit
	}
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return err
	}
	for _, n := range keep {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(n), 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// loadFilter installs a filter for the thread's system calls.
func loadFilter(filter []instruction) error {
	if len(filter) == 0 {
		return nil
	}
	list := make([]unix.SockFilter, len(filter))
	for i, in := range filter {
		list[i] = unix.SockFilter(in)
	}
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// restrict puts the thread into its own Landlock domain. Processes in it can neither
// trace nor signal processes outside, reach their abstract sockets, mount, or create
// devices. The mounts restrict access to files. It returns how much of this the kernel
// supports.
func restrict() string {
	if scoped, err := enterDomain(); err != nil {
		return "off"
	} else if !scoped { // before Linux 6.12
		return "without signals"
	}
	return "on"
}

func enterDomain() (scoped bool, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return false, errno
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK}
	size := uintptr(8)
	if abi >= 2 { // without it, the kernel refuses to move files between folders
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_SIGNAL|unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, 24
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return false, errno
	}
	defer unix.Close(int(rules))
	if abi >= 2 {
		root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		defer unix.Close(root)
		below := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_REFER, Parent_fd: int32(root)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&below)), 0, 0, 0); errno != 0 {
			return false, errno
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return false, errno
	}
	return attr.Scoped != 0, nil
}
