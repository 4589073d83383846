package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

const overheadPipeline = `
variable "round" { type = number }
variable "runtime" { type = string }
variable "seconds" { type = string }
model "main" {
  provider = "openai"
  models   = ["m-*"]
  key      = "env:OVERHEAD_KEY"
  base_url = %[1]q
  price "m-*" {
    input      = "1 USD"
    output     = "2 USD"
    max_output = 4000
  }
}
agent "trainer" {
  command = [var.runtime == "process" ? %[2]q : "/usr/bin/rogue", "train", var.seconds]
  image   = var.runtime == "process" ? null : %[3]q
  models  = [model.main]
}
step "agent-run" "train" {
  agent          = agent.trainer
  competition    = "demo-cancer"
  seed           = var.round
  data           = dir("data")
  task           = "own"
  runtime        = var.runtime
  timeout        = "1h"
  snapshot_every = "10s"
}
`

// trained is what "rogue train" prints.
var trained = regexp.MustCompile(`trained (\d+) (\d+) (\d+)`)

// BenchmarkOverhead measures what mleflow takes while an agent trains, with snapshots
// every ten seconds, a transcript and the watch over its submission.
// MLEFLOW_BENCH_TRAINING is the length of the training in seconds and the size of the
// data in MiB. "ours-percent" is the processor time of mleflow over the time of the
// agent, without that of the agent and, in containers, of containerd. "speed-percent" is
// how much the agent gets done in a second, of what it does alone, and "around-s" the
// time of the apply before and after the agent.
func BenchmarkOverhead(b *testing.B) {
	var seconds, size int
	if _, err := fmt.Sscanf(cmp.Or(os.Getenv("MLEFLOW_BENCH_TRAINING"), "10,64"), "%d,%d", &seconds, &size); err != nil {
		b.Fatal(err)
	}
	h := newHost(b)
	server := &modeltest.Server{Key: "sk-overhead", Models: []string{"m-1"}, Answer: func(*modeltest.Ask) modeltest.Answer { return modeltest.Answer{Text: "Go on."} }}
	address := modeltest.Start(b, server) + "/v1"
	h.env = append(h.env, "OVERHEAD_KEY="+server.Key)
	data := filepath.Join(h.dir, "data")
	writeData(b, data, size)
	file := h.write("overhead.hcl", fmt.Sprintf(overheadPipeline, address, rogue, h.image))
	alone := 0.0
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(rogue, "train", fmt.Sprint(seconds))
			cmd.Env = append(os.Environ(), "DATA_DIR="+data, "CODE_DIR="+b.TempDir(), "SUBMISSION_DIR="+b.TempDir(), "OPENAI_BASE_URL="+address, "OPENAI_API_KEY="+server.Key)
			out, err := cmd.CombinedOutput()
			if err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			alone, _, _ = training(b, out)
		}
		b.ReportMetric(0, "ns/op")
	})
	for _, runtime := range []string{"process", "sandbox", "containerd"} {
		h.apply(file, "-var", "round=0", "-var", "seconds=1", "-var", "runtime="+runtime) // places data and image
		b.Run(runtime, func(b *testing.B) {
			var speed, wall float64
			var ours, around time.Duration
			for b.Loop() {
				cmd := h.command("apply", file, "--json", "-var", fmt.Sprint("round=", time.Now().UnixMilli()), "-var", "seconds="+fmt.Sprint(seconds), "-var", "runtime="+runtime)
				began := time.Now()
				out, err := cmd.Output()
				if err != nil {
					b.Fatalf("%v\n%s", err, tail(string(out)))
				}
				fast, busy, took := training(b, out)
				if runtime != "sandbox" {
					busy = 0 // nobody waits for it whom mleflow waits for
				}
				used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				ours += time.Duration(used.Utime.Nano()+used.Stime.Nano()) - busy
				around += time.Since(began) - took
				speed, wall = speed+fast, wall+took.Seconds()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(100*ours.Seconds()/wall, "ours-percent")
			b.ReportMetric(100*speed/alone/float64(b.N), "speed-percent")
			b.ReportMetric(around.Seconds()/float64(b.N), "around-s")
		})
	}
	h.clean()
}

// writeData writes the data of the agent.
func writeData(b *testing.B, dir string, size int) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sample_submission.csv"), []byte("id,malignant\n1,0.5\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "big.bin"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for i := range size {
		copy(chunk, fmt.Sprint(i))
		if _, err := f.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
}

// training returns the bytes a second of processor time, the processor time and the time of the agent.
func training(b *testing.B, out []byte) (speed float64, busy, took time.Duration) {
	m := trained.FindSubmatch(out)
	if m == nil {
		b.Fatalf("the agent did not end:\n%s", tail(string(out)))
	}
	var n [3]float64
	for i := range n {
		n[i], _ = strconv.ParseFloat(string(m[i+1]), 64)
	}
	return n[0] / n[1], time.Duration(n[1]) * time.Millisecond, time.Duration(n[2]) * time.Millisecond
}
