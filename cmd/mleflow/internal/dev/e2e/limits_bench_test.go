package e2e

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// BenchmarkLimits compares what tables take with what their bytes alone take:
// every input is read and hashed once, every output hashed and written once,
// and the members of archives are unpacked and packed. Nothing that reads and
// writes the same bytes, whatever it does with them, is faster. Ours are whole
// processes, start-up included. MLEFLOW_BENCH_SCALE is the share of the full
// sizes.
func BenchmarkLimits(b *testing.B) {
	for _, bb := range []struct {
		name, id string
		size     int
		generate func(b *testing.B, dir string, n int)
	}{
		{"taxi", "new-york-city-taxi-fare-prediction", 5_000_000, writeTaxi},
		{"text", "text-normalization-challenge-english-language", 2_000_000, writeTokens},
		{"lines", "billion-word-imputation", 13_000_000, writeSentences},
	} {
		b.Run(bb.name, func(b *testing.B) {
			dir := b.TempDir()
			raw, data := filepath.Join(dir, "raw"), filepath.Join(dir, "data")
			if err := os.Mkdir(raw, 0o755); err != nil {
				b.Fatal(err)
			}
			bb.generate(b, raw, scaled(b, bb.size))
			p := &place{cache: filepath.Join(dir, "cache")}
			compareLimit(b, func() usage {
				os.RemoveAll(data)
				used, _ := spent(b, p.command("prepare", "-c", bb.id, "--raw", raw, "--data-dir", data, "--skip-verification", "--offline"))
				return used
			}, []string{raw}, filepath.Join(data, bb.id, "prepared"))
		})
	}
	for _, bb := range []struct {
		name, id string
		generate func(b *testing.B, answers, submission string, n int)
	}{
		{"auc", "aerial-cactus-identification", writeProbabilities},
		{"accuracy", "tabular-playground-series-dec-2021", writeClasses},
		{"logloss", "dog-breed-identification", writeDistributions},
	} {
		b.Run(bb.name, func(b *testing.B) {
			dir := b.TempDir()
			answers, submission := answersPath(b, dir, bb.id), filepath.Join(dir, "submission.csv")
			bb.generate(b, answers, submission, scaled(b, 1_000_000))
			p := &place{cache: filepath.Join(dir, "cache")}
			compareLimit(b, func() usage {
				used, _ := spent(b, p.command("grade-sample", submission, bb.id, "--data-dir", dir, "--json"))
				return used
			}, []string{answers, submission}, "")
		})
	}
}

// compareLimit runs ours and the limit in turns and reports the medians of their
// processor times.
func compareLimit(b *testing.B, ours func() usage, in []string, out string) {
	b.Helper()
	var all, limits []usage
	for b.Loop() {
		all = append(all, ours())
		m := &mover{b: b, hash: sha256.New(), spare: filepath.Join(b.TempDir(), "spare")}
		for _, path := range in {
			m.read(path)
		}
		if out != "" {
			m.write(out)
		}
		limits = append(limits, usage{cpu: m.took})
	}
	cpu, memory := middle(all)
	limit, _ := middle(limits)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(cpu.Seconds(), "ours-cpu-s")
	b.ReportMetric(limit.Seconds(), "limit-cpu-s")
	b.ReportMetric(cpu.Seconds()/limit.Seconds(), "times-limit")
	b.ReportMetric(memory, "ours-MiB")
}

// mover moves bytes and adds up the processor time that this takes.
type mover struct {
	b     *testing.B
	hash  hash.Hash
	spare string // a file to write to
	took  time.Duration
}

// timed adds the processor time of this process while f runs.
func (m *mover) timed(f func() error) {
	m.b.Helper()
	before := m.now()
	if err := f(); err != nil {
		m.b.Fatal(err)
	}
	m.took += m.now() - before
}

func (m *mover) now() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		m.b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// read reads the files at and below a path, and hashes them, with the members of
// archives unpacked.
func (m *mover) read(path string) {
	m.each(path, func(f *os.File, size int64) error {
		if archive.FormatOf(f.Name()) != archive.Zip {
			_, err := io.CopyBuffer(m.hash, struct{ io.Reader }{f}, make([]byte, 1<<20))
			return err
		}
		return m.members(f, size, func(_ string, r io.Reader) error {
			_, err := io.CopyBuffer(m.hash, struct{ io.Reader }{r}, make([]byte, 1<<20))
			return err
		})
	})
}

// write writes the files at and below a path again, and hashes them, with the
// members of archives packed. What reading them takes does not count.
func (m *mover) write(path string) {
	m.each(path, func(f *os.File, size int64) error {
		out, err := os.Create(m.spare)
		if err != nil {
			return err
		}
		defer out.Close()
		to := io.MultiWriter(out, m.hash)
		if archive.FormatOf(f.Name()) != archive.Zip {
			return m.untimedReads(to, f)
		}
		z, err := zip.NewReader(f, size)
		if err != nil {
			return err
		}
		packer, err := archive.NewPacker(to, archive.Zip, archive.PackOptions{Store: z.File[0].Method == zip.Store})
		if err != nil {
			return err
		}
		err = m.members(f, size, func(name string, r io.Reader) error {
			w, err := packer.Create(name)
			if err != nil {
				return err
			}
			return m.untimedReads(w, r)
		})
		if err != nil {
			return err
		}
		return packer.Close()
	})
}

// untimedReads copies r to w and takes what reading r took off the time.
func (m *mover) untimedReads(w io.Writer, r io.Reader) error {
	block := make([]byte, 1<<20)
	for {
		before := m.now()
		n, err := io.ReadFull(r, block)
		m.took -= m.now() - before
		if n > 0 {
			if _, err := w.Write(block[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (m *mover) members(f *os.File, size int64, do func(name string, r io.Reader) error) error {
	src := archive.Source{ReaderAt: f, Size: size}
	return archive.Walk(context.Background(), src, archive.Zip, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error { return do(e.Name, r) })
}

// each opens the regular files at and below a path, and times what is done with
// them.
func (m *mover) each(path string, do func(f *os.File, size int64) error) {
	m.b.Helper()
	err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		m.timed(func() error { return do(f, info.Size()) })
		return nil
	})
	if err != nil {
		m.b.Fatal(err)
	}
}
