package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/remote/s3test"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// onDisk returns a file's identity and what it takes.
func onDisk(info fs.FileInfo) (inode uint64, bytes int64) {
	stat := info.Sys().(*syscall.Stat_t)
	return stat.Ino, stat.Blocks * 512
}

// apply runs the machine's pipeline to its end and returns what its steps gave.
func (p *place) apply(flags ...string) (map[string]string, string) {
	p.t.Helper()
	out, errs, code := p.run(append([]string{"apply", p.file, "--json"}, flags...)...)
	if code != 0 {
		p.t.Fatalf("apply %s: exit %d\n%s%s", flags, code, out, errs)
	}
	return trees(p.t, out), out + errs
}

// verifyFull reads every byte of the cache.
func (p *place) verifyFull() {
	p.t.Helper()
	if out, errs, code := p.run("cache", "verify", "--full"); code != 0 {
		p.t.Fatalf("cache verify --full: exit %d\n%s%s", code, out, errs)
	}
}

// TestDataPath takes three competitions from Kaggle to checked trees, through
// everything that a network does; then again without a network or a
// credential.
func TestDataPath(t *testing.T) {
	t.Parallel()
	want, _ := newStandIn(t, nil, 3<<20, 0).machine(t, true).apply()
	if len(want) < 3*5 {
		t.Fatalf("the steps gave %v", want)
	}
	s := newStandIn(t, kaggletest.Seeded(4, 0.3, faults()...), 3<<20, 0)
	p := s.machine(t, true)
	asked, errs, code := p.run("plan", p.file, "--preflight")
	if code != 0 || strings.Count(asked, "accepted") < 3 && strings.Count(asked, "ok") < 3 {
		t.Errorf("plan --preflight: exit %d\n%s%s", code, asked, errs)
	}
	got, said := p.apply()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trees differ from those of an undisturbed run:\n%s", diff)
	}
	if s.Stats().Faults.Load() < 5 || s.Stats().Leaks.Load() > 0 {
		t.Errorf("%d faults, %d credentials sent to the storage", s.Stats().Faults.Load(), s.Stats().Leaks.Load())
	}
	p.verifyFull()
	noSecrets(t, p.cache, asked, errs, said)

	q := *p
	q.env = s.machine(t, false).env
	s.Close()
	if again, said := q.apply("--offline"); cmp.Diff(want, again) != "" || strings.Contains(said, `"ran":1`) {
		t.Errorf("offline: %s\n%s", cmp.Diff(want, again), said)
	}
	// What is not there is refused without asking anybody.
	other := s.machine(t, false)
	if out, errs, code := other.run("apply", other.file, "--offline"); code != 1 || !strings.Contains(out+errs, "--offline") {
		t.Errorf("offline without data: exit %d\n%s%s", code, out, errs)
	}
}

// faults are those of a network and a storage that keep their archives.
func faults() []kaggletest.Kind {
	var kinds []kaggletest.Kind
	for _, k := range kaggletest.All() {
		if k != kaggletest.Drip && k != kaggletest.Replace { // minutes, and another archive
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// TestRulesNotAccepted lets the others go on, and tells which and where.
func TestRulesNotAccepted(t *testing.T) {
	t.Parallel()
	s := newStandIn(t, nil, 0, 0)
	s.Add(kaggletest.Competition{Slug: fetched[1], Rules: kaggletest.NotAccepted, Archive: s.Archive(fetched[1])})
	p := s.machine(t, true)
	out, errs, code := p.run("apply", p.file)
	link := "https://www.kaggle.com/competitions/" + fetched[1] + "/rules"
	if code != 1 || !strings.Contains(out+errs, link) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	noSecrets(t, p.cache, out, errs)
	p.env = append(p.env, "KAGGLE_API_TOKEN=") // what went on is there
	for _, id := range []string{fetched[0], fetched[2]} {
		out, errs, code := p.run("apply", p.file, "--offline", "-target", fmt.Sprintf("step.checksum.data[%q]", id))
		if code != 0 || !strings.Contains(out, "Nothing to do") {
			t.Errorf("%s: exit %d\n%s%s", id, code, out, errs)
		}
	}
}

// TestSecondMachine has no credential, and takes the data from mirrors of
// every kind, from a remote cache, and from a folder that the reference made.
func TestSecondMachine(t *testing.T) {
	s := newStandIn(t, nil, 100<<10, 0)
	want, _ := s.machine(t, true).apply()
	folder := mirrorOf(t, s)
	web := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer web.Close()
	storage := s3test.Start(t)
	for _, name := range append([]string{"SHA256SUMS"}, zips()...) {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		copyFile(t, filepath.Join(storage.Dir, "bucket", "mirror", name), bytes.NewReader(data))
	}
	for name, flags := range map[string][]string{
		"folder":    {"--mirror", folder},
		"web":       {"--mirror", web.URL + "/?signature=" + mirrorSecret},
		"s3":        {"--mirror", s3test.Address(storage.Addr, "mirror")},
		"reference": {"--adopt", referenceOf(t, s), "--offline"},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.machine(t, false)
			got, said := p.apply(flags...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("trees:\n%s", diff)
			}
			p.verifyFull()
			noSecrets(t, p.cache, said)
		})
	}
	t.Run("remote cache", func(t *testing.T) {
		flags := []string{"--remote-cache", s3test.Address(storage.Addr, "cache")}
		s.machine(t, true).apply(flags...)
		p := s.machine(t, false)
		got, said := p.apply(flags...)
		if diff := cmp.Diff(want, got); diff != "" || strings.Contains(said, `"status":"ran","action"`) {
			t.Errorf("trees:\n%s\n%s", diff, said)
		}
		p.verifyFull()
		noSecrets(t, p.cache, said)
		noSecrets(t, filepath.Join(storage.Dir, "bucket", "cache"))
	})
}

func zips() (names []string) {
	for _, id := range fetched {
		names = append(names, id+".zip")
	}
	return names
}

// mirrorOf writes the stand-in's archives into a folder, with their sums.
func mirrorOf(t *testing.T, s *standIn) string {
	t.Helper()
	dir, sums := t.TempDir(), ""
	for _, id := range fetched {
		data := s.Archive(id).Data
		copyFile(t, filepath.Join(dir, id+".zip"), bytes.NewReader(data))
		sums += fmt.Sprintf("%x  %s.zip\n", sha256.Sum256(data), id)
	}
	copyFile(t, filepath.Join(dir, "SHA256SUMS"), strings.NewReader(sums))
	return dir
}

// referenceOf writes the archives as the reference keeps them.
func referenceOf(t *testing.T, s *standIn) string {
	t.Helper()
	dir := t.TempDir()
	for _, id := range fetched {
		copyFile(t, filepath.Join(dir, id, id+".zip"), bytes.NewReader(s.Archive(id).Data))
		if err := os.CopyFS(filepath.Join(dir, id, "raw"), os.DirFS(filepath.Join(s.raw, id))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
