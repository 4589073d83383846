package executor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is the part of the machine that a command may use, and should therefore see.
// Without CPUs or MemoryBytes, it is all of them.
type Machine struct {
	CPUs        []int
	MemoryBytes int64
}

// MachineOf returns the Machine of a command with these limits. Its processors are the
// first ones of this process.
func MachineOf(l Limits) Machine {
	m := Machine{MemoryBytes: l.MemoryBytes}
	if l.CPUs > 0 {
		m.CPUs = Processors(l.CPUs)
	}
	return m
}

// Processors returns as many of this process's processors as the limit allows, rounded
// up.
func Processors(limit float64) (list []int) {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return nil
	}
	for n := 0; n < len(allowed)*64 && len(list) < int(math.Ceil(limit)); n++ {
		if allowed.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

// OpenFileLimit is the limit on open descriptors of a guest.
func OpenFileLimit() uint64 {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err == nil {
		return min(OpenFiles, own.Max)
	}
	return OpenFiles
}

// MachineFiles are the kernel's files that describe the machine.
var MachineFiles = []string{
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
	"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present",
}

// Show returns the content that a command sees in one of MachineFiles. text is the real
// content, and held is the memory in bytes that the command currently holds.
func (m Machine) Show(file, text string, held int64) string {
	switch {
	case file == "/proc/meminfo":
		return m.memory(text, held)
	case len(m.CPUs) == 0:
		return text
	case file == "/proc/cpuinfo":
		return m.cpuInfo(text)
	case file == "/proc/stat":
		return m.stat(text)
	}
	return m.list()
}

// has reports whether the guest has the processor with that number.
func (m Machine) has(number string) bool {
	n, err := strconv.Atoi(strings.TrimSpace(number))
	return err == nil && slices.Contains(m.CPUs, n)
}

// cpuInfo keeps the paragraphs of the guest's processors.
func (m Machine) cpuInfo(text string) string {
	var out strings.Builder
	for part := range strings.SplitAfterSeq(text, "\n\n") {
		label, rest, _ := strings.Cut(part, ":")
		number, _, _ := strings.Cut(rest, "\n")
		if strings.TrimSpace(label) != "processor" || m.has(number) {
			out.WriteString(part)
		}
	}
	return out.String()
}

// stat keeps the lines of the guest's processors and puts their sums into the first
// line.
func (m Machine) stat(text string) string {
	var sums []int64
	var rest bytes.Buffer
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		number, ok := strings.CutPrefix(fields[0], "cpu")
		if !ok {
			rest.WriteString(line)
			continue
		}
		if !m.has(number) {
			continue
		}
		rest.WriteString(line)
		sums = append(sums, make([]int64, max(0, len(fields)-1-len(sums)))...)
		for i, f := range fields[1:] {
			n, _ := strconv.ParseInt(f, 10, 64)
			sums[i] += n
		}
	}
	return "cpu  " + strings.Trim(fmt.Sprint(sums), "[]") + "\n" + rest.String()
}

// memory shows a machine with as much memory as the guest may use, and without swap.
func (m Machine) memory(text string, held int64) string {
	if m.MemoryBytes == 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		value, unit, _ := strings.Cut(strings.TrimSpace(rest), " ")
		kib, err := strconv.ParseInt(value, 10, 64)
		most := m.MemoryBytes / 1024
		switch {
		case strings.HasPrefix(name, "Swap"):
			most = 0
		case name == "MemFree" || name == "MemAvailable":
			most = max(0, most-held/1024)
		}
		if err != nil || unit != "kB" || name == "VmallocTotal" {
			out.WriteString(line)
			continue
		}
		fmt.Fprintf(&out, "%-16s%8d kB\n", name+":", min(kib, most))
	}
	return out.String()
}

// list returns the list of the guest's processors.
func (m Machine) list() string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(m.CPUs), "[]"), " ", ",") + "\n"
}

// ControlGroup returns the cgroup of version 2 of a process, "self" or a number, or "".
func ControlGroup(process string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "cgroup"))
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return group
		}
	}
	return ""
}

// OnThread calls f on a thread that ends with it, and with all that f gives up or enters. It
// is never the first thread of the process: whoever is in that one's Landlock domain may
// signal the process.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			OnThread(f) // on another thread, as this one is held
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// SocketPair returns both ends of a socket of a kind, such as unix.SOCK_STREAM: ours, and the
// one for a process that is to be started.
func SocketPair(kind int) (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	own := os.NewFile(uintptr(fds[0]), "socket")
	defer own.Close()
	theirs = os.NewFile(uintptr(fds[1]), "socket")
	c, err := net.FileConn(own)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return c.(*net.UnixConn), theirs, nil
}

// LoopbackUp brings up the loopback interface of this thread's network namespace.
func LoopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return err
	}
	if flags := req.Uint16(); flags&unix.IFF_UP == 0 {
		req.SetUint16(flags | unix.IFF_UP)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	}
	return nil
}

// Give makes the user uid:gid the owner of the files in the mounts that the command may
// write to. Files with several names stay unchanged, because they belong to others too.
func Give(mounts []Mount, uid, gid int) error {
	for _, m := range mounts {
		if m.ReadOnly {
			continue
		}
		err := filepath.WalkDir(m.Host, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil {
				err = unix.Lstat(path, &st)
			}
			if err != nil || !d.IsDir() && st.Nlink > 1 {
				return err
			}
			return os.Lchown(path, uid, gid)
		})
		if err != nil {
			return fmt.Errorf("give the command %s: %w", m.Guest, err)
		}
	}
	return nil
}
