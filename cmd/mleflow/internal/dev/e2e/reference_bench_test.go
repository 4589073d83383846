package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions"
)

// The benchmarks of this file run mleflow and the reference's way, which is
// testdata/reference.py with pandas and scikit-learn, in turns on the same
// files, as whole processes, and report how many times faster and smaller
// mleflow is. Both must give the same files and scores. They need a Python
// with pandas >= 2.2, scikit-learn >= 1.5, pycocotools, shapely, pyquaternion
// and pymongo in MLEFLOW_BENCH_PYTHON;
// MLEFLOW_BENCH_SCALE is the share of the full sizes, 0.02 by default.
// See .ci/bench-reference.

// python returns the interpreter to compare with.
func python(b *testing.B) string {
	b.Helper()
	path := os.Getenv("MLEFLOW_BENCH_PYTHON")
	if path == "" {
		b.Skip("MLEFLOW_BENCH_PYTHON names no Python with pandas and scikit-learn")
	}
	return path
}

// scaled is a share of a full size.
func scaled(b *testing.B, full int) int {
	b.Helper()
	share := 0.02
	if text := os.Getenv("MLEFLOW_BENCH_SCALE"); text != "" {
		var err error
		if share, err = strconv.ParseFloat(text, 64); err != nil || !(share > 0) {
			b.Fatalf("MLEFLOW_BENCH_SCALE = %q is no share", text)
		}
	}
	return max(int(share*float64(full)), 20)
}

// usage is what a process took.
type usage struct {
	wall, cpu time.Duration
	mebibytes float64
}

func (u *usage) add(v usage) {
	u.wall, u.cpu, u.mebibytes = u.wall+v.wall, u.cpu+v.cpu, max(u.mebibytes, v.mebibytes)
}

func spent(b *testing.B, cmd *exec.Cmd) (usage, []byte) {
	b.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	used, err := measured(b, cmd)
	if err != nil {
		b.Fatalf("%v: %v\n%s", cmd.Args, err, errs.String())
	}
	return used, out.Bytes()
}

// peak is where the program of that name is, once it is built.
var (
	peak      string
	buildPeak = sync.OnceValue(func() error { return build(peak, "github.com/mleflow/mleflow/cmd/mleflow/internal/dev/e2e/peak") })
)

// measured runs a command and returns what it took, without the memory of this
// process, which the kernel counts to its own children.
func measured(b *testing.B, cmd *exec.Cmd) (used usage, err error) {
	b.Helper()
	if err := buildPeak(); err != nil {
		b.Fatal(err)
	}
	report, err := os.Create(filepath.Join(b.TempDir(), "usage"))
	if err != nil {
		b.Fatal(err)
	}
	defer report.Close()
	cmd.Args = append([]string{peak, cmd.Path}, cmd.Args...)
	cmd.Path, cmd.ExtraFiles = peak, []*os.File{report}
	if err := cmd.Run(); err != nil {
		return usage{}, err
	}
	text, err := os.ReadFile(report.Name())
	if err == nil {
		_, err = fmt.Sscan(string(text), &used.wall, &used.cpu, &used.mebibytes)
		used.mebibytes /= 1024
	}
	return used, err
}

// compare reports both sides of b.N pairs.
func compare(b *testing.B, ours, theirs usage) {
	b.Helper()
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.wall.Seconds()/n, "ours-s")
	b.ReportMetric(theirs.wall.Seconds()/n, "theirs-s")
	b.ReportMetric(theirs.wall.Seconds()/ours.wall.Seconds(), "times-faster")
	b.ReportMetric(theirs.cpu.Seconds()/ours.cpu.Seconds(), "times-less-cpu")
	b.ReportMetric(ours.mebibytes, "ours-MiB")
	b.ReportMetric(theirs.mebibytes, "theirs-MiB")
	b.ReportMetric(theirs.mebibytes/ours.mebibytes, "times-smaller")
}

