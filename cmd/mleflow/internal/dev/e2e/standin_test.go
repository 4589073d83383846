package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// fetched are the competitions that the tests of the data path download: one
// of tables, one with an archive inside, one of images.
var fetched = []string{"leaf-classification", "spaceship-titanic", "dog-breed-identification"}

// standIn is Kaggle with the golden cases' raw data for archives.
type standIn struct {
	*kaggletest.Server
	t *testing.T
	// pins are the archives' MD5 by competition.
	pins map[string]string
	// size is what the archives weigh together.
	size int64
	// raw has a folder with each competition's raw data.
	raw string
}

// newStandIn starts a stand-in. Padding is how many bytes that do not compress
// go into each archive besides, in files of their own that nothing reads.
func newStandIn(t *testing.T, plan kaggletest.Plan, padding, rate int) *standIn {
	t.Helper()
	s := &standIn{Server: kaggletest.New(plan), t: t, pins: map[string]string{}, raw: goldenRaw(t, fetched...)}
	t.Cleanup(s.Close)
	for i, id := range fetched {
		data, files := zipFolder(t, filepath.Join(s.raw, id), kaggletest.Bytes(uint64(i), padding))
		o := kaggletest.Object{Data: data, ETag: fmt.Sprintf(`"%d"`, i), MD5: true, Rate: rate}
		s.Add(kaggletest.Competition{Slug: id, Title: id, Files: files, Archive: o})
		sum := md5.Sum(data) //nolint:gosec // published pins are MD5
		s.pins[id] = hex.EncodeToString(sum[:])
		s.size += int64(len(data))
	}
	return s
}

// zipFolder packs a folder as Kaggle does, with the padding in files of up to
// 8 KiB and one that has half of it.
func zipFolder(t *testing.T, dir string, padding []byte) ([]byte, []kaggletest.File) {
	t.Helper()
	var buf bytes.Buffer
	var files []kaggletest.File
	z := zip.NewWriter(&buf)
	add := func(name string, data []byte) {
		files = append(files, kaggletest.File{Name: name, Bytes: int64(len(data))})
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		add(filepath.ToSlash(name), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if half := len(padding) / 2; half > 0 {
		add("padding/large.bin", padding[:half])
		for i, piece := range slices.Collect(slices.Chunk(padding[half:], 8<<10)) {
			add(fmt.Sprintf("padding/%02d/%d.bin", i%50, i), piece)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), files
}

// dataPath is a pipeline that fetches, prepares and checks. The pins of the
// definitions are those of the full data, which the stand-in has not.
const dataPath = `
variable "md5" { type = map(string) }
step "download" "raw" {
  for_each    = var.md5
  competition = each.key
  source {
    kind = "kaggle"
    slug = each.key
    md5  = each.value
  }
}
step "prepare" "data" {
  for_each    = var.md5
  competition = each.key
  raw         = step.download.raw[each.key].tree
}
step "checksum" "data" {
  for_each    = var.md5
  competition = each.key
  prepared    = step.prepare.data[each.key]
  on_mismatch = "warn"
}
`

// machine is a place with an empty cache and the pipeline; it knows where the
// stand-in is and, if told, its credential.
func (s *standIn) machine(t *testing.T, credential bool) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "data.hcl")}
	pins := ""
	for _, id := range slices.Sorted(maps.Keys(s.pins)) {
		pins += fmt.Sprintf("  %q = %q\n", id, s.pins[id])
	}
	src := strings.Replace(dataPath, "{ type = map(string) }", "{\n  type    = map(string)\n  default = {\n"+pins+"  }\n}", 1)
	if err := os.WriteFile(p.file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"HOME=" + dir, "KAGGLE_CONFIG_DIR=", "KAGGLE_USERNAME=", "KAGGLE_KEY=", "KAGGLE_API_TOKEN=", "KAGGLE_API_ENDPOINT=" + s.Endpoint}
	if credential {
		p.env = append(p.env, "KAGGLE_API_TOKEN="+kaggletest.Token)
	}
	return p
}

// trees returns what each step of an apply gave, by address and output, from
// its events.
func trees(t *testing.T, events string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for text := range strings.Lines(events) {
		l := decode(t, []byte(text))
		if l.Type != "step_finished" {
			continue
		}
		if l.Status != "ran" && l.Status != "cached" {
			t.Errorf("%s: %s: %s", l.Address, l.Status, l.Error)
		}
		for name, id := range l.Outputs {
			got[l.Address+"."+name] = id
		}
	}
	return got
}

// secrets are what must be found nowhere.
func secrets() []string {
	pair := base64.StdEncoding.EncodeToString([]byte(kaggletest.User + ":" + kaggletest.Key))
	return []string{kaggletest.Token, kaggletest.Key, pair, "canary-signature", mirrorSecret}
}

// mirrorSecret is the signature in the address of a mirror.
const mirrorSecret = "canary-mirror-signature"

// noSecrets looks for credentials in texts and in every file of a cache.
func noSecrets(t *testing.T, cache string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		tells(t, "the output", []byte(text))
	}
	files := 0
	err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		tells(t, path, data)
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files in %s: %v", files, cache, err)
	}
}

func tells(t *testing.T, where string, data []byte) {
	t.Helper()
	for _, secret := range secrets() {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s tells %s", where, secret)
		}
	}
}

// blocks is what a folder takes on the disk; a file with several names counts
// once.
func blocks(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if inode, taken := onDisk(info); !seen[inode] {
			seen[inode] = true
			bytes += taken
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// copyFile copies a file into a folder, which is made.
func copyFile(t *testing.T, path string, data io.Reader) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, data); err != nil {
		t.Fatal(err)
	}
}

// unzip unpacks an archive by the standard library.
func unzip(t *testing.T, path, dir string) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}
