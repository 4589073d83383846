package prep_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
)

// The benchmark of this file splits the metadata of a herbarium category by
// category, once with herbarium-2021-fgvc8's own definition, without its
// pictures, and once with testdata/split_records.py, which is the reference's
// way. Each side is a process of its own, they take turns, and both must write
// the same bytes.
//
// MLEFLOW_BENCH_IMAGES is the number of images, 2,000 by default;
// MLEFLOW_BENCH_PYTHON names a Python with pandas and scikit-learn, without
// which only our side runs. In full:
//
//	MLEFLOW_BENCH_IMAGES=1000000 MLEFLOW_BENCH_PYTHON=python3 \
//	  go test ./competitions/prep -run '^$' -bench SplitRecords -benchtime 3x -timeout 1h

const splitFolder = "MLEFLOW_BENCH_SPLIT_FOLDER"

func BenchmarkSplitRecords(b *testing.B) {
	if dir := os.Getenv(splitFolder); dir != "" {
		splitOnce(b, dir)
		return
	}
	images := 2000
	if text := os.Getenv("MLEFLOW_BENCH_IMAGES"); text != "" {
		var err error
		if images, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	writeHerbarium(b, filepath.Join(dir, "raw", "train"), images)
	python := os.Getenv("MLEFLOW_BENCH_PYTHON")
	var ours, theirs processUse
	for b.Loop() {
		ours.run(b, os.Args[0], "-test.run", "^$", "-test.bench", "^BenchmarkSplitRecords$", "-test.benchtime", "1x")(splitFolder + "=" + dir)
		if python != "" {
			theirs.run(b, python, "testdata/split_records.py", filepath.Join(dir, "raw"), filepath.Join(dir, "theirs"))("")
			if out, err := exec.Command("diff", "-rq", filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.wall.Seconds()/float64(b.N), "ours-s")
	b.ReportMetric(ours.mebibytes, "ours-MiB")
	if python != "" {
		b.ReportMetric(theirs.wall.Seconds()/float64(b.N), "theirs-s")
		b.ReportMetric(theirs.mebibytes, "theirs-MiB")
		b.ReportMetric(theirs.wall.Seconds()/ours.wall.Seconds(), "times-faster")
		b.ReportMetric(theirs.cpu.Seconds()/ours.cpu.Seconds(), "times-less-cpu")
		b.ReportMetric(theirs.mebibytes/ours.mebibytes, "times-smaller")
	}
}

// splitOnce is our side: the shipped definition without its pictures.
func splitOnce(b *testing.B, dir string) {
	debug.SetGCPercent(25) // as the command prepare does
	text, err := os.ReadFile("../shipped/herbarium-2021-fgvc8/competition.hcl")
	if err != nil {
		b.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^      files [^\n]*}\n|^      files (?s:.*?)^      }\n`).ReplaceAll(text, nil)
	def, diags := competitions.Parse(text, "herbarium-2021-fgvc8", fstest.MapFS{"leaderboard.txt": {Data: []byte("1\n")}})
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	for b.Loop() {
		if err := os.RemoveAll(filepath.Join(dir, "ours")); err != nil {
			b.Fatal(err)
		}
		out, err := prep.NewFolder(filepath.Join(dir, "ours"))
		if err != nil {
			b.Fatal(err)
		}
		if err := prep.Run(b.Context(), def, prep.Options{Raw: os.DirFS(filepath.Join(dir, "raw")), Out: out}); err != nil {
			b.Fatal(err)
		}
		if err := out.Publish(); err != nil {
			b.Fatal(err)
		}
	}
}

// processUse is what processes took.
type processUse struct {
	wall, cpu time.Duration
	mebibytes float64
}

// run returns a function that runs a program with one more variable set.
func (u *processUse) run(b *testing.B, name string, args ...string) func(variable string) {
	b.Helper()
	return func(variable string) {
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), variable)
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", name, err, out)
		}
		u.wall += time.Since(start)
		u.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		u.mebibytes = max(u.mebibytes, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)
	}
}

// writeHerbarium writes metadata of n images in the members and proportions of
// the competition's: 64,500 categories for 2,257,759 images, few of them with
// many.
func writeHerbarium(b *testing.B, dir string, n int) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "metadata.json"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(21, 8))
	category := make([]int, n)
	for i := range category {
		u := rng.Float64()
		category[i] = int(u * u * float64(n) / 35)
	}
	list := func(name, end string, item func(i int) string) {
		fmt.Fprintf(w, "%q: [", name)
		for i := range n {
			if i > 0 {
				w.WriteString(", ")
			}
			w.WriteString(item(i))
		}
		w.WriteString("]" + end)
	}
	w.WriteString("{")
	list("annotations", ", ", func(i int) string {
		return fmt.Sprintf(`{"category_id": %d, "id": %d, "image_id": %d, "institution_id": %d}`, category[i], i+8, i+1, i%5)
	})
	w.WriteString(`"categories": [{"family": "Apiaceae", "id": 0, "name": "Conium maculatum L."}], `)
	list("images", ", ", func(i int) string {
		return fmt.Sprintf(`{"file_name": "images/%03d/%02d/%d.jpg", "height": 1000, "id": %d, "license": %d, "width": %d}`,
			category[i]/100, category[i]%100, i+1, i+1, i%5, 600+i%90)
	})
	w.WriteString(`"info": {"version": 1.0}, "institutions": [], "licenses": []}`)
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
}
