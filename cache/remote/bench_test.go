package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// The full sizes are 10,000 files and 1,024 MiB:
//
//	MLEFLOW_BENCH_FILES=10000 MLEFLOW_BENCH_MIB=1024 go test ./cache/remote -run '^$' -bench . -benchtime 3x
func benchSize(b *testing.B, name string, small int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// loads are the folders to transfer.
func loads(b *testing.B) map[string]string {
	b.Helper()
	many, one := b.TempDir(), b.TempDir()
	for i := range benchSize(b, "MLEFLOW_BENCH_FILES", 2000) {
		dir := filepath.Join(many, fmt.Sprint(i/1000))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), noise(uint64(i), 1000+i*7919%20000), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(one, "large"), noise(1, benchSize(b, "MLEFLOW_BENCH_MIB", 128)<<20), 0o644); err != nil {
		b.Fatal(err)
	}
	return map[string]string{"small files": many, "one object": one}
}

// BenchmarkTransfer stores a folder on a server of this machine and fetches it
// from there. The metrics are how many times as fast that is as cp -r of the same
// folder; for fetching, as reading it over plain HTTP file by file, eight at a time;
// for storing, as one object a file; and the processor time of mleflow and of the
// server, in seconds a GB of content.
func BenchmarkTransfer(b *testing.B) {
	s := s3test.Start(b)
	all := loads(b)
	for _, name := range []string{"small files", "one object"} {
		dir := all[name]
		b.Run("push "+name, func(b *testing.B) { benchPush(b, s, name, dir) })
		b.Run("pull "+name, func(b *testing.B) { benchPull(b, s, name, dir) })
	}
	b.Run("pull a tenth", func(b *testing.B) { benchPullTenth(b, s, all["small files"]) })
}

func benchPush(b *testing.B, s *s3test.Server, name, dir string) {
	m := newMachine(b, s3test.Address(s.Addr, "warm"), defaultPatience)
	rec := m.made("a", dir, nil)
	b.SetBytes(rec.Outputs["tree"].Ref.Size)
	var took, cp, single time.Duration
	meter := meter{server: s}
	for i := 0; b.Loop(); i++ {
		to := newMachineOn(b, m.disk, s3test.Address(s.Addr, fmt.Sprintf("push-%d-%d-%s", b.N, i, name[:3])), defaultPatience)
		took += meter.clocked(b, func() error { return to.Push(context.Background(), rec) })
		b.StopTimer()
		cp += copyFolder(b, dir)
		if name == "small files" {
			single += clocked(b, func() error { return pushSingly(to, dir) })
		}
		b.StartTimer()
	}
	b.ReportMetric(cp.Seconds()/took.Seconds(), "times-plain")
	if single > 0 {
		b.ReportMetric(single.Seconds()/took.Seconds(), "times-singly")
	}
	meter.report(b, Size(rec)*int64(b.N))
}

func benchPull(b *testing.B, s *s3test.Server, name, dir string) {
	address := s3test.Address(s.Addr, "pull-"+name[:3])
	m := newMachine(b, address, defaultPatience)
	rec := m.made("a", dir, nil)
	m.mustPush(rec)
	b.SetBytes(rec.Outputs["tree"].Ref.Size)
	plain := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer plain.Close()
	var took, cp, get time.Duration
	meter := meter{server: s}
	for b.Loop() {
		b.StopTimer()
		to := newMachine(b, address, defaultPatience)
		b.StartTimer()
		took += meter.clocked(b, func() error { return to.Pull(context.Background(), rec) })
		b.StopTimer()
		cp += copyFolder(b, dir)
		get += getFolder(b, plain.URL, dir)
		b.StartTimer()
	}
	b.ReportMetric(cp.Seconds()/took.Seconds(), "times-plain")
	b.ReportMetric(get.Seconds()/took.Seconds(), "times-http")
	meter.report(b, Size(rec)*int64(b.N))
}

// benchPullTenth fetches the small files to a machine that lacks only the last tenth
// of them. The metric is how many bytes that transfers for each byte that lacks.
func benchPullTenth(b *testing.B, s *s3test.Server, dir string) {
	address := s3test.Address(s.Addr, "tenth")
	m := newMachine(b, address, defaultPatience)
	rec := m.made("a", dir, nil)
	m.mustPush(rec)
	meter := meter{server: s}
	var moved, lacking int64
	for b.Loop() {
		b.StopTimer()
		to := newMachine(b, address, defaultPatience)
		one := Size(rec) - to.holdMost(dir, rec.Outputs["tree"].Ref.Files*9/10)
		b.SetBytes(one)
		b.StartTimer()
		meter.clocked(b, func() error { return to.Pull(context.Background(), rec) })
		moved += to.Stats().BytesIn
		lacking += one
	}
	b.ReportMetric(float64(moved)/float64(lacking), "bytes/lacking")
	meter.report(b, lacking)
}

// holdMost stores the first files of a folder, and returns their size.
func (m *machine) holdMost(dir string, files int64) (size int64) {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || files == 0 {
			return err
		}
		data, err := os.ReadFile(path)
		size += m.putBlob(data).Size
		files--
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return size
}

// meter adds up processor time.
type meter struct {
	server        *s3test.Server
	ours, servers time.Duration
}

func (m *meter) clocked(b *testing.B, do func() error) time.Duration {
	b.Helper()
	ours, servers := m.server.ProcessorTime()
	took := clocked(b, do)
	ours2, servers2 := m.server.ProcessorTime()
	m.ours += ours2 - ours
	m.servers += servers2 - servers
	return took
}

func (m *meter) report(b *testing.B, bytes int64) {
	b.ReportMetric(m.ours.Seconds()/float64(bytes)*1e9, "ours-cpu-s/GB")
	b.ReportMetric(m.servers.Seconds()/float64(bytes)*1e9, "server-cpu-s/GB")
}

func clocked(b *testing.B, do func() error) time.Duration {
	b.Helper()
	started := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(started)
}

func copyFolder(b *testing.B, dir string) time.Duration {
	b.Helper()
	to := filepath.Join(b.TempDir(), "copy")
	defer os.RemoveAll(to)
	return clocked(b, func() error { return exec.Command("cp", "-r", dir, to).Run() })
}

// getFolder reads a folder over plain HTTP into files.
func getFolder(b *testing.B, base, dir string) time.Duration {
	b.Helper()
	to := b.TempDir()
	defer os.RemoveAll(to)
	return clocked(b, func() error {
		var group errgroup.Group
		group.SetLimit(8)
		n := 0
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, _ := filepath.Rel(dir, path)
			n++
			out := filepath.Join(to, fmt.Sprint(n))
			group.Go(func() error { return getFile(base+"/"+filepath.ToSlash(name), out) })
			return nil
		})
		if other := group.Wait(); other != nil {
			return other
		}
		return err
	})
}

func getFile(url, path string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, answer.Body)
	return err
}

// pushSingly stores every file of a folder as an object of its own.
func pushSingly(m *machine, dir string) error {
	var group errgroup.Group
	group.SetLimit(transfers)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		group.Go(func() error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			ref, err := cache.PutBytes(context.Background(), m.disk, data)
			if err != nil {
				return err
			}
			return m.bucket.put(context.Background(), "single/"+ref.ID.String(), ref.Size, false, contentBytes(data))
		})
		return nil
	})
	if other := group.Wait(); other != nil {
		return other
	}
	return err
}
