package guest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// Machine is the part of the machine that a command may use, and should therefore see.
// Without CPUs or MemoryBytes, it is all of them.
type Machine struct {
	CPUs        []int
	MemoryBytes int64
}

// MachineFiles are the kernel's files that describe the machine.
var MachineFiles = []string{
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
	"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present",
}

// Changes reports whether a command sees one of MachineFiles changed.
func (m Machine) Changes(file string) bool {
	if file == "/proc/meminfo" {
		return m.MemoryBytes > 0
	}
	return len(m.CPUs) > 0
}

// Show returns the content that a command sees in one of MachineFiles. text is the real
// content, and held is the memory in bytes that the command currently holds.
func (m Machine) Show(file string, text []byte, held int64) []byte {
	switch {
	case !m.Changes(file):
		return text
	case file == "/proc/meminfo":
		return m.memory(text, held)
	case file == "/proc/cpuinfo":
		return m.cpuInfo(text)
	case file == "/proc/stat":
		return m.stat(text)
	}
	return m.list()
}

// has reports whether the guest has the processor with that number.
func (m Machine) has(number []byte) bool {
	n, err := strconv.Atoi(string(bytes.TrimSpace(number)))
	return err == nil && slices.Contains(m.CPUs, n)
}

// cpuInfo keeps the paragraphs of the guest's processors.
func (m Machine) cpuInfo(text []byte) (out []byte) {
	for part := range bytes.SplitAfterSeq(text, []byte("\n\n")) {
		label, rest, _ := bytes.Cut(part, []byte(":"))
		number, _, _ := bytes.Cut(rest, []byte("\n"))
		if string(bytes.TrimSpace(label)) != "processor" || m.has(number) {
			out = append(out, part...)
		}
	}
	return out
}

// stat keeps the lines of the guest's processors and puts their sums into the first
// line.
func (m Machine) stat(text []byte) []byte {
	var sums []int64
	var rest []byte
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		number, ok := bytes.CutPrefix(fields[0], []byte("cpu"))
		if !ok {
			rest = append(rest, line...)
			continue
		}
		if !m.has(number) {
			continue
		}
		rest = append(rest, line...)
		sums = append(sums, make([]int64, max(0, len(fields)-1-len(sums)))...)
		for i, f := range fields[1:] {
			n, _ := strconv.ParseInt(string(f), 10, 64)
			sums[i] += n
		}
	}
	return append(fmt.Appendf(nil, "cpu  %s\n", separated(sums, " ")), rest...)
}

// memory shows a machine with as much memory as the guest may use, and without swap.
func (m Machine) memory(text []byte, held int64) (out []byte) {
	for line := range bytes.Lines(text) {
		label, rest, _ := bytes.Cut(line, []byte(":"))
		value, unit, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		kib, err := strconv.ParseInt(string(value), 10, 64)
		name, most := string(label), m.MemoryBytes/1024
		switch {
		case bytes.HasPrefix(label, []byte("Swap")):
			most = 0
		case name == "MemFree" || name == "MemAvailable":
			most = max(0, most-held/1024)
		}
		if err != nil || string(unit) != "kB" || name == "VmallocTotal" {
			out = append(out, line...)
			continue
		}
		out = fmt.Appendf(out, "%-16s%8d kB\n", name+":", min(kib, most))
	}
	return out
}

// list returns the list of the guest's processors.
func (m Machine) list() []byte { return append(separated(m.CPUs, ","), '\n') }

func separated[T int | int64](numbers []T, by string) (out []byte) {
	for i, n := range numbers {
		if i > 0 {
			out = append(out, by...)
		}
		out = strconv.AppendInt(out, int64(n), 10)
	}
	return out
}