// BenchmarkReferencePrepare prepares a competition from raw data of its shape.
// Neither side fetches the description, which takes as long as the network does.
func BenchmarkReferencePrepare(b *testing.B) {
	for _, bb := range []struct {
		name, id, command string
		size              int
		generate          func(b *testing.B, dir string, n int)
	}{
		{"taxi", "new-york-city-taxi-fare-prediction", "taxi", 5_000_000, writeTaxi},
		{"text", "text-normalization-challenge-english-language", "text", 2_000_000, writeTokens},
		{"images", "histopathologic-cancer-detection", "images", 100_000, writeImages},
		{"bson", "cdiscount-image-classification-challenge", "bson", 1_000_000, writeDocuments},
		{"lines", "billion-word-imputation", "lines", 13_000_000, writeSentences},
	} {
		b.Run(bb.name, func(b *testing.B) {
			interpreter, dir := python(b), b.TempDir()
			raw := filepath.Join(dir, "raw")
			if err := os.Mkdir(raw, 0o755); err != nil {
				b.Fatal(err)
			}
			bb.generate(b, raw, scaled(b, bb.size))
			p := &place{cache: filepath.Join(dir, "cache")}
			var ours, theirs usage
			for b.Loop() {
				data, out := filepath.Join(dir, "data"), filepath.Join(dir, "out")
				used, _ := spent(b, p.command("prepare", "-c", bb.id, "--raw", raw, "--data-dir", data, "--skip-verification", "--offline"))
				ours.add(used)
				used, _ = spent(b, exec.Command(interpreter, "testdata/reference.py", bb.command, raw, out))
				theirs.add(used)
				sameFiles(b, filepath.Join(data, bb.id, "prepared"), out)
				os.RemoveAll(data)
				os.RemoveAll(out)
			}
			compare(b, ours, theirs)
		})
	}
}

// sameFiles compares what both sides prepared; archives by their names only,
// since theirs hold times.
func sameFiles(b *testing.B, ours, theirs string) {
	b.Helper()
	for _, half := range []string{"public", "private"} {
		entries, err := os.ReadDir(filepath.Join(theirs, half))
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			a, c := filepath.Join(ours, half, e.Name()), filepath.Join(theirs, half, e.Name())
			if ext := filepath.Ext(a); ext != ".csv" && ext != ".bson" {
				if _, err := os.Stat(a); err != nil {
					b.Error(err)
				}
				continue
			}
			if err := exec.Command("cmp", a, c).Run(); err != nil {
				b.Errorf("%s differs: %v", e.Name(), err)
			}
		}
	}
}

// BenchmarkReferenceGrade grades a submission of a million rows, and one small
// file, which is all starting up.
func BenchmarkReferenceGrade(b *testing.B) {
	for _, bb := range []struct {
		name, id, command string
		size              int
		generate          func(b *testing.B, answers, submission string, n int)
	}{
		{"start", "aerial-cactus-identification", "auc", 0, writeProbabilities},
		{"auc", "aerial-cactus-identification", "auc", 1_000_000, writeProbabilities},
		{"accuracy", "tabular-playground-series-dec-2021", "accuracy", 1_000_000, writeClasses},
		{"logloss", "dog-breed-identification", "logloss", 1_000_000, writeDistributions},
		{"masks", "google-research-identify-contrails-reduce-global-warming", "masks", 50_000, writeMasks},
		{"boxes", "vinbigdata-chest-xray-abnormalities-detection", "boxes", 100_000, writeBoxes},
		{"cuboids", "3d-object-detection-for-autonomous-vehicles", "cuboids", 20_000, writeCuboids},
	} {
		b.Run(bb.name, func(b *testing.B) {
			interpreter, dir := python(b), b.TempDir()
			answers, submission := answersPath(b, dir, bb.id), filepath.Join(dir, "submission.csv")
			n := 1000
			if bb.size > 0 {
				n = scaled(b, bb.size)
			}
			bb.generate(b, answers, submission, n)
			p := &place{cache: filepath.Join(dir, "cache")}
			var ours, theirs usage
			for b.Loop() {
				used, report := spent(b, p.command("grade-sample", submission, bb.id, "--data-dir", dir, "--json"))
				ours.add(used)
				used, score := spent(b, exec.Command(interpreter, "testdata/reference.py", bb.command, submission, answers))
				theirs.add(used)
				sameScore(b, report, score)
			}
			compare(b, ours, theirs)
		})
	}
}

// answersPath returns the path of a competition's answers, in a folder that is
// there.
func answersPath(b *testing.B, data, id string) string {
	b.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		b.Fatal(err)
	}
	def, err := catalog.Get(id)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(data, id, "prepared", def.Layout.Answers)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	return path
}

func sameScore(b *testing.B, report, score []byte) {
	b.Helper()
	var got struct {
		Score float64 `json:"exact_score"`
	}
	want, err := strconv.ParseFloat(strings.TrimSpace(string(score)), 64)
	if err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(report, &got); err != nil {
		b.Fatal(err)
	}
	if math.Abs(got.Score-want) > 1e-12*math.Abs(want) {
		b.Errorf("score %v, theirs %v", got.Score, want)
	}
}
