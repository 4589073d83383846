package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a chain of two commands on each of three words.
const small = `
locals { words = toset(["one", "two", "three"]) }
step "exec" "write" {
  for_each = local.words
  command  = ["sh", "-c", "echo $WORD > word; sleep 0.2"]
  env      = { WORD = each.key }
  outputs  = ["word"]
}
step "exec" "double" {
  for_each = local.words
  command  = ["sh", "-c", "cat inputs/from/word inputs/from/word"]
  inputs   = { from = step.exec.write[each.key].tree }
}
output "out" { value = values(step.exec.double)[*].stdout }
`

func smallPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "small.hcl")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	return &place{t: t, cache: filepath.Join(dir, "cache"), file: file}
}

// TestTwoProcesses applies one pipeline in two processes at once: both end
// well with the same outputs, and no step is executed twice.
func TestTwoProcesses(t *testing.T) {
	p := smallPlace(t)
	outputs := make([]map[string]string, 2)
	ran := make([]int, 2)
	var wg sync.WaitGroup
	for i := range outputs {
		wg.Go(func() { outputs[i], ran[i] = p.finish() })
	}
	wg.Wait()
	if diff := cmp.Diff(outputs[0], outputs[1]); diff != "" || len(outputs[0]) != 1 {
		t.Errorf("outputs differ:\n%s", diff)
	}
	if ran[0]+ran[1] != 6 {
		t.Errorf("%d and %d steps were executed, want 6 together", ran[0], ran[1])
	}
	p.verify()
}

// TestFlippedBit damages every object in turn: the next apply must give the
// same outputs, and never the damaged bytes.
func TestFlippedBit(t *testing.T) {
	p := smallPlace(t)
	want, _ := p.finish()
	for _, object := range objects(t, p.cache) {
		data, err := os.ReadFile(object)
		if err != nil {
			continue // set aside with another one's record
		}
		if len(data) == 0 {
			continue
		}
		data[len(data)/2] ^= 4
		if err := os.Chmod(object, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(object, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := p.run("cache", "verify"); code != 3 {
			t.Fatalf("cache verify did not see the flipped bit in %s: exit %d\n%s", filepath.Base(object), code, stderr)
		}
		got, _ := p.finish()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("outputs differ after the damage:\n%s", diff)
		}
		p.verify()
	}
}

func objects(t *testing.T, cache string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(cache, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d objects, %v", len(found), err)
	}
	return found
}

// TestReadOnlyCache reads from a cache that cannot be written and says so when
// it would have to write. As root permissions do not bind, so this needs a
// read-only mount.
func TestReadOnlyCache(t *testing.T) {
	p := smallPlace(t)
	p.finish()
	readOnly(t, p.cache)
	stdout, stderr, code := p.run("plan", p.file)
	if code != 0 || !strings.Contains(stdout, "all 6 steps are cached") {
		t.Errorf("plan on a read-only cache: exit %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = p.run("apply", p.file)
	if code != 0 || !strings.Contains(stdout, "Nothing to do") || !strings.Contains(stderr, "not recorded") {
		t.Errorf("apply of what is cached, on a read-only cache: exit %d\n%s%s", code, stdout, stderr)
	}
	if err := os.WriteFile(p.file, []byte(strings.Replace(small, "echo", "printf", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, code = p.run("apply", p.file)
	if code == 0 || !strings.Contains(strings.ToLower(stderr), "read-only") {
		t.Errorf("apply on a read-only cache: exit %d\n%s", code, stderr)
	}
}

// readOnly makes a folder unwritable, by permissions or, as root, by a mount.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() == 0 {
		mount(t, "--bind", dir, dir)
		mount(t, "-o", "remount,ro,bind", dir)
		t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
		return
	}
	chmodTree(t, dir, 0o222)
	t.Cleanup(func() { chmodTree(t, dir, 0) })
}

// chmodTree takes bits from every folder's permissions; 0 gives them back.
func chmodTree(t *testing.T, dir string, remove fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o777&^remove)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func mount(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("mount", args...).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("mount %s: %v: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
		}
		t.Skipf("mount %s: %v: %s (root without the right to mount; the test needs either)", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}

// TestFullDisk applies on a file system with too little space: the step fails
// with the cause, nothing half-written is believed, and once there is space the
// next apply ends with the right outputs. It needs the right to mount.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	p := smallPlace(t)
	want, _ := p.finish()
	full := &place{t: t, cache: filepath.Join(t.TempDir(), "full"), file: p.file}
	if err := os.Mkdir(full.cache, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "-t", "tmpfs", "-o", "size=2m", "tmpfs", full.cache)
	t.Cleanup(func() { _ = exec.Command("umount", full.cache).Run() })
	if _, stderr, code := full.run("plan", p.file); code != 0 {
		t.Fatalf("plan: exit %d\n%s", code, stderr)
	}
	filler := filepath.Join(full.cache, "filler")
	fill(t, filler)
	_, stderr, code := full.run("apply", p.file)
	if code != 1 || !strings.Contains(stderr, "no space left") {
		t.Errorf("apply on a full disk: exit %d\n%s", code, stderr)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	got, _ := full.finish()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outputs differ after the full disk:\n%s", diff)
	}
	full.verify()
}

// fill writes until there is no space.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}
