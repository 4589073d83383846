package archive_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// childEnv makes the test binary unpack an archive and end: its value is the
// archive's path, and the next argument the cache's.
const childEnv = "MLEFLOW_TEST_UNPACK"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := unpackChild(path, os.Getenv(childEnv+"_CACHE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// unpackChild unpacks an archive into a disk cache and prints its tree.
func unpackChild(path, dir string) error {
	store, err := disk.Open(dir, disk.Options{})
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if to := os.Getenv(childEnv + "_PROFILE"); to != "" {
		p, err := os.Create(to)
		if err != nil {
			return err
		}
		defer p.Close()
		if err := pprof.StartCPUProfile(p); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ctx := context.Background()
	var b tree.Builder
	u, err := archive.Into(ctx, store, archive.Source{ReaderAt: f, Size: info.Size()}, &b, archive.IntoOptions{Format: archive.FormatOf(path), Limits: archive.DefaultLimits(), Key: path})
	if err != nil {
		return err
	}
	ref, err := b.Build(ctx, store)
	fmt.Println(ref.ID, u.Files, u.Continued)
	return errors.Join(err, u.Drop(), store.Close())
}

// benchSize returns a size from the environment.
func benchSize(name string, or int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return or
}

// writeZip packs files of text that deflates to a third, as tables and texts
// do, and of noise, as pictures are.
func writeZip(tb testing.TB, path string, files, size int) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	p, err := archive.NewPacker(w, archive.Zip, archive.PackOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range files {
		m, err := p.Create(fmt.Sprintf("train/%03d/%07d.txt", i%200, i))
		if err == nil {
			err = writeText(m, i, size)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(p.Close(), w.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
}

// writeText writes about size bytes of numbers.
func writeText(w io.Writer, seed, size int) error {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	line := make([]byte, 0, 1<<16)
	for size > 0 {
		line = line[:0]
		for len(line) < min(size, 60_000) {
			line = strconv.AppendInt(line, int64(r.Uint32N(100000)), 10)
			line = append(line, ',')
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		size -= len(line)
	}
	return nil
}

// BenchmarkPeers unpacks, hashes and stores an archive, and does what others
// do with it: unzip, and Python's zipfile, which hash nothing. Every round runs
// each once, as a process of its own, beginning with another. The sizes of
// docs/benchmarks.md need some gigabytes in MLEFLOW_BENCH_DIR or TMPDIR.
func BenchmarkPeers(b *testing.B) {
	dir := os.Getenv("MLEFLOW_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	for _, shape := range []struct {
		name        string
		files, size int
	}{
		{"small", benchSize("MLEFLOW_BENCH_FILES", 2000), benchSize("MLEFLOW_BENCH_FILE_BYTES", 10_000)},
		{"one", 1, benchSize("MLEFLOW_BENCH_ONE_MIB", 40) << 20},
	} {
		path := filepath.Join(dir, shape.name+".zip")
		writeZip(b, path, shape.files, shape.size)
		used := map[string]*usage{}
		b.Run(shape.name+"/mleflow", func(b *testing.B) {
			used = unpackInTurns(b, dir, path, shape.files > 1)
			b.ReportMetric(0, "ns/op")
		})
		ours := used["mleflow"]
		for _, peer := range []string{"unzip", "python"} {
			theirs := used[peer]
			if theirs == nil || ours == nil {
				continue
			}
			b.Run(shape.name+"/"+peer, func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(ours.wall.Seconds()/float64(ours.runs), "ours-s")
				b.ReportMetric(theirs.wall.Seconds()/float64(theirs.runs), "theirs-s")
				b.ReportMetric(theirs.wall.Seconds()/ours.wall.Seconds(), "times-faster")
				b.ReportMetric(theirs.cpu.Seconds()/ours.cpu.Seconds(), "times-less-cpu")
			})
		}
		_ = os.Remove(path)
	}
}

// usage is what all runs of one program took together.
type usage struct {
	runs      int
	wall, cpu time.Duration
}

// unpackInTurns unpacks an archive with mleflow and the peers that are installed,
// b.N times each. What many files are unpacked to stays until the end: ext4 is slow
// to make files for minutes after many were removed.
func unpackInTurns(b *testing.B, dir, path string, stay bool) map[string]*usage {
	used := map[string]*usage{}
	peers := []string{"mleflow", "unzip", "python"}
	for round := 0; b.Loop(); round++ {
		for i := range peers {
			peer := peers[(i+round)%len(peers)]
			out := filepath.Join(dir, fmt.Sprint("out-", peer, "-", round))
			cmd := peerCommand(peer, path, out)
			if cmd == nil {
				continue
			}
			syscall.Sync() // what the last one left to write is not this one's to wait for
			start := time.Now()
			if text, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%s: %v\n%s", peer, err, text)
			}
			if used[peer] == nil {
				used[peer] = &usage{}
			}
			u, rusage := used[peer], cmd.ProcessState.SysUsage().(*syscall.Rusage)
			u.runs++
			u.wall += time.Since(start)
			u.cpu += time.Duration(rusage.Utime.Nano() + rusage.Stime.Nano())
			if stay {
				b.Cleanup(func() { _ = os.RemoveAll(out) })
			} else if err := os.RemoveAll(out); err != nil {
				b.Fatal(err)
			}
		}
	}
	return used
}

// peerCommand returns the process that unpacks, nil where it is not installed.
func peerCommand(peer, path, out string) *exec.Cmd {
	switch peer {
	case "mleflow":
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path, childEnv+"_CACHE="+out)
		return cmd
	case "unzip":
		if _, err := exec.LookPath("unzip"); err == nil {
			return exec.Command("unzip", "-q", path, "-d", out)
		}
	case "python":
		if _, err := exec.LookPath("python3"); err == nil {
			return exec.Command("python3", "-c", "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])", path, out)
		}
	}
	return nil
}
