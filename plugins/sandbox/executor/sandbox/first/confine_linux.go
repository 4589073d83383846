package first

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// confined drops on this thread all privileges that the command must not have, and
// starts the command, which inherits that. The first process's other threads keep
// theirs, so the first process is out of the command's reach.
func (s *sandbox) confined(path string, env []string) (int, error) {
	p := &s.plan
	if err := prctl(prSetNoNewPrivs, 1, 0); err != nil {
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
	if len(p.CPUs) > 0 {
		if err := setProcessors(p.CPUs); err != nil {
			return 0, fmt.Errorf("keep to processors %v: %w", p.CPUs, err)
		}
	}
	start := func() (int, error) { return s.fork(path, env) }
	for what, limit := range resourceLimits(p.Limits) {
		start = supervise.Limited(what, limit, start)
	}
	return start()
}

// fork filters the thread's system calls and starts the command.
func (s *sandbox) fork(path string, env []string) (int, error) {
	for _, filter := range [][]byte{s.plan.Seccomp, s.plan.Unknown} {
		if err := loadFilter(filter); err != nil {
			return 0, fmt.Errorf("filter system calls: %w", err)
		}
	}
	defer s.preferCommand()()
	pid, err := syscall.ForkExec(path, s.plan.Command, &syscall.ProcAttr{
		Dir: s.plan.Dir, Env: env, Files: []uintptr{0, s.outFD, s.errFD},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, unstartable{&os.PathError{Op: "fork/exec", Path: path, Err: err}}
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
func resourceLimits(l Limits) map[int]uint64 {
	limits := map[int]uint64{syscall.RLIMIT_CORE: 0, syscall.RLIMIT_NOFILE: guest.OpenFileLimit()}
	if l.FileBytes > 0 {
		limits[syscall.RLIMIT_FSIZE] = uint64(l.FileBytes)
	}
	if l.Processes > 0 {
		// This process's threads count too, because they belong to the same user.
		own, _ := os.ReadDir("/proc/self/task")
		limits[rlimitNProc] = uint64(l.Processes) + uint64(len(own))
	}
	return limits
}

// dropBounds removes all other capabilities from the bounding set, which limits those
// of the thread's children.
func dropBounds(keep []int) error {
	for n := range lastCapability + 1 {
		if slices.Contains(keep, n) || !bounded(n) {
			continue
		}
		if err := prctl(prCapBSetDrop, uintptr(n), 0); err != nil {
			return err
		}
	}
	return nil
}

// bounded reports whether the kernel knows a capability and it is in the bounding set.
func bounded(n int) bool {
	in, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapBSetRead, uintptr(n), 0, 0, 0, 0)
	return errno == 0 && in == 1
}

// dropCapabilities removes all other capabilities from the thread.
func dropCapabilities(keep []int) error {
	if err := prctl(prCapAmbient, ambientClearAll, 0); err != nil {
		return err
	}
	if err := setCapabilities(keep); err != nil {
		return err
	}
	for _, n := range keep {
		if err := prctl(prCapAmbient, ambientRaise, uintptr(n)); err != nil {
			return err
		}
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
	abi, _, errno := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, rulesetVersion)
	if errno != 0 {
		return false, errno
	}
	attr := struct{ files, network, scoped uint64 }{files: accessMakeDevice} // struct landlock_ruleset_attr
	size := uintptr(8)
	if abi >= 2 { // without it, the kernel refuses to move files between folders
		attr.files |= accessRefer
	}
	if abi >= 6 {
		attr.scoped, size = scopeAll, 24
	}
	rules, _, errno := syscall.Syscall(sysLandlockCreateRuleset, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return false, errno
	}
	defer syscall.Close(int(rules))
	if abi >= 2 {
		root, err := syscall.Open("/", openPathOnly|syscall.O_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		defer syscall.Close(root)
		below := struct { // struct landlock_path_beneath_attr
			allowed uint64
			parent  int32
		}{accessRefer, int32(root)}
		if _, _, errno := syscall.Syscall6(sysLandlockAddRule, rules, rulePathBeneath, uintptr(unsafe.Pointer(&below)), 0, 0, 0); errno != 0 {
			return false, errno
		}
	}
	if _, _, errno := syscall.Syscall(sysLandlockRestrictSelf, rules, 0, 0); errno != 0 {
		return false, errno
	}
	return attr.scoped != 0, nil
}

// become changes this thread's user to the guest's, if the first process has another.
// The thread keeps its capabilities.
func become(guest IDs) error {
	if os.Getuid() == guest.UID && os.Getgid() == guest.GID {
		return nil
	}
	for fd := range 3 { // so that the guest can open its streams by name
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO {
			_ = syscall.Fchown(fd, guest.UID, guest.GID)
		}
	}
	if err := prctl(prSetKeepCaps, 1, 0); err != nil {
		return err
	}
	uid, gid := uintptr(guest.UID), uintptr(guest.GID)
	// Go's own functions would change all threads.
	for _, call := range [][4]uintptr{{syscall.SYS_SETGROUPS, 0, 0, 0}, {syscall.SYS_SETRESGID, gid, gid, gid}, {syscall.SYS_SETRESUID, uid, uid, uid}} {
		if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}
