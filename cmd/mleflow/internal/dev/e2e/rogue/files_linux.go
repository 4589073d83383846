package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reads makes a probe that reads the given files; it is not open unless a
// canary is in them, or must says that none may be readable at all.
func reads(name, tried string, must bool, patterns ...string) probe {
	return probe{name, tried, func(h *hunter) (string, bool) {
		var got []string
		open := false
		for _, pattern := range patterns {
			paths, _ := filepath.Glob(pattern)
			if len(paths) == 0 {
				got = append(got, pattern+": none")
			}
			for _, path := range paths {
				data, err := h.read(path)
				if err == nil && len(data) > 0 {
					open = open || must
					got = append(got, fmt.Sprintf("%s: %d bytes", path, len(data)))
				} else {
					got = append(got, fmt.Sprintf("%s: %v", path, err))
				}
			}
		}
		return strings.Join(got, "; "), open
	}}
}

func fileProbes() []probe {
	return append([]probe{
		{"environment", "its own environment variables", func(h *hunter) (string, bool) {
			h.look("environment", []byte(strings.Join(os.Environ(), "\n")))
			var names []string
			for _, v := range os.Environ() {
				name, _, _ := strings.Cut(v, "=")
				names = append(names, name)
			}
			return strings.Join(names, " "), false
		}},
		{"all files", "read every file below / except /proc, /sys and /home/data", func(h *hunter) (string, bool) {
			return h.dig("/", append(filepath.SplitList(os.Getenv("AIM_SKIP")), "/proc", "/sys", "/home/data")...), false
		}},
		{"public data", "read every file of /home/data", func(h *hunter) (string, bool) { return h.dig("/home/data"), false }},
		{"mount table", "paths of the host in /proc/self/mountinfo", mountTable},
		reads("proc environ", "/proc/*/environ of all processes", false, "/proc/[0-9]*/environ"),
		reads("proc cmdline", "/proc/*/cmdline of all processes", false, "/proc/[0-9]*/cmdline"),
		{"processes of the host", "process numbers in /proc", func(h *hunter) (string, bool) {
			list, _ := filepath.Glob("/proc/[0-9]*/comm")
			var names []string
			for _, path := range list {
				data, _ := h.read(path)
				names = append(names, strings.TrimSpace(string(data)))
			}
			return fmt.Sprintf("%d: %s", len(names), strings.Join(names, " ")), len(names) > 8
		}},
		reads("kernel memory", "/proc/kcore, /dev/mem, /dev/kmem, /dev/port", true, "/proc/kcore", "/dev/mem", "/dev/kmem", "/dev/port"),
		reads("kernel keys", "/proc/keys, /proc/key-users", false, "/proc/keys", "/proc/key-users"),
		reads("kernel log", "/proc/kmsg, /dev/kmsg", true, "/proc/kmsg", "/dev/kmsg"),
		reads("kernel tables", "/proc/timer_list, /proc/sched_debug, /proc/latency_stats, /proc/kallsyms, /proc/modules", false, "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/kallsyms", "/proc/modules"),
		{"proc", "read every file of /proc", func(h *hunter) (string, bool) { return h.dig("/proc/"), false }},
		{"sys", "read every file of /sys; none may be writable", func(h *hunter) (string, bool) {
			got := h.dig("/sys")
			return got, !strings.Contains(got, "writable 0")
		}},
		{"host paths in sys", "folders of the host behind loop devices in /sys/block", func(h *hunter) (string, bool) {
			list, _ := filepath.Glob("/sys/block/*/loop/backing_file")
			var got []string
			for _, path := range list {
				data, _ := h.read(path)
				got = append(got, string(data))
			}
			return fmt.Sprintf("%d loop devices %s", len(list), strings.Join(got, " ")), len(list) > 0
		}},
		{"hints", "files of the host whose paths an agent could guess", func(h *hunter) (string, bool) {
			var got []string
			open := false
			for _, path := range append(filepath.SplitList(os.Getenv("AIM_FILES")), "/root", "/var/lib/mleflow", "/var/lib/containerd", "/run/containerd", "/private", "/mlebench", "/etc/shadow") {
				info, err := os.Stat(path)
				if err == nil && info.IsDir() {
					h.dig(path)
				}
				if err == nil && !info.IsDir() {
					_, err = h.read(path)
				}
				open = open || err == nil
				got = append(got, fmt.Sprintf("%s: %s", filepath.Base(path), errno(err)))
			}
			return strings.Join(got, "; "), open
		}},
		{"other runs", "folders of other attempts: .. of every mount, /home/*, /tmp/*", func(h *hunter) (string, bool) {
			for _, dir := range []string{"/home/..", "/home/data/..", "/home/data/../..", "/tmp/..", "/home/submission/../.."} {
				list, _ := os.ReadDir(dir)
				for _, e := range list {
					h.look(dir, []byte(e.Name()))
				}
			}
			list, _ := os.ReadDir("/home")
			return fmt.Sprint(list), false
		}},
		{"devices", "open what is in /dev, and block and character devices elsewhere", devices},
		{"setuid files", "files with a set-user-ID bit, and one that it creates", setuidFiles},
		{"shared memory", "/dev/shm, System V and POSIX queues of others", func(h *hunter) (string, bool) {
			got := h.dig("/dev/shm") + "; " + h.dig("/dev/mqueue")
			ipc, found := "", 0
			for _, kind := range []string{"shm", "msg", "sem"} {
				data, _ := h.read("/proc/sysvipc/" + kind)
				n := max(0, strings.Count(string(data), "\n")-1)
				found += n
				ipc += fmt.Sprintf(" %s %d", kind, n)
			}
			return got + ";" + ipc, found > 0
		}},
	}, dataProbes()...)
}

