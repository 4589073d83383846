package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// members are files whose compression takes every path: nothing, a byte, text
// that repeats what the member before it said, noise, runs, and lengths around
// the sizes of blocks and windows.
func members(tb testing.TB) [][]byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	if err := writeText(&text, 3, 300_000); err != nil {
		tb.Fatal(err)
	}
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	runs := bytes.Repeat([]byte("aaaaaaaab"), 40_000)
	var out [][]byte
	for range 3 {
		for _, n := range []int{0, 1, 3, 4, 100, 4096, 32 << 10, 1<<16 - 1, 1 << 16, 1<<16 + 1, 199_999} {
			out = append(out, text.Bytes()[:n], noise[:n], runs[:n], text.Bytes()[n/2:n])
		}
	}
	for range 300 {
		from := r.IntN(100_000)
		out = append(out, text.Bytes()[from:from+r.IntN(9000)], noise[from:from+r.IntN(3000)])
	}
	return out
}

// A compressor that is reset between members writes what a new one for each
// would.
func TestPackedZipIsAsWithNewCompressors(t *testing.T) {
	var got, want bytes.Buffer
	p, err := archive.NewPacker(&got, archive.Zip, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(&want)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 6) })
	for i, data := range members(t) {
		name := fmt.Sprintf("m%04d", i)
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		one, err := p.Create(name)
		two, err2 := z.CreateHeader(h)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		_, err = one.Write(data)
		_, err2 = two.Write(data)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Fatal("the archive differs from one made with a new compressor for each member")
	}
}

// BenchmarkPack packs many small files, as pictures are, and as a peer Python's
// zipfile, which the reference uses, as a process of its own.
func BenchmarkPack(b *testing.B) {
	files, size := benchSize("MLEFLOW_BENCH_FILES", 4000), 2048
	data := make([][]byte, files)
	for i := range data {
		var text bytes.Buffer
		if err := writeText(&text, i, size); err != nil {
			b.Fatal(err)
		}
		data[i] = text.Bytes()
	}
	var ours float64
	b.Run("zip", func(b *testing.B) {
		allocated := allocations()
		b.SetBytes(int64(files * size))
		before := processorTime(b, syscall.RUSAGE_SELF)
		for range b.N {
			p, err := archive.NewPacker(io.Discard, archive.Zip, archive.PackOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for i, d := range data {
				w, err := p.Create(fmt.Sprintf("train/%07d.txt", i))
				if err == nil {
					_, err = w.Write(d)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
		ours = (processorTime(b, syscall.RUSAGE_SELF) - before).Seconds() / float64(b.N)
		b.ReportMetric(ours*1000, "ms-cpu")
		b.ReportMetric(allocated()/float64(b.N), "MiB-allocated")
	})
	b.Run("python", func(b *testing.B) {
		if _, err := exec.LookPath("python3"); err != nil {
			b.Skip("no python3")
		}
		dir := b.TempDir()
		for i, d := range data {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%07d.txt", i)), d, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(files * size))
		var spent time.Duration
		for range b.N {
			cmd := exec.Command("python3", "-c", packPython, dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			spent += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		theirs := spent.Seconds() / float64(b.N)
		b.ReportMetric(theirs*1000, "ms-cpu")
		if ours > 0 {
			b.ReportMetric(theirs/ours, "times-less-cpu")
		}
	})
}

const packPython = `
import os, sys, zipfile
with zipfile.ZipFile(os.devnull, "w", zipfile.ZIP_DEFLATED) as z:
    for name in sorted(os.listdir(sys.argv[1])):
        z.write(os.path.join(sys.argv[1], name), name)
`

// allocations returns what tells the MiB that were allocated since.
func allocations() func() float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() float64 {
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	}
}

func processorTime(tb testing.TB, who int) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
