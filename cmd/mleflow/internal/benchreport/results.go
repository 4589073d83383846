package main

import (
	"bytes"
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

// results is what a .txt file holds.
type results struct {
	facts       []string
	now, before figures
}

// Lines of a results file that are not of go test -bench.
const (
	factMark   = "fact: "
	beforeMark = "before: "
)

func parseResults(text string) results {
	r := results{now: figures{}, before: figures{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if fact, ok := strings.CutPrefix(line, factMark); ok {
			r.facts = append(r.facts, fact)
		} else if was, ok := strings.CutPrefix(line, beforeMark); ok {
			r.before.add(was)
		} else {
			r.now.add(line)
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
func measure(t table, name string) error {
	file := filepath.Join(folder, name+".txt")
	var before []string
	if old, err := os.ReadFile(file); err == nil {
		before = benchmarkLines(string(old))
	}
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	loads := []string{load()}
	var lines, versions []string
	for _, command := range t.run {
		fmt.Fprintln(os.Stderr, "+", command)
		cmd := exec.Command("sh", "-c", command)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out.String())
		}
		lines = append(lines, benchmarkLines(out.String())...)
		for line := range strings.Lines(out.String()) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "versions: "); ok && !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
		loads = append(loads, load())
	}
	facts := []string{
		time.Now().UTC().Format(time.DateOnly), fmt.Sprintf("%d cores of %s", runtime.NumCPU(), processor()),
		"load average " + strings.Join(loads, ", "),
		strings.Join(append([]string{"mleflow " + strings.TrimSpace(string(commit)), "Go " + strings.TrimPrefix(runtime.Version(), "go")}, versions...), ", "),
	}
	var text strings.Builder
	for _, f := range facts {
		text.WriteString(factMark + f + "\n")
	}
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	for _, line := range before {
		text.WriteString(beforeMark + line + "\n")
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

func benchmarkLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Benchmark") && strings.Contains(line, "\t") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// load is the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
