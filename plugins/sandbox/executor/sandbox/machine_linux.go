package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// viewPlan is what the guest may use of the machine, and so all that it sees of it.
type viewPlan struct {
	CPUs        []int
	MemoryBytes int64
}

// view is a file of the kernel's that tells of the machine, and the one that the guest
// sees in its place.
type view struct{ source, shown *os.File }

// viewed are those files, with what is made of them while the command holds memory.
var viewed = map[string]func(v viewPlan, text string, held int64) string{
	"/proc/cpuinfo": viewPlan.cpuInfo, "/proc/stat": viewPlan.stat, "/proc/meminfo": viewPlan.memory,
	"/sys/devices/system/cpu/online": viewPlan.list, "/sys/devices/system/cpu/present": viewPlan.list, "/sys/devices/system/cpu/possible": viewPlan.list,
}

// machine mounts them. What the kernel does not have is not there for the guest either.
func (w *world) machine() error {
	w.viewed = map[string]view{}
	for name := range viewed {
		source, err := os.Open(name)
		if err != nil {
			continue
		}
		shown, err := os.OpenFile(path.Join(textsAt, strings.ReplaceAll(name, "/", "-")), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		w.viewed[name] = view{source, shown}
		if err := w.viewed[name].show(name, w.plan.View, 0); err != nil {
			return err
		}
		if err := w.mountAt(shown, name, true, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	return nil
}

// show writes what the guest sees now.
func (v view) show(name string, plan viewPlan, held int64) error {
	text, err := io.ReadAll(io.NewSectionReader(v.source, 0, 64<<20))
	if err != nil {
		return &os.PathError{Op: "read", Path: name, Err: err}
	}
	out := []byte(viewed[name](plan, string(text), held))
	if _, err := v.shown.WriteAt(out, 0); err != nil {
		return err
	}
	return v.shown.Truncate(int64(len(out)))
}

// refresh shows what changes.
func (s *sandbox) refresh() {
	for _, name := range []string{"/proc/stat", "/proc/meminfo"} {
		if v, ok := s.viewed[name]; ok {
			_ = v.show(name, s.plan.View, s.held)
		}
	}
}

// has reports whether the guest has the processor of that number.
func (p viewPlan) has(number string) bool {
	n, err := strconv.Atoi(strings.TrimSpace(number))
	return err == nil && slices.Contains(p.CPUs, n)
}

// cpuInfo leaves the paragraphs of the guest's processors.
func (p viewPlan) cpuInfo(text string, _ int64) string {
	if len(p.CPUs) == 0 {
		return text
	}
	var out strings.Builder
	for part := range strings.SplitAfterSeq(text, "\n\n") {
		label, rest, _ := strings.Cut(part, ":")
		number, _, _ := strings.Cut(rest, "\n")
		if strings.TrimSpace(label) != "processor" || p.has(number) {
			out.WriteString(part)
		}
	}
	return out.String()
}

// stat leaves the lines of the guest's processors, and adds them up in the first.
func (p viewPlan) stat(text string, _ int64) string {
	if len(p.CPUs) == 0 {
		return text
	}
	var sums []int64
	var rest bytes.Buffer
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		number, ok := strings.CutPrefix(fields[0], "cpu")
		if !ok {
			rest.WriteString(line)
			continue
		}
		if !p.has(number) {
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

// memory shows a machine with as much memory as the guest may use, and no swap.
func (p viewPlan) memory(text string, held int64) string {
	if p.MemoryBytes == 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		value, unit, _ := strings.Cut(strings.TrimSpace(rest), " ")
		kib, err := strconv.ParseInt(value, 10, 64)
		most := p.MemoryBytes / 1024
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

// list is a list of the guest's processors.
func (p viewPlan) list(text string, _ int64) string {
	switch n := len(p.CPUs); {
	case n == 0:
		return text
	case n > 1 && p.CPUs[n-1]-p.CPUs[0] == n-1:
		return fmt.Sprintf("%d-%d\n", p.CPUs[0], p.CPUs[n-1])
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(p.CPUs), "[]"), " ", ",") + "\n"
}