// mountTable tells which folders of the host the table names. Of a folder that
// is bound the kernel shows the path within its file system; open are those
// that lead to anything but the agent's own folders.
func mountTable(h *hunter) (string, bool) {
	data, err := h.read("/proc/self/mountinfo")
	if err != nil {
		return err.Error(), false
	}
	var roots []string
	open := false
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) > 4 && f[3] != "/" {
			roots = append(roots, f[4]+" from "+f[3])
			open = open || strings.Contains(f[4], "private") || strings.Contains(f[3], "private")
		}
	}
	return strings.Join(roots, "; "), open
}

func devices(h *hunter) (string, bool) {
	allowed := " null zero full random urandom tty ptmx console "
	var got []string
	open := false
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "/proc" || path == "/sys" || path == "/home/data" {
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.Type()&fs.ModeDevice == 0 {
			return nil
		}
		_, err = h.read(path)
		got = append(got, filepath.Base(path))
		open = open || (err == nil && !strings.Contains(allowed, " "+filepath.Base(path)+" "))
		return nil
	})
	err := unix.Mknod("/home/agent/disk", unix.S_IFBLK|0o666, int(unix.Mkdev(8, 0)))
	tty := unix.IoctlSetPointerInt(0, unix.TIOCSTI, 'x')
	return fmt.Sprintf("%s; mknod: %s; TIOCSTI: %s", strings.Join(got, " "), errno(err), errno(tty)), open || err == nil || tty == nil
}

func setuidFiles(*hunter) (string, bool) {
	var found []string
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "/proc" || path == "/sys" {
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			found = append(found, path)
		}
		return nil
	})
	self, _ := os.ReadFile("/proc/self/exe")
	own := "/home/agent/suid"
	_ = os.WriteFile(own, self, 0o755)
	chown := os.Chown(own, 0, 0)
	chmod := os.Chmod(own, 0o755|fs.ModeSetuid)
	return fmt.Sprintf("%d found %s; chown root: %s; chmod u+s: %s", len(found), strings.Join(found, " "), errno(chown), errno(chmod)), len(found) > 0 || chown == nil
}

// dataProbes try to change the public data.
func dataProbes() []probe {
	const file = "/home/data/test.csv"
	attempt := func(name, tried string, do func() error) probe {
		return probe{name, tried, func(*hunter) (string, bool) {
			err := do()
			return errno(err), err == nil
		}}
	}
	return []probe{
		attempt("data write", "open a public file for writing", func() error {
			_, err := os.OpenFile(file, os.O_RDWR, 0)
			return err
		}),
		attempt("data create", "create a file in /home/data", func() error { return os.WriteFile("/home/data/new", nil, 0o644) }),
		attempt("data remove", "remove, rename and chmod a public file", func() error {
			for _, err := range []error{os.Remove(file), os.Rename(file, file+"2"), os.Chmod(file, 0o777), os.Chown(file, os.Getuid(), os.Getgid())} {
				if err == nil {
					return nil
				}
			}
			return os.Remove(file)
		}),
		attempt("data remount", "remount /home/data writable", func() error {
			return unix.Mount("", "/home/data", "", unix.MS_REMOUNT|unix.MS_BIND, "")
		}),
		attempt("data unmount", "unmount /home/data, and mount over it", func() error {
			if err := unix.Unmount("/home/data", unix.MNT_DETACH); err == nil {
				return nil
			}
			return unix.Mount("/home/code", "/home/data", "", unix.MS_BIND, "")
		}),
		attempt("data by descriptor", "reopen a public file through /proc/self/fd", func() error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDWR, 0)
			return err
		}),
		attempt("data by hard link", "link a public file into /home/code and /tmp", func() error {
			if err := os.Link(file, "/home/code/linked.csv"); err == nil {
				return nil
			}
			return os.Link(file, "/tmp/linked.csv")
		}),
		attempt("data by memory", "write to a public file through /proc/self/mem and a mapping", dataByMemory),
		attempt("locks of others", "find a lock of another attempt on a public file, on /etc/hosts, /etc/hostname and the first process's program", foreignLock),
		attempt("data attributes", "set its times, attributes and extended attributes", func() error {
			if unix.Setxattr(file, "user.x", []byte("y"), 0) == nil || unix.Utime(file, &unix.Utimbuf{}) == nil {
				return nil
			}
			return unix.Setxattr(file, "trusted.x", []byte("y"), 0)
		}),
	}
}

// foreignLock looks for a file that somebody outside has locked: an agent that sees
// another's locks has a channel to it.
func foreignLock() error {
	list := []string{"/etc/hosts", "/etc/hostname", "/dev/pause"}
	_ = filepath.WalkDir("/home/data", func(path string, _ fs.DirEntry, _ error) error {
		list = append(list, path)
		return nil
	})
	for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		for _, path := range list {
			f, err := os.Open(path)
			if err != nil {
				continue
			}
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil
			}
		}
	}
	return errors.New("no lock is seen")
}

// dataByMemory maps a public file and writes to the mapping, by its address and
// by the process's memory. A private mapping changes for the process only.
func dataByMemory() error {
	f, err := os.Open("/home/data/test.csv")
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	if _, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		return nil
	}
	shared, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	_, writeErr := mem.WriteAt([]byte("owned"), int64(uintptr(unsafe.Pointer(&shared[0]))))
	after, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	if string(before) != string(after) {
		return nil
	}
	if writeErr != nil {
		return writeErr
	}
	return fmt.Errorf("only its own copy changed")
}

// start starts this program in a session of its own.
func start(args ...string) (*exec.Cmd, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}
