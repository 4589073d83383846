package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// The benchmarks measure what the machine can do in the same run, and report
// ratios to it, so that figures of different machines compare.

const smallFile = 4096

// timesPlain is how many times as fast ours is as a plain loop of the same calls.
const timesPlain = "times-plain"

// writeSmallFiles makes n different files in folders of a thousand.
func writeSmallFiles(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	data := make([]byte, smallFile)
	for i := range n {
		if i%1000 == 0 {
			must(b, os.Mkdir(fmt.Sprintf("%s/d%03d", dir, i/1000), 0o755))
		}
		binary.LittleEndian.PutUint64(data, uint64(i))
		must(b, os.WriteFile(fmt.Sprintf("%s/d%03d/f%d", dir, i/1000, i), data, 0o644))
	}
	return dir
}

// plainCopy reads, hashes and writes the files of dir one after another, and
// tells how long that takes.
func plainCopy(b *testing.B, dir string) time.Duration {
	b.Helper()
	out := b.TempDir()
	start := time.Now()
	n := 0
	must(b, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sha256.Sum256(data)
		n++
		if n%1000 == 1 {
			if err := os.Mkdir(fmt.Sprintf("%s/%d", out, n/1000), 0o755); err != nil {
				return err
			}
		}
		return os.WriteFile(fmt.Sprintf("%s/%d/%d", out, (n-1)/1000, n), data, 0o444)
	}))
	return time.Since(start)
}

// BenchmarkImport stores folders of small files. The ratio is the time of a
// plain loop that reads, hashes and writes the same files, over ours: above 1
// is faster than the loop.
func BenchmarkImport(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := writeSmallFiles(b, n)
			plain := plainCopy(b, dir)
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				c := openTest(b, b.TempDir(), Options{}, hooks{unnamed: true})
				b.StartTimer()
				_, err := tree.Import(b.Context(), c, dir, tree.ImportOptions{})
				must(b, err)
			}
			each := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(n)/each, "files/s")
			b.ReportMetric(plain.Seconds()/each, timesPlain)
			b.ReportMetric(heapMiB(), "heap-MiB")
		})
	}
}

// BenchmarkImportAgain stores a folder whose content is in the cache already.
func BenchmarkImportAgain(b *testing.B) {
	const n = 10_000
	dir := writeSmallFiles(b, n)
	c := openTest(b, b.TempDir(), Options{}, hooks{unnamed: true})
	_, err := tree.Import(b.Context(), c, dir, tree.ImportOptions{})
	must(b, err)
	for b.Loop() {
		_, err := tree.Import(b.Context(), c, dir, tree.ImportOptions{})
		must(b, err)
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "files/s")
}

// BenchmarkIngestLarge writes one large blob, in turns with a loop that hashes it
// and writes it to a file, which the ratio is to.
func BenchmarkIngestLarge(b *testing.B) {
	const size = 256 << 20
	data := make([]byte, 1<<20)
	write := func(n int, to io.Writer) {
		for i := range size / len(data) {
			binary.LittleEndian.PutUint64(data, uint64(n*size+i))
			_, err := to.Write(data)
			must(b, err)
		}
	}
	c := openTest(b, b.TempDir(), Options{}, hooks{unnamed: true})
	b.SetBytes(size)
	var plain time.Duration
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		f, err := os.Create(filepath.Join(b.TempDir(), "plain"))
		must(b, err)
		start := time.Now()
		write(n, io.MultiWriter(f, sha256.New()))
		plain += time.Since(start)
		must(b, f.Close())
		b.StartTimer()
		in, err := c.Ingest(b.Context(), "")
		must(b, err)
		write(n, in)
		_, err = in.Commit(b.Context(), cache.Ref{})
		must(b, err)
	}
	b.ReportMetric(plain.Seconds()/b.Elapsed().Seconds(), timesPlain)
}

