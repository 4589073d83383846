package sched

import (
	"bufio"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Machine returns this machine's capacity: processors and memory within the
// limits of the control group and of GOMAXPROCS, and the GPUs found by GPUs. It
// omits the disk; use FreeDisk for the relevant folder.
func Machine() Capacity { return NewProbe("/").Capacity() }

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
		for _, controller := range strings.Split(parts[1], ",") {
			switch controller {
			case "", "cpu", "memory":
				base := filepath.Join(p.Root, "sys/fs/cgroup", controller)
				out = append(out, parents(base, parts[2])...)
			}
		}
	}
	return out
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
	b, err := os.ReadFile(filepath.Join(string(g), file))
	if err != nil {
		return ""
	}
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
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		out = append(out, s.Text())
	}
	return out
}
