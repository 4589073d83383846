package sandbox

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// benchPipeline runs short agents, all at once as far as the leases let them.
const benchPipeline = `
variable "round" { type = number }
variable "runtime" { type = string }
locals { keys = { for i in range(%[2]d) : tostring(i) => i } }
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
agent "short" {
  %[1]s
  command = [%[3]q, "work", "0"]
}
step "agent-run" "work" {
  for_each    = local.keys
  agent       = agent.short
  competition = "demo-cancer"
  seed        = var.round * 1000 + each.value
  data        = step.prepare.data.public
  runtime     = var.runtime
  timeout     = "1m"
  resources { %[4]s }
}
`

// BenchmarkAgents measures what an attempt costs in a container over a plain
// process: fifty short agents by one apply, and one alone, with and without a
// volume. "run-ms" is the time an agent, "times-process" that over a process's, "cpu-ms" the processor time of mleflow
// an agent, "peak-MiB" the memory of mleflow.
func BenchmarkAgents(b *testing.B) {
	h := newHost(b)
	for _, count := range []int{1, 50} {
		var process float64
		for _, tt := range []struct{ name, runtime, resources string }{
			{"process", "process", "cpus = 1"},
			{"containerd", "containerd", "cpus = 1"},
			{"containerd-disk", "containerd", "disk = \"16MiB\""},
		} {
			image, program := "", rogue
			if tt.runtime == "containerd" {
				image, program = fmt.Sprintf("image = %q", h.image), "/usr/bin/rogue"
			}
			file := h.write(fmt.Sprintf("bench-%s-%d.hcl", tt.name, count), fmt.Sprintf(benchPipeline, image, count, program, tt.resources))
			round := 0
			h.apply(file, "-var", "round=0", "-var", "runtime="+tt.runtime)
			b.Run(fmt.Sprintf("%s/%d", tt.name, count), func(b *testing.B) {
				var wall, cpu time.Duration
				var peak int64
				for b.Loop() {
					round++
					cmd := h.command("apply", filepath.Clean(file), "-var", fmt.Sprint("round=", round), "-var", "runtime="+tt.runtime)
					began := time.Now()
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, tail(string(out)))
					}
					wall += time.Since(began)
					usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
					cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
					peak = max(peak, usage.Maxrss)
				}
				n := float64(b.N * count)
				each := float64(wall.Microseconds()) / 1000 / n
				b.ReportMetric(each, "run-ms")
				if tt.name == "process" {
					process = each
				} else if process > 0 {
					b.ReportMetric(each/process, "times-process")
				}
				b.ReportMetric(float64(cpu.Microseconds())/1000/n, "cpu-ms")
				b.ReportMetric(float64(peak)/1024, "peak-MiB")
			})
		}
	}
	h.clean()
}
