package sched

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Machine returns this machine's capacity: processors and memory within the
// limits of the control group and of GOMAXPROCS, and the GPUs found by GPUs. A
// share of a processor counts as one, on which steps are only slower. It omits
// the disk; use DiskSpace for the relevant folder.
func Machine() Capacity {
	c := NewProbe("/").Capacity()
	c.CPUs = max(c.CPUs, 1)
	return c
}

// NewProbe returns a probe of this machine with its files below root.
func NewProbe(root string) Probe {
	return Probe{Root: root, CPUs: min(runtime.NumCPU(), runtime.GOMAXPROCS(0))}
}

// Probe determines a machine's resources from its files.
type Probe struct {
	// Root is the folder that contains proc, sys, dev, etc and var.
	Root string
	// CPUs is the number of processors, limited only by affinity and
	// GOMAXPROCS.
	CPUs int
}

// Capacity returns the resources for leases. An unreadable amount is unknown.
func (p Probe) Capacity() Capacity {
	c := p.Unlimited()
	for _, g := range p.groups() {
		if n, ok := g.cpus(); ok && (c.CPUs == 0 || n < c.CPUs) {
			c.CPUs = n
		}
		if n, ok := g.memory(); ok && (c.MemoryBytes == 0 || n < c.MemoryBytes) {
			c.MemoryBytes = n
		}
	}
	return c
}

// Unlimited is Capacity without the limits of control groups. It serves to show
// the effect of a limit.
func (p Probe) Unlimited() Capacity {
	return Capacity{CPUs: float64(p.CPUs), MemoryBytes: p.memTotal(), Devices: p.GPUs()}
}

func (p Probe) memTotal() int64 {
	for _, line := range readLines(filepath.Join(p.Root, "proc/meminfo")) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// group is a folder of the cgroup file system.
type group string

// groups returns the folders of this process's control groups and their
// parents, for both versions. Inside a container, the path of a group may name
// a folder of the host, so the root is always included.
func (p Probe) groups() []group {
	var out []group
	for _, line := range readLines(filepath.Join(p.Root, "proc/self/cgroup")) {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			switch controller {
			case "", "cpu", "memory":
				base := filepath.Join(p.Root, "sys/fs/cgroup", controller)
				out = append(out, parents(base, parts[2])...)
			}
		}
	}
	return out
}

// OOMKills counts the processes that the kernel has killed for lack of memory in the
// control groups of this process. Only its growth means something.
func (p Probe) OOMKills() (n int64) {
	for _, g := range p.groups() {
		for line := range strings.Lines(g.read("memory.events") + "\n" + g.read("memory.oom_control")) {
			if kills, ok := strings.CutPrefix(line, "oom_kill "); ok {
				n += parsePositive(strings.TrimSpace(kills))
			}
		}
	}
	return n
}

func parents(base, p string) []group {
	var out []group
	for p = path.Clean("/" + p); p != "/"; p = path.Dir(p) {
		out = append(out, group(filepath.Join(base, p)))
	}
	return append(out, group(base))
}

