package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkPeers compares with testdata/peers.py: polars and duckdb, which a
// user who cares for speed would pick, must give the same files and scores.
// It reports the median of each side's processor times, start-up included, and
// the most memory. MLEFLOW_BENCH_PYTHON must have both libraries.
func BenchmarkPeers(b *testing.B) {
	b.Run("taxi", func(b *testing.B) {
		dir := b.TempDir()
		raw, data, out := filepath.Join(dir, "raw"), filepath.Join(dir, "data"), filepath.Join(dir, "out")
		if err := os.Mkdir(raw, 0o755); err != nil {
			b.Fatal(err)
		}
		writeTaxi(b, raw, scaled(b, 2_000_000))
		p := &place{cache: filepath.Join(dir, "cache")}
		const id = "new-york-city-taxi-fare-prediction"
		comparePeers(b, func() usage {
			os.RemoveAll(data)
			used, _ := spent(b, p.command("prepare", "-c", id, "--raw", raw, "--data-dir", data, "--skip-verification", "--offline"))
			return used
		}, func(interpreter, peer string) usage {
			used, _ := spent(b, exec.Command(interpreter, "testdata/peers.py", "taxi", peer, raw, out))
			sameFiles(b, filepath.Join(data, id, "prepared"), out)
			os.RemoveAll(out)
			return used
		})
	})
	for _, bb := range []struct {
		name, id string
		generate func(b *testing.B, answers, submission string, n int)
	}{
		{"auc", "aerial-cactus-identification", writeProbabilities},
		{"logloss", "dog-breed-identification", writeDistributions},
	} {
		b.Run(bb.name, func(b *testing.B) {
			dir := b.TempDir()
			answers, submission := answersPath(b, dir, bb.id), filepath.Join(dir, "submission.csv")
			bb.generate(b, answers, submission, scaled(b, 1_000_000))
			p := &place{cache: filepath.Join(dir, "cache")}
			var report []byte
			comparePeers(b, func() (used usage) {
				used, report = spent(b, p.command("grade-sample", submission, bb.id, "--data-dir", dir, "--json"))
				return used
			}, func(interpreter, peer string) usage {
				used, score := spent(b, exec.Command(interpreter, "testdata/peers.py", bb.name, peer, submission, answers))
				sameScore(b, report, score)
				return used
			})
		})
	}
}

// comparePeers runs ours and each peer in turns, b.N times, and reports a
// benchmark for each peer.
func comparePeers(b *testing.B, ours func() usage, theirs func(interpreter, peer string) usage) {
	b.Helper()
	interpreter, peers := python(b), []string{"polars", "duckdb"}
	used := map[string][]usage{}
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			used["ours"] = append(used["ours"], ours())
			for _, peer := range peers {
				used[peer] = append(used[peer], theirs(interpreter, peer))
			}
		}
		b.ReportMetric(0, "ns/op")
	})
	cpu, memory := middle(used["ours"])
	for _, peer := range peers {
		b.Run(peer, func(b *testing.B) {
			theirCPU, theirMemory := middle(used[peer])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(cpu.Seconds(), "ours-cpu-s")
			b.ReportMetric(theirCPU.Seconds(), "theirs-cpu-s")
			b.ReportMetric(theirCPU.Seconds()/cpu.Seconds(), "times-less-cpu")
			b.ReportMetric(memory, "ours-MiB")
			b.ReportMetric(theirMemory, "theirs-MiB")
			b.ReportMetric(theirMemory/memory, "times-smaller")
		})
	}
}

// middle returns the median processor time and the most memory.
func middle(used []usage) (cpu time.Duration, mebibytes float64) {
	var all []time.Duration
	for _, u := range used {
		all, mebibytes = append(all, u.cpu), max(mebibytes, u.mebibytes)
	}
	slices.Sort(all)
	return all[len(all)/2], mebibytes
}
