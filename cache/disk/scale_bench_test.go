package disk

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// The benchmarks of this file take their number of files from a variable. On a
// quiet machine with 10 GB of free disk:
//
//	MLEFLOW_BENCH_FILES=1000000 go test ./cache/disk -run '^$' -bench 'Scale|SmallFiles|Sharing|Hash' -benchtime 1x -timeout 2h
const benchFilesVariable = "MLEFLOW_BENCH_FILES"

func benchFiles(usual int) int {
	if n, err := strconv.Atoi(os.Getenv(benchFilesVariable)); err == nil {
		return n
	}
	return usual
}

const scaleVariable = "MLEFLOW_BENCH_SCALE"

// scalePhases are what BenchmarkScale does with a tree, each in a process of
// its own, so that the system tells what memory it took at most.
var scalePhases = []struct {
	name string
	run  func(ctx context.Context, dir string, files int) error
}{
	{"build", scaleBuild},
	{"materialise", scaleMaterialise},
	{"import", func(ctx context.Context, dir string, _ int) error {
		return withCache(dir, func(c *Cache) error {
			ref, err := tree.Import(ctx, c, dir+"/out", tree.ImportOptions{})
			if want, _ := scaleTree(ctx, c); err == nil && ref != want {
				err = fmt.Errorf("imported %+v, want %+v", ref, want)
			}
			return err
		})
	}},
	{"check", func(ctx context.Context, dir string, _ int) error {
		return withCache(dir, func(c *Cache) error {
			ref, err := scaleTree(ctx, c)
			if err != nil {
				return err
			}
			return c.checkUnmodified(ctx, ref)
		})
	}},
	{"verify", scaleVerify},
	{"verify-full", scaleVerify},
	{"gc", func(ctx context.Context, dir string, _ int) error {
		return withCache(dir, func(c *Cache) error {
			res, err := c.GC(ctx, GCOptions{})
			if res.Objects > 0 {
				err = errors.New("the collection removed what is needed")
			}
			return err
		})
	}},
	{"remove", func(_ context.Context, dir string, _ int) error { return tree.Remove(dir + "/out") }},
}

func withCache(dir string, run func(*Cache) error) error {
	c, err := Open(dir+"/cache", Options{})
	if err != nil {
		return err
	}
	return errors.Join(run(c), c.Close())
}

func scaleTree(ctx context.Context, c *Cache) (cache.Ref, error) {
	rec, err := c.Lookup(ctx, actionOf("scale"))
	if err != nil {
		return cache.Ref{}, err
	}
	return rec.Outputs["out0"].Ref, nil
}

// scaleBuild stores a tree of small files in folders of a thousand. One in ten
// is the same, which is more links to one file than a file system allows, when
// they are a million.
func scaleBuild(ctx context.Context, dir string, files int) error {
	return withCache(dir, func(c *Cache) error {
		b := tree.NewBuilder(c)
		for i := range files {
			data := fmt.Appendf(nil, "file %d of a tree that is only large", max(i, files/10))
			ref, err := cache.PutBytes(ctx, c, data)
			if err == nil {
				err = b.Add(fmt.Sprintf("d%04d/image-%08d.txt", i/1000, i), ref, false)
			}
			if err != nil {
				return err
			}
		}
		ref, err := b.Build(ctx, c)
		if err != nil {
			return err
		}
		return c.Record(ctx, recordOf("scale", ref))
	})
}

func scaleMaterialise(ctx context.Context, dir string, files int) error {
	return withCache(dir, func(c *Cache) error {
		ref, err := scaleTree(ctx, c)
		if err != nil {
			return err
		}
		res, err := tree.Materialise(ctx, c, ref, dir+"/out", tree.Options{})
		if err == nil && (res.Linked != int64(files) || res.BytesCopied != 0) {
			err = fmt.Errorf("%+v: not all are links", res)
		}
		return err
	})
}

func scaleVerify(ctx context.Context, dir string, _ int) error {
	return withCache(dir, func(c *Cache) error {
		res, err := c.Verify(ctx, VerifyOptions{Full: os.Getenv(scaleVariable) == "verify-full"})
		if err == nil && len(res.Damages) > 0 {
			err = fmt.Errorf("%+v", res.Damages)
		}
		return err
	})
}

// TestScaleChild is a process of BenchmarkScale, and does nothing on its own.
func TestScaleChild(t *testing.T) {
	for _, p := range scalePhases {
		if p.name == os.Getenv(scaleVariable) {
			must(t, p.run(t.Context(), os.Getenv("MLEFLOW_BENCH_DIR"), benchFiles(0)))
		}
	}
}

