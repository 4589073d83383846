package supervise

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// proc is one row of the process table.
type proc struct {
	pid, parent, group int
	// start is the start time in clock ticks after boot. It distinguishes processes
	// that had the same PID one after the other.
	start    uint64
	resident int64
	// own and reaped are processor times in clock ticks: its own, and that of its
	// descendants that it has waited for.
	own, reaped int64
	dead        bool
	// stopped means that a signal stopped it, and blocked that no signal reaches it
	// until the kernel has done what it asked for.
	stopped, blocked bool
}

// living returns the descendants of this process that have not ended.
func living() []proc { return livingBelow(os.Getpid()) }

// Living returns the PIDs of a process's descendants that have not ended.
func Living(root int) (pids []int) {
	for _, p := range livingBelow(root) {
		pids = append(pids, p.pid)
	}
	return pids
}

// Memory returns the memory of a process's descendants in bytes, 0 if there are none.
// Shared memory counts once per process, unless the sum would exceed the limit.
func Memory(root int, limit int64) int64 { return memoryOf(listed(root), limit) }

func memoryOf(procs []proc, limit int64) (total int64) {
	for _, p := range procs {
		total += p.resident
	}
	if limit > 0 && total > limit {
		total = proportionalBytes(procs, total)
	}
	return total
}

// tick is the clock tick of /proc, which is the same on all processors that we run on.
const tick = 10 * time.Millisecond

// CPU returns the processor time of a process's descendants, with that of those that
// have ended and were waited for.
func CPU(root int) time.Duration { return timeOf(root, listed(root)) }

func timeOf(root int, procs []proc) time.Duration {
	var ticks int64
	if p, ok := readProc(root); ok {
		ticks = p.reaped
	}
	for _, p := range procs {
		ticks += p.own + p.reaped
	}
	return time.Duration(ticks) * tick
}

// Use returns Memory and CPU of one moment.
func Use(root int, limit int64) (memory int64, cpu time.Duration) {
	procs := listed(root)
	return memoryOf(procs, limit), timeOf(root, procs)
}

