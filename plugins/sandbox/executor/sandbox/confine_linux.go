package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
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
	if len(p.CPUs) > 0 {
		var set unix.CPUSet
		for _, n := range p.CPUs {
			set.Set(n)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
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
	for _, filter := range [][]unix.SockFilter{s.plan.Seccomp, s.plan.Unknown} {
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
		return 0, executor.Unstartable(&os.PathError{Op: "fork/exec", Path: path, Err: err})
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
func resourceLimits(l executor.Limits) map[int]uint64 {
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
func loadFilter(filter []unix.SockFilter) error {
	if len(filter) == 0 {
		return nil
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
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

// cgroupRoot is the mount point of cgroups of version 2.
const cgroupRoot = "/sys/fs/cgroup"

// group is a run's own cgroup, if this user can create one.
type group struct {
	dir string
	// controllers are the controllers that limit it.
	controllers []string
}

// delegated finds the nearest cgroup above this process in which this user can create
// others, and whose children have memory limits: that of a session of systemd, of a
// Slurm job, or of a pod. It returns "" if there is none.
func delegated(root, own string) string {
	for dir := filepath.Join(root, own); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		given, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		may := unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil
		if err == nil && may && slices.Contains(strings.Fields(string(given)), "memory") {
			return dir
		}
	}
	return ""
}

// newGroup creates a cgroup with the limits below another one. It returns nil without
// an error if no cgroup can be created.
func newGroup(above, name string, l executor.Limits) (*group, error) {
	if above == "" {
		return nil, nil
	}
	given, err := os.ReadFile(filepath.Join(above, "cgroup.subtree_control"))
	if err != nil {
		return nil, err
	}
	g := &group{dir: filepath.Join(above, "mleflow-"+name), controllers: strings.Fields(string(given))}
	if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, nil //nolint:nilerr // the permissions promised more
	}
	set := map[string]string{}
	if l.MemoryBytes > 0 {
		set["memory.max"] = strconv.FormatInt(l.MemoryBytes, 10)
	}
	if l.Processes > 0 && g.has("pids") {
		set["pids.max"] = strconv.Itoa(l.Processes + firstThreads)
	}
	if l.CPUs > 0 && g.has("cpu") {
		const period = 100_000
		set["cpu.max"] = fmt.Sprintf("%d %d", max(int64(l.CPUs*period), 1000), period)
	}
	var errs []error
	for file, value := range set {
		errs = append(errs, os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0o644))
	}
	if l.MemoryBytes > 0 { // if swap is counted
		if file := filepath.Join(g.dir, "memory.swap.max"); unix.Access(file, unix.W_OK) == nil {
			errs = append(errs, os.WriteFile(file, []byte("0"), 0o644))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(fmt.Errorf("limit the control group %s: %w", g.dir, err), os.Remove(g.dir))
	}
	return g, nil
}

// firstThreads is the number of threads that the first process may have, in addition to
// those of the command.
const firstThreads = 16

func (g *group) has(controller string) bool {
	return g != nil && slices.Contains(g.controllers, controller)
}

// number reads a counter, such as memory.peak, or the given line of a file with
// several.
func (g *group) number(file, line string) int64 {
	if g == nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		fields := strings.Fields(l)
		if line != "" && (len(fields) != 2 || fields[0] != line) || len(fields) == 0 {
			continue
		}
		n, _ := strconv.ParseInt(fields[len(fields)-1], 10, 64)
		return n
	}
	return 0
}

// busyGroup is the time to wait for a group that is empty but still busy.
const busyGroup = 10 * time.Second

// remove removes the group, which must be empty.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	for until := time.Now().Add(busyGroup); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Rmdir(g.dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("remove the control group %s: %w", g.dir, err)
		}
	}
}

// processors reserves as many processors of this machine as the limit allows, rounded
// up, that no other run in the folder has. They stay locked while the files are open.
// It returns none if there is no limit, or if too few processors are free. The kernel
// then schedules on all of them.
func processors(dir string, limit float64) (list []int, locks []*os.File) {
	want, all := int(math.Ceil(limit)), executor.Processors(math.MaxInt32)
	if want <= 0 || want >= len(all) || nolink.MkdirAll(dir, 0o700) != nil {
		return nil, nil
	}
	for _, n := range all {
		if len(list) == want {
			break
		}
		f, err := claim.Lock(filepath.Join(dir, strconv.Itoa(n)), 0o660)
		if err == nil {
			list, locks = append(list, n), append(locks, f)
		}
	}
	if len(list) == want {
		return list, locks
	}
	closeAll(locks)
	return nil, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