// BenchmarkScale tells the rate, the processor time and the most memory of
// what is done with large trees.
func BenchmarkScale(b *testing.B) {
	files := benchFiles(20_000)
	dir := b.TempDir()
	for _, p := range scalePhases {
		b.Run(p.name, func(b *testing.B) {
			if b.N > 1 {
				b.Skip("each phase follows on the one before: use -benchtime 1x")
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestScaleChild$")
			cmd.Env = append(os.Environ(), scaleVariable+"="+p.name, "MLEFLOW_BENCH_DIR="+dir, benchFilesVariable+"="+strconv.Itoa(files))
			start := time.Now()
			out, err := cmd.CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			cpu := cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()
			b.ReportMetric(float64(files)/time.Since(start).Seconds(), "files/s")
			b.ReportMetric(cpu.Seconds()*1e6/float64(files), "cpu-us/file")
			b.ReportMetric(float64(usage.Maxrss)/1024, "maxrss-MiB")
		})
	}
}

// BenchmarkSmallFiles stores files of a few kilobytes, as unpacking does, and
// as many with nothing but create, write and close, in as many goroutines; the
// ratio is to that and hashing.
func BenchmarkSmallFiles(b *testing.B) {
	files := benchFiles(20_000)
	for _, size := range []int{4 << 10, 10 << 10, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var hashing, plain, ours float64
			for range b.N {
				out := b.TempDir()
				for i := range 256 {
					must(b, os.Mkdir(fmt.Sprintf("%s/%02x", out, i), 0o755))
				}
				hashing += timeSmall(b, files, size, func(_ int, data []byte) error {
					_ = sha256.Sum256(data)
					return nil
				})
				plain += timeSmall(b, files, size, func(i int, data []byte) error {
					return os.WriteFile(fmt.Sprintf("%s/%02x/%d", out, i%256, i), data, 0o444)
				})
				c := openTest(b, b.TempDir(), Options{Quota: 1 << 50}, hooks{unnamed: true})
				ours += timeSmall(b, files, size, func(_ int, data []byte) error {
					_, err := cache.PutBytes(b.Context(), c, data)
					return err
				})
			}
			n := float64(files) * float64(b.N)
			b.ReportMetric(plain*1e6/n, "cpu-us/plain")
			b.ReportMetric(ours*1e6/n, "cpu-us/file")
			b.ReportMetric(hashing*1e6/n, "cpu-us/hash")
			b.ReportMetric((plain+hashing)/ours, timesPlain)
		})
	}
}

// timeSmall returns the processor time in seconds of making different files:
// other load does not change it much.
func timeSmall(b *testing.B, files, size int, write func(i int, data []byte) error) float64 {
	b.Helper()
	var before, after syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	workers := runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			data := make([]byte, size)
			for i := w; i < files; i += workers {
				binary.LittleEndian.PutUint64(data, uint64(i+1))
				if err := write(i, data); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	return float64(after.Utime.Nano()-before.Utime.Nano()+after.Stime.Nano()-before.Stime.Nano()) / 1e9
}

// BenchmarkHash is what the processor hashes from memory.
func BenchmarkHash(b *testing.B) {
	data := make([]byte, 16<<20)
	_, _ = rand.Read(data)
	for name, h := range map[string]hash.Hash{"sha256": sha256.New(), "md5": md5.New()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				h.Write(data)
			}
		})
	}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		w := digest.NewWriter()
		for b.Loop() {
			_, _ = w.Write(data)
		}
	})
}

// BenchmarkSharing materialises a raw tree and a prepared tree that has nine
// of ten of its files and some of its own, and tells what all of it takes on
// disk, over the bytes that differ; and what copies take.
func BenchmarkSharing(b *testing.B) {
	files := benchFiles(20_000) / 10
	for range b.N {
		dir := b.TempDir()
		c := openTest(b, dir+"/cache", Options{}, hooks{unnamed: true})
		raw, prepared := tree.NewBuilder(c), tree.NewBuilder(c)
		unique, all := int64(0), int64(0)
		data := make([]byte, 100<<10)
		for i := range files {
			binary.LittleEndian.PutUint64(data, uint64(i+1))
			ref, err := cache.PutBytes(b.Context(), c, data)
			must(b, err)
			unique += ref.Size
			all += ref.Size
			must(b, raw.Add(fmt.Sprintf("images/%d.jpg", i), ref, false))
			if i%10 > 0 {
				all += ref.Size
				must(b, prepared.Add(fmt.Sprintf("train/%d.jpg", i), ref, false))
			}
		}
		for name, builder := range map[string]*tree.Builder{"raw": raw, "prepared": prepared} {
			ref, err := builder.Build(b.Context(), c)
			must(b, err)
			_, err = tree.Materialise(b.Context(), c, ref, dir+"/"+name, tree.Options{})
			must(b, err)
		}
		used := blocksOf(b, dir)
		b.ReportMetric(float64(used)/float64(unique), "times-unique")
		b.ReportMetric(float64(all)/float64(unique), "times-copied")
		must(b, tree.Remove(dir+"/raw"))
		must(b, tree.Remove(dir+"/prepared"))
	}
}

// blocksOf returns what the files and folders below dir take on disk, each
// inode once.
func blocksOf(b *testing.B, dir string) (sum int64) {
	b.Helper()
	seen := make(map[uint64]bool)
	must(b, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		if !seen[st.Ino] {
			seen[st.Ino] = true
			sum += st.Blocks * 512
		}
		return nil
	}))
	return sum
}