// livingBelow returns the descendants of a process that have not ended.
func livingBelow(root int) []proc {
	children := map[int][]proc{}
	for p := range processes() {
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

// listed is livingBelow by the kernel's lists of children. It looks at no other process,
// of which a machine may have thousands, but may miss one while others fork and end. It
// is for what is measured again and again.
func listed(root int) (out []proc) {
	if _, err := os.Lstat("/proc/thread-self/children"); err != nil {
		return livingBelow(root)
	}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		tasks := "/proc/" + strconv.Itoa(queue[0]) + "/task/"
		for _, thread := range namesIn(tasks) {
			for _, child := range fields(contentOf(tasks + thread + "/children")) {
				pid, _ := strconv.Atoi(child)
				queue = append(queue, pid)
				if p, ok := readProc(pid); ok && !p.dead {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// namesIn returns the names in a folder of /proc.
func namesIn(path string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return names
}

// contentOf returns the content of a file of /proc that exists, with a third of the
// system calls that os.ReadFile needs.
func contentOf(path string) (data []byte) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	for part := make([]byte, 1024); ; {
		n, err := syscall.Read(fd, part)
		if n <= 0 && err != syscall.EINTR {
			return data
		}
		data = append(data, part[:max(n, 0)]...)
	}
}

// PIDs returns those of the process table.
func PIDs() (pids []int) {
	for _, name := range namesIn("/proc") {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes yields the process table row by row. Each row is read when it is yielded.
func processes() func(yield func(proc) bool) {
	return func(yield func(proc) bool) {
		for _, pid := range PIDs() {
			if p, ok := readProc(pid); ok && !yield(p) {
				return
			}
		}
	}
}

// readProc reads /proc/<pid>/stat; see proc_pid_stat(5) for the fields.
func readProc(pid int) (proc, bool) {
	data := contentOf("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name, in brackets, may contain any characters.
	end := len(data) - 1
	for end >= 0 && data[end] != ')' {
		end--
	}
	f := fields(data[end+1:])
	if len(f) < 22 {
		return proc{}, false
	}
	parent, _ := strconv.Atoi(f[1])
	group, _ := strconv.Atoi(f[2])
	start, _ := strconv.ParseUint(f[19], 10, 64)
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	var times [4]int64 // of the process in user and kernel mode, and of its descendants
	for i := range times {
		times[i], _ = strconv.ParseInt(f[11+i], 10, 64)
	}
	return proc{
		pid: pid, parent: parent, group: group, start: start,
		resident: pages * int64(os.Getpagesize()),
		own:      times[0] + times[1], reaped: times[2] + times[3],
		dead:    f[0] == "Z" || f[0] == "X",
		stopped: f[0] == "T",
		blocked: f[0] == "D",
	}, true
}

// fields splits a text into words. Package strings is initialised too late; see the
// package comment.
func fields(text []byte) (words []string) {
	begin := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != ' ' && text[i] != '\n' && text[i] != '\t' {
			continue
		}
		if i > begin {
			words = append(words, string(text[begin:i]))
		}
		begin = i + 1
	}
	return words
}

func contains(text []byte, part string) bool {
	for i := 0; i+len(part) <= len(text); i++ {
		if string(text[i:i+len(part)]) == part {
			return true
		}
	}
	return false
}

// signal sends sig unless the PID belongs to another process by now.
func (p proc) signal(sig syscall.Signal) {
	fd, err := pidfdOpen(p.pid)
	if err == syscall.ENOSYS || err == syscall.EPERM {
		_ = syscall.Kill(p.pid, sig)
		return
	}
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		pidfdSignal(fd, sig)
	}
}

func signalAll(procs []proc, sig syscall.Signal) {
	for _, p := range procs {
		p.signal(sig)
	}
}

// killing is the state of killing a process tree whose members may fork as fast as they
// can.
type killing struct {
	// mine are the descendants that the last pass saw, with the time at which each was
	// first killed.
	mine map[process]time.Time
	// reaped counts the ended descendants. n is the last count seen, which has been the
	// same since since.
	reaped *Reaped
	n      int64
	since  time.Time
}

// process identifies a process by its PID and start time, because PIDs are reused.
type process struct {
	pid   int
	start uint64
}

// pass kills every descendant as soon as it sees it, together with its whole process
// group, because the kernel lets no member of a group fork past a signal to the group.
// All groups belong to the tree: the command leads its own session, and no process can
// join a group of another session. pass returns the number of stuck processes. It is
// not 0 only if all descendants seen were first killed longer ago than patience, and
// none has ended for that long.
func (k *killing) pass(patience time.Duration) (stuck int) {
	self, own := os.Getpid(), syscall.Getpgrp()
	mine, groups := map[process]time.Time{}, map[int]bool{}
	starts := map[int]uint64{}
	for p := range k.mine {
		starts[p.pid] = p.start // its children may be listed before it
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
		switch {
		case p.group == own:
			p.signal(syscall.SIGKILL)
		case !groups[p.group]: // the next pass kills processes that join it later
			groups[p.group] = true
			_ = syscall.Kill(-p.group, syscall.SIGKILL)
		}
	}
	k.mine = mine
	return k.stuck(patience)
}

// stuck returns the number of stuck processes after a pass.
func (k *killing) stuck(patience time.Duration) int {
	if n := k.reaped.n.Load(); n != k.n || k.since.IsZero() {
		k.n, k.since = n, time.Now()
	}
	for _, since := range k.mine {
		if time.Since(since) <= patience {
			return 0
		}
	}
	if time.Since(k.since) <= patience {
		return 0
	}
	return len(k.mine)
}

// isStill reports whether the PID still belongs to the process with the known start
// time.
func isStill(pid int, starts map[int]uint64) bool {
	start, ok := starts[pid]
	if !ok {
		return false
	}
	now, ok := readProc(pid)
	return ok && now.start == start
}

// proportionalBytes counts shared pages once. If the kernel does not report them, it
// returns fallback.
func proportionalBytes(procs []proc, fallback int64) (total int64) {
	for _, p := range procs {
		sums, err := Rollup(p.pid)
		if err != nil {
			if _, alive := readProc(p.pid); alive {
				return fallback
			}
			continue
		}
		total += sums["Pss"]
	}
	return total
}

// Rollup returns the kernel's sums over the memory of a process, such as "Pss", in bytes.
func Rollup(pid int) (map[string]int64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	sums := map[string]int64{}
	name := ""
	for _, word := range fields(data) {
		if kib, err := strconv.ParseInt(word, 10, 64); err == nil && name != "" {
			sums[name] = kib * 1024
		}
		name = ""
		if last := len(word) - 1; word[last] == ':' {
			name = word[:last]
		}
	}
	return sums, err
}

// huntPatience limits the duration of Hunt.
const huntPatience = time.Minute

// Hunt kills this user's processes whose environment contains the marker, until a
// search finds none.
func Hunt(marker string) {
	for until := time.Now().Add(huntPatience); time.Now().Before(until); {
		found := false
		for p := range processes() {
			env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
			if err == nil && !p.dead && contains(env, marker) {
				p.signal(syscall.SIGKILL)
				found = true
			}
		}
		if !found {
			return
		}
	}
}

// threadsOf returns the number of threads of a user's processes, which is the number
// that RLIMIT_NPROC limits.
func threadsOf(uid int) (n uint64) {
	for p := range processes() {
		var st syscall.Stat_t
		if syscall.Stat("/proc/"+strconv.Itoa(p.pid)+"/task", &st) != nil || int(st.Uid) != uid {
			continue
		}
		// A folder has one link for each subfolder, for itself and for its parent.
		n += uint64(st.Nlink) - 2
	}
	return n
}