// cpus returns the CPU limit in processors.
func (g group) cpus() (float64, bool) {
	quota, period := g.number("cpu.cfs_quota_us"), g.number("cpu.cfs_period_us")
	if f := strings.Fields(g.read("cpu.max")); len(f) == 2 {
		quota, period = parsePositive(f[0]), parsePositive(f[1])
	}
	if quota == 0 || period == 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// memory returns the memory limit. Version 1 writes a huge number if there is
// no limit.
func (g group) memory() (int64, bool) {
	n := g.number("memory.max")
	if n == 0 {
		n = g.number("memory.limit_in_bytes")
	}
	return n, n > 0 && n < math.MaxInt64/2
}

func (g group) number(file string) int64 { return parsePositive(g.read(file)) }

func (g group) read(file string) string {
	b, _ := os.ReadFile(filepath.Join(string(g), file))
	return strings.TrimSpace(string(b))
}

// parsePositive returns 0 for everything except a positive number, for example
// for "max".
func parsePositive(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

func readLines(name string) []string {
	text, _ := os.ReadFile(name) // an unreadable file has no lines
	return strings.Split(string(text), "\n")
}

// Capacity is the amount of resources that a machine can lease. Zero CPUs or
// bytes are unknown and set no limit. No Devices means no GPUs.
type Capacity struct {
	CPUs        float64
	MemoryBytes int64
	DiskBytes   int64
	// Devices are the names of the GPUs.
	Devices []string
	// Withheld is how many of the devices must stay unused.
	Withheld int
}

// Space is the size of a file system and what is free for this user. Zero Bytes or Files
// are unknown or without limit.
type Space struct{ FreeBytes, Bytes, FreeFiles, Files int64 }

// fewFiles is the number of inodes below which they, not the bytes, are what is left of a
// disk. A file takes at least a block.
const fewFiles, block = 10_000, 4 << 10

// FreeDisk returns the free bytes of DiskSpace, or, with few inodes left, those that as
// many small files take.
func FreeDisk(dir string) (int64, error) {
	s, err := DiskSpace(dir)
	return s.free(), err
}

func (s Space) free() int64 {
	if s.Files > 0 && s.FreeFiles < fewFiles {
		return min(s.FreeBytes, s.FreeFiles*block)
	}
	return s.FreeBytes
}

// UnfitError means that a machine can never satisfy a request.
type UnfitError struct {
	// Task is the task's name, or "" if the message is shown together with it.
	Task string
	// Lacks has one phrase per missing resource, with the request and the
	// machine's amount.
	Lacks []string
}

// Error returns the complete sentence.
func (e *UnfitError) Error() string {
	return cmp.Or(e.Task, "it") + " can never run on this machine: it needs " + strings.Join(e.Lacks, "; ")
}

// Check returns an *UnfitError if the machine is too small for the request of
// the named task.
func (c Capacity) Check(task string, r Resources) error {
	var lacks []string
	if c.CPUs > 0 && milli(r.CPUs) > milli(c.CPUs) {
		lacks = append(lacks, fmt.Sprintf("%s, this machine has %s", cpus(r.CPUs), number(c.CPUs)))
	}
	if c.MemoryBytes > 0 && r.MemoryBytes > c.MemoryBytes {
		lacks = append(lacks, fmt.Sprintf("%s of memory, this machine has %s", Bytes(r.MemoryBytes), Bytes(c.MemoryBytes)))
	}
	if c.DiskBytes > 0 && r.DiskBytes > c.DiskBytes {
		lacks = append(lacks, fmt.Sprintf("%s of disk, this machine has %s free", Bytes(r.DiskBytes), Bytes(c.DiskBytes)))
	}
	if r.GPUs > len(c.Devices)-c.Withheld {
		lacks = append(lacks, fmt.Sprintf("%s, this machine has %s", plural(r.GPUs, "GPU"), c.devices()))
	}
	if lacks == nil {
		return nil
	}
	return &UnfitError{Task: task, Lacks: lacks}
}

// Check checks the requests of all tasks that do not resolve first, since those may turn
// out not to run, and joins the errors.
func Check(tasks []Task, c Capacity) error {
	var errs []error
	for i := range tasks {
		if tasks[i].Resolve == nil {
			errs = append(errs, c.Check(tasks[i].Name, tasks[i].Needs))
		}
	}
	return errors.Join(errs...)
}

func (c Capacity) devices() string {
	if len(c.Devices) == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d (%s)", len(c.Devices), strings.Join(c.Devices, ", "))
	if c.Withheld > 0 {
		text += fmt.Sprintf(", of which %d may be used", len(c.Devices)-c.Withheld)
	}
	return text
}

func cpus(n float64) string {
	if n == 1 {
		return "1 CPU"
	}
	return number(n) + " CPUs"
}

func number(n float64) string { return fmt.Sprintf("%.4g", n) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bytes formats a size with a binary unit: 1536 is "1.5 KiB".
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	return fmt.Sprintf("%.4g %s", f, units[u])
}

// milli converts CPUs to thousandths, rounded up, so that sums are exact.
func milli(cpus float64) int64 {
	if cpus <= 0 {
		return 0
	}
	return int64(math.Ceil(cpus*1000 - 1e-6))
}
