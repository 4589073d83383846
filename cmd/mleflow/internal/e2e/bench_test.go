package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// peers are build tools that run the same graph in the same benchmark, where
// they are installed.
var peers = []struct {
	name, file string
	write      func(chains int) string
	args       []string
}{
	{"ninja", "build.ninja", ninjaFile, []string{"--quiet"}},
	{"make", "Makefile", makefile, []string{"-s", "-r", "-j2"}},
	{"snakemake", "Snakefile", snakefile, []string{"-q", "all", "-c2"}},
}

// chainFile is a pipeline of chains of three commands that copy a word.
func chainFile(chains int) string {
	return fmt.Sprintf(`
locals { keys = toset([for i in range(%d) : "c${i}"]) }
step "exec" "a" {
  for_each = local.keys
  command  = ["sh", "-c", "echo $KEY > out"]
  env      = { KEY = each.key }
  outputs  = ["out"]
}
step "exec" "b" {
  for_each = local.keys
  command  = ["cp", "inputs/from/out", "out"]
  inputs   = { from = step.exec.a[each.key].tree }
  outputs  = ["out"]
}
step "exec" "c" {
  for_each = local.keys
  command  = ["cp", "inputs/from/out", "last"]
  inputs   = { from = step.exec.b[each.key].tree }
  outputs  = ["last"]
}
`, chains)
}

func ninjaFile(chains int) string {
	var s strings.Builder
	s.WriteString("rule word\n command = echo $out > $out\nrule copy\n command = cp $in $out\n")
	for i := range chains {
		fmt.Fprintf(&s, "build c%d.a: word\nbuild c%d.b: copy c%d.a\nbuild c%d.c: copy c%d.b\n", i, i, i, i, i)
	}
	return s.String()
}

func makefile(chains int) string {
	var s strings.Builder
	s.WriteString("all:")
	for i := range chains {
		fmt.Fprintf(&s, " c%d.c", i)
	}
	s.WriteString("\n%.a:\n\techo $@ > $@\n%.b: %.a\n\tcp $< $@\n%.c: %.b\n\tcp $< $@\n.SECONDARY:\n")
	return s.String()
}

func snakefile(chains int) string {
	return fmt.Sprintf(`rule all:
    input: expand("c{i}.c", i=range(%d))
rule a:
    output: "{x}.a"
    shell: "echo {wildcards.x} > {output}"
rule b:
    input: "{x}.a"
    output: "{x}.b"
    shell: "cp {input} {output}"
rule c:
    input: "{x}.b"
    output: "{x}.c"
    shell: "cp {input} {output}"
`, chains)
}

// timed runs a command and returns its wall time and peak memory in MiB.
func timed(b *testing.B, cmd *exec.Cmd) (time.Duration, float64) {
	b.Helper()
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return time.Since(start), float64(usage.Maxrss) / 1024
}

func benchPlace(b *testing.B, src string) *place {
	b.Helper()
	dir := b.TempDir()
	file := filepath.Join(dir, "bench.hcl")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		b.Fatal(err)
	}
	return &place{cache: filepath.Join(dir, "cache"), file: file}
}

// BenchmarkNoop applies 1,500 instances of which nothing has to run, as a
// whole process, and lets the peers find out the same of the same graph.
func BenchmarkNoop(b *testing.B) {
	const chains = 500
	p := benchPlace(b, chainFile(chains))
	timed(b, p.command("apply", p.file))
	b.ResetTimer()
	var wall time.Duration
	var memory float64
	for b.Loop() {
		d, m := timed(b, p.command("apply", p.file))
		wall, memory = wall+d, max(memory, m)
	}
	report(b, wall, memory)
	for _, peer := range peers {
		dir, ok := peerFolder(b, peer.name, peer.file, peer.write(chains))
		if !ok {
			continue
		}
		timed(b, peerCommand(peer.name, peer.args, dir))
		var total time.Duration
		const times = 5
		for range times {
			d, _ := timed(b, peerCommand(peer.name, peer.args, dir))
			total += d
		}
		ratio(b, peer.name, wall/time.Duration(b.N), total/times)
	}
}

// BenchmarkFirst runs 300 trivial commands for the first time.
func BenchmarkFirst(b *testing.B) {
	const chains = 100
	var wall time.Duration
	var memory float64
	for b.Loop() {
		p := benchPlace(b, chainFile(chains))
		d, m := timed(b, p.command("apply", p.file))
		wall, memory = wall+d, max(memory, m)
	}
	report(b, wall, memory)
	b.ReportMetric(float64(wall.Microseconds())/float64(b.N)/(3*chains), "µs/step")
	for _, peer := range peers {
		if dir, ok := peerFolder(b, peer.name, peer.file, peer.write(chains)); ok {
			d, _ := timed(b, peerCommand(peer.name, peer.args, dir))
			ratio(b, peer.name, wall/time.Duration(b.N), d)
		}
	}
}

// BenchmarkPlanProcess plans 100,000 instances as a whole process: none of
// them ran, so a fifth is looked up and the rest is deferred.
func BenchmarkPlanProcess(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			p := benchPlace(b, chainFile(n/3))
			var wall time.Duration
			var memory float64
			for b.Loop() {
				d, m := timed(b, p.command("plan", p.file))
				wall, memory = wall+d, max(memory, m)
			}
			report(b, wall, memory)
		})
	}
}

func report(b *testing.B, wall time.Duration, memory float64) {
	b.ReportMetric(float64(wall.Milliseconds())/float64(b.N), "ms-wall/op")
	b.ReportMetric(memory, "MiB-peak")
}

func ratio(b *testing.B, peer string, ours, theirs time.Duration) {
	b.ReportMetric(float64(theirs.Milliseconds()), "ms-"+peer)
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-"+peer)
}

// peerFolder writes the peer's file into a folder of its own.
func peerFolder(b *testing.B, name, file, text string) (string, bool) {
	b.Helper()
	if _, err := exec.LookPath(name); err != nil {
		return "", false
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir, true
}

func peerCommand(name string, args []string, dir string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}
