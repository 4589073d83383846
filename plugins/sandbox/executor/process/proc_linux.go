package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one line of the process table.
type proc struct {
	pid, parent, group int
	// start, in clock ticks after boot, tells processes apart that had the
	// same pid one after the other.
	start    uint64
	resident int64
	dead     bool
}

// living returns the descendants of this process that have not ended.
func living() []proc { return livingBelow(os.Getpid()) }

// livingBelow returns the descendants of a process that have not ended.
func livingBelow(root int) []proc {
	table := processTable()
	children := make(map[int][]proc, len(table))
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	var out []proc
	queue := []int{root}
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

func processTable() (table []proc) {
	for p := range processes() {
		table = append(table, p)
	}
	return table
}

// processes yields the process table line by line, each as it is when it is
// yielded.
func processes() func(yield func(proc) bool) {
	return func(yield func(proc) bool) {
		dir, err := os.Open("/proc")
		if err != nil {
			return
		}
		defer dir.Close()
		names, _ := dir.Readdirnames(-1)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			if p, ok := readProc(pid); ok && !yield(p) {
				return
			}
		}
	}
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
	group, _ := strconv.Atoi(f[2])
	start, _ := strconv.ParseUint(f[19], 10, 64)
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	return proc{
		pid: pid, parent: parent, group: group, start: start,
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

// killing is the end of a process tree whose members may fork as fast as they
// can.
type killing struct {
	// mine are the descendants that the last pass saw, with the time they were
	// first killed.
	mine map[process]time.Time
}

// process tells a process from others that have had its number.
type process struct {
	pid   int
	start uint64
}

// pass kills every descendant that it sees as soon as it sees it, and all of its
// process group at once: the kernel lets no member of a group fork past a signal
// to the group. Groups are the tree's own, since the command leads a session of
// its own and no process joins a group of another session. It returns how many
// it saw, and how many of them were first killed longer ago than patience.
func (k *killing) pass(patience time.Duration) (seen, stuck int) {
	self, own := os.Getpid(), unix.Getpgrp()
	mine, groups := map[process]time.Time{}, map[int]bool{}
	starts := map[int]uint64{}
	for p := range k.mine {
		starts[p.pid] = p.start // its children may come before it
	}
	for p := range processes() {
		if p.pid == self || p.dead || p.parent != self && !isStill(p.parent, starts) {
			continue
		}
		id := process{p.pid, p.start}
		since, known := k.mine[id]
		if !known {
			since = time.Now()
		}
		mine[id], starts[p.pid] = since, p.start
		if seen++; time.Since(since) > patience {
			stuck++
		}
		switch {
		case p.group == own || groups[p.group]:
			p.signal(unix.SIGKILL)
		default:
			groups[p.group] = true
			_ = unix.Kill(-p.group, unix.SIGKILL)
		}
	}
	k.mine = mine
	return seen, stuck
}

// isStill reports whether the number is still that of the process which began
// then.
func isStill(pid int, starts map[int]uint64) bool {
	start, ok := starts[pid]
	if !ok {
		return false
	}
	now, ok := readProc(pid)
	return ok && now.start == start
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

// huntPatience bounds hunt.
const huntPatience = time.Minute

// hunt kills the processes of this user whose environment holds the marker, until
// a look at all of them finds none.
func hunt(marker string) {
	for until := time.Now().Add(huntPatience); time.Now().Before(until); {
		found := false
		for p := range processes() {
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

// threadsOf counts the threads of a user's processes, which is what
// RLIMIT_NPROC counts.
func threadsOf(uid int) (n uint64) {
	tasks, _ := filepath.Glob("/proc/[0-9]*/task")
	for _, dir := range tasks {
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil || int(st.Uid) != uid {
			continue
		}
		// A folder has a link from each folder in it, itself and its parent.
		n += uint64(st.Nlink) - 2
	}
	return n
}
