package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// cost is what runs of a program took.
type cost struct {
	runs  int
	wall  time.Duration // of all of them
	least time.Duration // processor time of the best
	peak  float64       // MiB
}

// run runs a command and adds what it took.
func (c *cost) run(b *testing.B, cmd *exec.Cmd) {
	b.Helper()
	adoptOrphans(b)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	used, err := measured(b, cmd)
	if err != nil {
		b.Fatalf("%v: %v\n%s", cmd.Args, err, out.Bytes())
	}
	c.wall += used.wall
	c.runs++
	spent := used.cpu + orphans(b)
	if c.runs == 1 || spent < c.least {
		c.least = spent
	}
	c.peak = max(c.peak, used.mebibytes)
}

// report gives the least processor time, since a busy machine only adds to it,
// what it waited included in the mean time.
func (c *cost) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(c.least.Microseconds())/1000, "ms-cpu")
	b.ReportMetric(float64(c.wall.Microseconds())/1000/float64(c.runs), "ms-wall")
	b.ReportMetric(c.peak, "MiB-peak")
}

// reportPeer reports a peer's cost, and how many times less processor time ours took.
func (c *cost) reportPeer(b *testing.B, ours *cost) {
	c.report(b)
	if ours.runs > 0 {
		b.ReportMetric(float64(c.least)/float64(ours.least), "times-less-cpu")
	}
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

// BenchmarkVersion starts the program, and does nothing.
func BenchmarkVersion(b *testing.B) {
	p := benchPlace(b, "")
	var c cost
	for b.Loop() {
		c.run(b, p.command("version"))
	}
	c.report(b)
}

// BenchmarkNoop applies 1,500 instances of which nothing has to run, as a
// whole process, and lets the peers find out the same of the same graph.
func BenchmarkNoop(b *testing.B) {
	const chains = 500
	var ours cost
	b.Run("mleflow", func(b *testing.B) {
		p := benchPlace(b, chainFile(chains))
		new(cost).run(b, p.command("apply", p.file))
		for b.Loop() {
			ours.run(b, p.command("apply", p.file))
		}
		ours.report(b)
	})
	for _, peer := range peers {
		b.Run(peer.name, func(b *testing.B) {
			dir := peerFolder(b, peer.name, peer.file, peer.write(chains))
			new(cost).run(b, peerCommand(peer.name, peer.args, dir))
			var c cost
			for b.Loop() {
				c.run(b, peerCommand(peer.name, peer.args, dir))
			}
			c.reportPeer(b, &ours)
		})
	}
}

// BenchmarkFirst runs 300 trivial commands for the first time.
func BenchmarkFirst(b *testing.B) {
	const chains = 100
	var ours cost
	b.Run("mleflow", func(b *testing.B) {
		for b.Loop() {
			p := benchPlace(b, chainFile(chains))
			ours.run(b, p.command("apply", p.file))
		}
		ours.report(b)
	})
	for _, peer := range peers {
		b.Run(peer.name, func(b *testing.B) {
			var c cost
			for b.Loop() {
				c.run(b, peerCommand(peer.name, peer.args, peerFolder(b, peer.name, peer.file, peer.write(chains))))
			}
			c.reportPeer(b, &ours)
		})
	}
}

// BenchmarkPlanProcess plans 100,000 instances as a whole process: none of
// them ran, so a fifth is looked up and the rest is deferred.
func BenchmarkPlanProcess(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			p := benchPlace(b, chainFile(n/3))
			var c cost
			for b.Loop() {
				c.run(b, p.command("plan", p.file))
			}
			c.report(b)
		})
	}
}

// shipped is a place for the shipped pipeline of all competitions, on the data of a
// rehearsal, and the arguments that make it have about so many steps.
func shipped(b *testing.B, steps int) (*place, []string) {
	b.Helper()
	p := benchPlace(b, "mleflow { extends = \"full.hcl\" }\n")
	const competitions, each = 75, 5 // steps of a competition before its attempts
	seeds := (steps - competitions*each) / (2 * competitions)
	return p, []string{p.file, "-var", "data=rehearsal", "-var", fmt.Sprintf("seeds=%d", seeds)}
}

// BenchmarkShipped plans the shipped pipeline while nothing ran, applies it with agents
// that submit the sample, and plans and applies it again, when there is nothing to do.
// More than MLEFLOW_BENCH_APPLIED steps are only planned.
func BenchmarkShipped(b *testing.B) {
	applied, err := strconv.Atoi(cmp.Or(os.Getenv("MLEFLOW_BENCH_APPLIED"), "10000"))
	if err != nil {
		b.Fatal(err)
	}
	for _, steps := range []int{826, 10_000, 100_000} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			p, args := shipped(b, steps)
			often := func(name, verb string) {
				b.Run(name, func(b *testing.B) {
					var c cost
					for b.Loop() {
						c.run(b, p.command(append([]string{verb}, args...)...))
					}
					c.report(b)
				})
			}
			often("plan", "plan")
			if steps > applied {
				return
			}
			var first cost // once, since it takes long
			first.run(b, p.command(append([]string{"apply"}, args...)...))
			b.Run("apply", first.report)
			often("cached", "plan")
			often("noop", "apply")
		})
	}
}

// peerFolder writes the peer's file into a folder of its own, where it is
// installed.
func peerFolder(b *testing.B, name, file, text string) string {
	b.Helper()
	if _, err := exec.LookPath(name); err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

func peerCommand(name string, args []string, dir string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}
