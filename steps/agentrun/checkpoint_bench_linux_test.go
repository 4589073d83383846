package agentrun_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/disk"
)

// BenchmarkCheckpoints runs an agent that writes 1 GB a minute, to many files or to the end
// of one, without checkpoints and with one every three seconds, 200 times as often as by
// default. Each round has all of them in turn. It reports the agent's own time, for how long
// it stood still, both in seconds, and mleflow's processor time. MLEFLOW_BENCH_DIR is a
// folder on the file system to measure.
func BenchmarkCheckpoints(b *testing.B) {
	chunk := filepath.Join(b.TempDir(), "chunk")
	data := make([]byte, 1_700_000)
	_, _ = rand.Read(data)
	if err := os.WriteFile(chunk, data, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, to := range []string{"many files", "one file"} {
		for _, every := range []string{"", "3s"} {
			b.Run(fmt.Sprintf("%s/every=%s", to, every), func(b *testing.B) {
				file := "big"
				if to == "many files" {
					file = "part-$i"
				}
				var sum figures
				for range b.N {
					sum = sum.plus(written(b, every, `began=$(date +%s%N); cd $AGENT_DIR; i=0
					while [ $i -lt 150 ]; do cat `+chunk+` >> `+file+`; sleep 0.1; i=$((i+1)); done; echo $((($(date +%s%N)-began)/1000000)) > $CODE_DIR/took`))
				}
				n := float64(b.N)
				b.ReportMetric(sum.agent/n, "agent-s")
				b.ReportMetric(sum.still/n, "still-s")
				b.ReportMetric(sum.longest, "longest-still-s")
				b.ReportMetric(sum.cpu/n, "cpu-s")
				b.ReportMetric(float64(sum.points)/n, "checkpoints")
			})
		}
	}
}

// figures are those of attempts.
type figures struct {
	agent, still, longest, cpu float64
	points                     int
}

func (f figures) plus(o figures) figures {
	return figures{f.agent + o.agent, f.still + o.still, max(f.longest, o.longest), f.cpu + o.cpu, f.points + o.points}
}

var stoodStill = regexp.MustCompile(`stood still for (\S+)`)

// written runs an attempt and measures it.
func written(b *testing.B, every, line string) (f figures) {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("MLEFLOW_BENCH_DIR"), "checkpoints")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := disk.Open(filepath.Join(dir, "cache"), disk.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	bench := newBench(b)
	bench.Store = store
	args := values(bench, b, shell(line))
	if every != "" {
		args["on_loss"], args["checkpoint_every"] = cty.StringVal("resume"), cty.StringVal(every)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		b.Fatal(err)
	}
	began := processorTime()
	out, err := bench.RunIn(b, b.Context(), work, args)
	if err != nil {
		b.Fatal(err)
	}
	f.cpu = (processorTime() - began).Seconds()
	took, err := strconv.ParseFloat(strings.TrimSpace(bench.Files(b, out["code"].Ref)["took"]), 64)
	if err != nil {
		b.Fatal(err)
	}
	f.agent = took / 1000
	for _, m := range stoodStill.FindAllStringSubmatch(bench.Log(), -1) {
		d, _ := time.ParseDuration(m[1])
		f = f.plus(figures{still: d.Seconds(), longest: d.Seconds(), points: 1})
	}
	return f
}

// processorTime is that of this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