// BenchmarkMaterialise links a tree of small files, 100,000 or as many as
// MLEFLOW_BENCH_FILES says. The ratio is the time of a plain loop of links over ours.
func BenchmarkMaterialise(b *testing.B) {
	n := benchFiles(100_000)
	dir := writeSmallFiles(b, n)
	c := openTest(b, b.TempDir(), Options{}, hooks{unnamed: true})
	ref, err := tree.Import(b.Context(), c, dir, tree.ImportOptions{})
	must(b, err)
	plain := plainLinks(b, dir)
	for _, mode := range []tree.Mode{tree.Link, tree.Copy} {
		b.Run(map[tree.Mode]string{tree.Link: "link", tree.Copy: "copy"}[mode], func(b *testing.B) {
			for range b.N {
				dst := filepath.Join(b.TempDir(), "out")
				b.StartTimer()
				_, err := tree.Materialise(b.Context(), c, ref, dst, tree.Options{Mode: mode})
				b.StopTimer()
				must(b, err)
				must(b, tree.Remove(dst))
			}
			each := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(n)/each, "files/s")
			b.ReportMetric(plain.Seconds()/each, timesPlain)
		})
	}
	b.Run("check unmodified", func(b *testing.B) {
		for b.Loop() {
			must(b, c.checkUnmodified(b.Context(), ref))
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "files/s")
	})
}

func plainLinks(b *testing.B, dir string) time.Duration {
	b.Helper()
	out := b.TempDir()
	start := time.Now()
	n := 0
	must(b, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		to := out + path[len(dir):]
		if d.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		n++
		return os.Link(path, to)
	}))
	return time.Since(start)
}

// benchRecord is a record of usual size.
func benchRecord(i int, ref cache.Ref) *cache.Record {
	h := digest.NewHasher("grade", "1")
	h.String("competition", fmt.Sprint("competition-", i%82))
	h.Int("seed", int64(i))
	for _, label := range []string{"submission", "answers", "image"} {
		h.Content(label, digest.Of(fmt.Append(nil, label, i)))
	}
	return &cache.Record{
		Action: h.Sum(), Address: fmt.Sprintf("step.grade.score[%q]", fmt.Sprint(i)), Kind: "grade", Fields: h.Fields(), Run: "2026-01-01T00:00:00Z-abcdef",
		Outputs:          cache.Outputs{"report": {Ref: ref}, "score": {JSON: []byte("0.98765")}},
		StartedUnixMilli: time.Now().UnixMilli(), DurationMillis: 12,
	}
}

// BenchmarkRecord is what the cache adds to a step that does nothing: a small
// blob is stored and the action recorded.
func BenchmarkRecord(b *testing.B) {
	c := openTest(b, b.TempDir(), Options{Quota: 1 << 40}, hooks{unnamed: true})
	i := 0
	for b.Loop() {
		i++
		ref, err := cache.PutBytes(b.Context(), c, fmt.Appendf(nil, "%0100d", i))
		must(b, err)
		must(b, c.Record(b.Context(), benchRecord(i, ref)))
	}
}

// BenchmarkCreate makes a cache in an empty folder, stores one result and closes it.
func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		session(b, b.TempDir(), Options{}, hooks{unnamed: true}, func(c *Cache) {
			ref, err := cache.PutBytes(b.Context(), c, []byte("x"))
			must(b, err)
			must(b, c.Record(b.Context(), benchRecord(1, ref)))
		})
	}
}

// BenchmarkLookup opens a cache of 100,000 records and looks all of them up.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkLookup(b, n) })
	}
}

func benchmarkLookup(b *testing.B, n int) {
	dir := b.TempDir()
	ids := make([]digest.ActionID, n)
	session(b, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		for i := range ids {
			ref, err := cache.PutBytes(b.Context(), c, fmt.Append(nil, i))
			must(b, err)
			rec := benchRecord(i, ref)
			ids[i] = rec.Action
			must(b, c.Record(b.Context(), rec))
		}
	})
	base := heapMiB()
	var opening, lookups time.Duration
	var memory float64
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		c, err := Open(dir, Options{})
		must(b, err)
		opening += time.Since(start)
		start = time.Now()
		for _, id := range ids {
			if _, err := c.Lookup(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
		lookups += time.Since(start)
		b.StopTimer()
		memory = heapMiB() - base
		must(b, c.Close())
		b.StartTimer()
	}
	b.ReportMetric(opening.Seconds()*1000/float64(b.N), "ms-open")
	b.ReportMetric(lookups.Seconds()*1000/float64(b.N), "ms-lookups")
	b.ReportMetric(memory, "heap-MiB")
}

func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkGC marks and sweeps a cache of 20,000 objects without removing any.
func BenchmarkGC(b *testing.B) {
	c := openTest(b, b.TempDir(), Options{}, hooks{unnamed: true})
	for t := range 20 {
		record(b, c, fmt.Sprint(t), putTree(b, c, fmt.Sprint(t), 1000))
	}
	for b.Loop() {
		_, err := c.GC(b.Context(), GCOptions{})
		must(b, err)
	}
}
