package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// proc is one line of the process table.
type proc struct {
	pid, parent int
	// start, in clock ticks after boot, tells processes apart that had the
	// same pid one after the other.
	start    uint64
	resident int64
	dead     bool
}

// living returns the descendants of this process that have not ended.
func living() []proc {
	table := processTable()
	children := make(map[int][]proc, len(table))
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	var out []proc
	queue := []int{os.Getpid()}
	for len(queue) > 0 {
		below := children[queue[0]]
		queue = queue[1:]
		for _, p := range below {
			queue = append(queue, p.pid)
			if !p.dead {
				out = append(out, p)
			}
		}
	}
	return out
}

func processTable() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	table := make([]proc, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProc(pid); ok {
				table = append(table, p)
			}
		}
	}
	return table
}

// readProc reads /proc/<pid>/stat; see proc_pid_stat(5) for the fields.
func readProc(pid int) (proc, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// The name, in brackets, may hold anything.
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return proc{}, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 22 {
		return proc{}, false
	}
	parent, _ := strconv.Atoi(f[1])
	start, _ := strconv.ParseUint(f[19], 10, 64)
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	return proc{
		pid: pid, parent: parent, start: start,
		resident: pages * int64(os.Getpagesize()),
		dead:     f[0] == "Z" || f[0] == "X",
	}, true
}

// signal sends sig unless the process is another one by now.
func (p proc) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ENOSYS || err == unix.EPERM {
		unix.Kill(p.pid, sig)
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func signalAll(procs []proc, sig unix.Signal) {
	for _, p := range procs {
		p.signal(sig)
	}
}

// freeze stops all descendants, so that none starts another while they are
// killed one by one.
func freeze() {
	stopped := make(map[int]uint64)
	for range 20 {
		found := false
		for _, p := range living() {
			if stopped[p.pid] != p.start {
				p.signal(unix.SIGSTOP)
				stopped[p.pid] = p.start
				found = true
			}
		}
		if !found {
			return
		}
	}
}

func residentBytes(procs []proc) (total int64) {
	for _, p := range procs {
		total += p.resident
	}
	return total
}

// proportionalBytes counts pages that several processes share once. Where the
// kernel does not say, it returns fallback.
func proportionalBytes(procs []proc, fallback int64) (total int64) {
	for _, p := range procs {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/smaps_rollup")
		if err != nil {
			if _, alive := readProc(p.pid); alive {
				return fallback
			}
			continue
		}
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				total += kib * 1024
			}
		}
	}
	return total
}

// hunt kills the processes of this user whose environment holds the marker.
func hunt(marker string) {
	for range 20 {
		found := false
		for _, p := range processTable() {
			env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
			if err == nil && !p.dead && bytes.Contains(env, []byte(marker)) {
				p.signal(unix.SIGKILL)
				found = true
			}
		}
		if !found {
			return
		}
	}
}
