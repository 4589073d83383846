package breach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const calls = "the kernel obeys the agent: use runtime = \"sandbox\" or \"containerd\", whose seccomp filter refuses these calls, and grant no capabilities"

// systemProbes try what Linux has besides files and networks.
func systemProbes() []probe {
	return []probe{
		{"memory of others", "open memory, files and root of the first process and of the machine's in /proc", masks, (*thief).memory},
		{"ptrace and signals", "trace and signal its parent and the machine's processes", masks, (*thief).trace},
		{"disks and memory", "open disks and memory in /dev, and make a device", "show no devices of the machine: use runtime = \"sandbox\" or \"containerd\", and an ordinary user", (*thief).devices},
		{"kernel settings", "open core_pattern, modprobe, sysrq-trigger, uevent_helper and binfmt_misc for writing", "mount /proc/sys and /sys read-only, or run agents as an ordinary user", opened("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/proc/sys/fs/binfmt_misc/register")},
		{"control groups", "open limits, release_agent and cgroup.procs for writing", "mount /sys/fs/cgroup read-only, or run agents as an ordinary user", groups("/sys/fs/cgroup")},
		{"namespaces", "make user and other namespaces, enter those of the first process", calls, (*thief).namespaces},
		{"keyring", "list the keyring that all processes of the user share", calls, (*thief).keyring},
		{"kernel calls", "io_uring, bpf, perf, userfaultfd, new mounts, files by handle, raw sockets", calls, (*thief).kernel},
		{"privileges", "capabilities, missing no_new_privs, missing seccomp filter", calls, (*thief).privileges},
		{"left processes", "leave a process that lives on and could change what is graded", "the runtime does not end what an agent leaves: use runtime = \"sandbox\" or \"containerd\"", (*thief).leave},
	}
}

func (t *thief) memory() (tries []try) {
	for _, pid := range append(t.victims(), "1") {
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		for _, name := range []string{"mem", "root/", "cwd/", "fd"} {
			path := filepath.Join("/proc", pid) + "/" + name
			f, err := os.Open(path)
			if err == nil && name != "mem" {
				_, err = f.Readdirnames(1)
			}
			if f != nil {
				_ = f.Close()
			}
			tries = append(tries, try{path, err})
		}
	}
	return tries
}

// trace seizes processes, which does not stop them, on a thread whose end releases them.
func (t *thief) trace() (tries []try) {
	for _, pid := range append(t.victims(), strconv.Itoa(os.Getppid())) {
		n, err := strconv.Atoi(pid)
		if err != nil || n <= 1 && len(t.victims()) > 0 { // the first process of the machine is left alone
			continue
		}
		tries = append(tries, try{"ptrace of process " + pid, apart(func() error { return raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(n)) })})
		if slices.Contains(t.victims(), pid) {
			tries = append(tries, try{"a signal to process " + pid, unix.Kill(n, 0)})
		}
	}
	return tries
}

// apart calls do on a thread that ends with it, as it may change it.
func apart(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock
		done <- do()
	}()
	return <-done
}

// raw is a system call by its number.
func raw(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if fd, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	} else if number != unix.SYS_PTRACE && fd > 2 {
		_ = unix.Close(int(fd)) //nolint:gosec // a descriptor
	}
	return nil
}

// opened opens files for writing, and writes nothing.
func opened(paths ...string) func(*thief) []try {
	return func(*thief) (tries []try) {
		for _, path := range paths {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				err = f.Close()
			}
			tries = append(tries, try{path, err})
		}
		return tries
	}
}

func (t *thief) devices() (tries []try) {
	list := []string{"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/mapper/control", "/dev/loop-control"}
	for _, pattern := range []string{"/dev/*", "/dev/*/*"} {
		found, _ := filepath.Glob(pattern)
		list = append(list, slices.DeleteFunc(found, func(path string) bool {
			info, err := os.Stat(path)
			return err != nil || info.Mode()&fs.ModeDevice == 0 || info.Mode()&fs.ModeCharDevice != 0
		})...)
	}
	for _, path := range list {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		tries = append(tries, try{path, err})
	}
	made := filepath.Join(t.agent, "device")
	err := unix.Mknod(made, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))) //nolint:gosec // a small number
	if err == nil {
		_ = os.Remove(made)
	}
	return append(tries, try{"a device that it makes", err})
}

