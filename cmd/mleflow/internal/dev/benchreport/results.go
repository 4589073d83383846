package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// figures are the metrics of benchmarks, by name and unit.
type figures map[string]map[string]float64

// measured is one run: where figures come from, by the words of origins, and the
// figures.
type measured struct {
	origin  map[string]string
	figures figures
}

// The words of an origin in a results file, in this order.
const (
	dateWord, tookWord, machineWord, loadWord, sizeWord, versionsWord = "date", "took", "machine", "load", "size", "versions"
)

var origins = []string{dateWord, tookWord, machineWord, loadWord, sizeWord, versionsWord}

// beforeMark begins the lines of the run before.
const beforeMark = "before "

// results is what a .txt file holds.
type results struct{ now, before measured }

func (r results) empty() bool { return len(r.now.figures) == 0 }

// comparable reports whether both runs were on one machine at one size.
func (r results) comparable() bool {
	same := func(word string) bool { return r.now.origin[word] == r.before.origin[word] }
	return len(r.before.figures) > 0 && same(machineWord) && same(sizeWord)
}

func parseResults(text string) results {
	r := results{measured{map[string]string{}, figures{}}, measured{map[string]string{}, figures{}}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		to := &r.now
		if was, ok := strings.CutPrefix(line, beforeMark); ok {
			line, to = was, &r.before
		}
		if word, value, ok := strings.Cut(line, ": "); ok && slices.Contains(origins, word) {
			to.origin[word] = value
		} else {
			to.figures.add(line)
		}
	}
	return r
}

// add takes a line of go test -bench: name, rounds, then value and unit in turns.
func (f figures) add(line string) {
	words := strings.Fields(line)
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return
	}
	name := strings.TrimPrefix(words[0], "Benchmark")
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		if _, err := strconv.Atoi(name[at+1:]); err == nil {
			name = name[:at]
		}
	}
	if f[name] == nil {
		f[name] = map[string]float64{}
	}
	for i := 2; i+1 < len(words); i += 2 {
		if v, err := strconv.ParseFloat(words[i], 64); err == nil {
			f[name][words[i+1]] = v
		}
	}
}

// measure runs a table's commands and keeps what they print.
func measure(t table, program string, full bool) error {
	var was []string
	if old, err := os.ReadFile(resultsOf(t.name)); err == nil {
		for line := range strings.Lines(string(old)) {
			if !strings.HasPrefix(line, beforeMark) {
				was = append(was, beforeMark+strings.TrimSpace(line))
			}
		}
	}
	start, loads, versions := time.Now(), []string{load()}, []string{program}
	for _, command := range t.versions {
		out, err := exec.Command("sh", "-c", command).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		versions = append(versions, strings.Split(strings.TrimSpace(string(out)), "\n")...)
	}
	var lines []string
	for _, command := range t.run {
		fmt.Fprintln(os.Stderr, "+", strings.Join(append(t.environment(full), command), " "))
		cmd := exec.Command("sh", "-c", command)
		cmd.Env = append(os.Environ(), t.environment(full)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out.String())
		}
		lines = append(lines, benchmarkLines(out.String())...)
		for line := range strings.Lines(out.String()) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), versionsWord+": "); ok && !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
		loads = append(loads, load())
	}
	if len(lines) == 0 {
		return errors.New("its commands printed no figures: they need root, or programs that are not installed")
	}
	took := time.Since(start).Round(time.Second).String()
	fmt.Fprintln(os.Stderr, t.name, "took", took)
	origin := []string{
		dateWord + ": " + start.UTC().Format(time.DateOnly), tookWord + ": " + took, machineWord + ": " + machine(), loadWord + ": " + strings.Join(loads, ", "),
		sizeWord + ": " + strings.Join(t.environment(full), " "), versionsWord + ": " + strings.Join(versions, ", "),
	}
	text := strings.Join(slices.Concat(origin, lines, was), "\n") + "\n"
	return os.WriteFile(resultsOf(t.name), []byte(text), 0o644)
}

func benchmarkLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Benchmark") && strings.Contains(line, "\t") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// version is that of the program and of what it is built with and runs on.
func version() string {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("mleflow %s, Go %s, %s %s", strings.TrimSpace(string(commit)), strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, strings.TrimSpace(string(kernel)))
}

// load is the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// machine is what two runs must have in common to be compared.
func machine() string {
	kib, _ := strconv.ParseFloat(strings.Trim(field("/proc/meminfo", "MemTotal"), " kB"), 64)
	return fmt.Sprintf("%d cores of %s, %.0f GiB, %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"), kib/(1<<20), fileSystem(os.TempDir()))
}

// field is a value of a file in /proc.
func field(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileSystem is the type of the file system that a folder is in.
func fileSystem(dir string) (name string) {
	text, _ := os.ReadFile("/proc/mounts")
	best := ""
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 2 && len(words[1]) >= len(best) {
			if rel, err := filepath.Rel(words[1], dir); err == nil && filepath.IsLocal(rel) {
				best, name = words[1], words[2]
			}
		}
	}
	return name
}