// mostGroups limits the files of control groups that are tried.
const mostGroups = 2000

func groups(dir string) func(*thief) []try {
	return func(t *thief) []try { return t.groups(dir) }
}

func (t *thief) groups(dir string) (tries []try) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if len(tries) >= mostGroups {
			return fs.SkipAll
		}
		name := filepath.Base(path)
		if err == nil && !e.IsDir() && (strings.HasSuffix(name, ".max") || strings.Contains(name, "limit_in_bytes") || slices.Contains([]string{"release_agent", "cgroup.procs", "tasks", "notify_on_release"}, name)) {
			tries = append(tries, opened(path)(t)...)
		}
		return nil
	})
	if len(tries) == 0 {
		return []try{{"", errors.New("no control groups are visible")}}
	}
	return tries
}

func (t *thief) namespaces() []try {
	p, err := os.StartProcess("/proc/self/exe", []string{"mleflow", ThiefCommand}, &os.ProcAttr{Env: []string{}, Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if err == nil {
		_, _ = p.Wait()
	}
	tries := []try{{"a user namespace", err}}
	for _, ns := range []struct {
		name string
		flag int
	}{{"mount", unix.CLONE_NEWNS}, {"network", unix.CLONE_NEWNET}, {"process", unix.CLONE_NEWPID}, {"cgroup", unix.CLONE_NEWCGROUP}} {
		tries = append(tries, try{"a " + ns.name + " namespace", apart(func() error { return unix.Unshare(ns.flag) })})
	}
	fd, err := unix.Open("/proc/1/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = apart(func() error { return unix.Setns(fd, unix.CLONE_NEWNET) })
		_ = unix.Close(fd)
	}
	return append(tries, try{"the network namespace of the first process", err})
}

func (t *thief) keyring() []try {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	return []try{{"the user's keyring", err}}
}

func (t *thief) kernel() []try {
	zero := make([]byte, 4096)
	p := uintptr(unsafe.Pointer(&zero[0]))
	tmpfs := append([]byte("tmpfs"), 0)
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	perf, perfErr := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if perfErr == nil {
		_ = unix.Close(perf)
	}
	socket := func(domain, kind, protocol int) error {
		fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	bpf := [72]byte{0: unix.BPF_MAP_TYPE_ARRAY, 4: 4, 8: 4, 12: 1}
	_, handleErr := unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, []byte{2, 0, 0, 0, 0, 0, 0, 0}), unix.O_RDONLY)
	if errors.Is(handleErr, unix.ESTALE) { // the call was allowed, and there is no such file
		handleErr = nil
	}
	tries := []try{
		{"io_uring_setup", raw(unix.SYS_IO_URING_SETUP, 8, p)},
		{"bpf", raw(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&bpf[0])), 72)},
		{"perf_event_open", perfErr},
		{"userfaultfd", raw(unix.SYS_USERFAULTFD, unix.O_CLOEXEC)},
		{"fsopen", raw(unix.SYS_FSOPEN, uintptr(unsafe.Pointer(&tmpfs[0])), 0)},
		{"open_by_handle_at", handleErr},
		{"a raw socket", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)},
		{"a packet socket", socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300)},
	}
	runtime.KeepAlive(zero)
	return tries
}

func (t *thief) privileges() (tries []try) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return []try{{"", err}}
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		want := map[string]string{"CapPrm": "", "CapEff": "", "CapBnd": "", "NoNewPrivs": "1", "Seccomp": "2"}
		expected, known := want[name]
		switch {
		case !known:
		case strings.Trim(value, "0") == expected:
			tries = append(tries, try{name, errors.New("no capabilities, no_new_privs, seccomp")})
		default:
			tries = append(tries, try{name + " " + value, nil})
		}
	}
	return tries
}

// leave leaves a process. Its end is judged from outside; see Judge.
func (t *thief) leave() []try {
	cmd := exec.Command("/proc/self/exe", ThiefCommand, t.leftMark())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return []try{{"", fmt.Errorf("no process could be left: %w", err)}}
	}
	return []try{{"", errors.New("it was ended with the attempt")}}
}
