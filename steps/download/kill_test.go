package download_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// killEnv names the cache of a child that unpacks, as "CACHE:ARCHIVE".
const killEnv = "MLEFLOW_TEST_KILL"

// TestUnpackChild is the child that TestKill starts and kills; by itself it
// does nothing. It prints every entry that is in the store.
func TestUnpackChild(t *testing.T) {
	dir, path, ok := strings.Cut(os.Getenv(killEnv), ":")
	if !ok {
		return
	}
	store, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, `source "kaggle" { slug = "toy" }`, nil)
	s, err := b.Kind.New(b.Args(t, map[string]cty.Value{"competition": cty.StringVal("toy"), "from": cty.StringVal(path)}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(t.Context(), &step.Env{
		Address: "step.download.test", Store: store, WorkDir: t.TempDir(), Log: os.Stdout, Warn: func(string) {},
		Progress: func(p step.Progress) {
			if p.What == "unpacking" {
				fmt.Println("done", p.Done)
			}
		},
	})
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	fmt.Println("tree", out["tree"].Ref.ID)
}

// killArchive packs small files, a large one and an archive within.
func killArchive(t *testing.T, format archive.Format) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		out := make([]byte, n)
		for i := range out {
			out[i] = byte(r.Uint32())
		}
		return out
	}
	pack := func(format archive.Format, add func(put func(string, []byte))) []byte {
		var buf bytes.Buffer
		p, err := archive.NewPacker(&buf, format, archive.PackOptions{})
		add(func(name string, data []byte) {
			w, createErr := p.Create(name)
			if createErr == nil {
				_, createErr = w.Write(data)
			}
			err = errors.Join(err, createErr)
		})
		if err = errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	inner := pack(archive.Zip, func(put func(string, []byte)) {
		for i := range 20 {
			put(fmt.Sprintf("inner/%d", i), noise(100_000))
		}
	})
	return pack(format, func(put func(string, []byte)) {
		for i := range 600 {
			put(fmt.Sprintf("train/%d/%d.bin", i%9, i), noise(5000))
			if i == 200 {
				put("large.bin", noise(4<<20))
				put("inner.zip", inner)
			}
		}
	})
}

// child is one life of the unpacking process.
type child struct {
	done, continued int64
	tree            string
}

// live starts a child and kills it after a while; 0 lets it finish.
func live(t *testing.T, cacheDir, path string, after time.Duration) (c child) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestUnpackChild$")
	cmd.Env = append(os.Environ(), killEnv+"="+cacheDir+":"+path, "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	var text strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(out, &text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 2 && words[0] == "done":
			c.done, _ = strconv.ParseInt(words[1], 10, 64)
		case len(words) == 2 && words[0] == "tree":
			c.tree = words[1]
		case len(words) > 3 && words[0] == "continuing":
			c.continued, _ = strconv.ParseInt(words[2], 10, 64)
		}
	}
	if err := cmd.Wait(); err != nil && after == 0 {
		t.Fatalf("%v\n%s", err, text.String())
	}
	return c
}

// TestKill kills a process that unpacks, at random moments, until one gets to
// the end. What was stored before is not unpacked again, the tree is that of an
// undisturbed run, every object is whole, and neither the archive nor anything
// to continue with is left. MLEFLOW_KILLS says how often to kill.
func TestKill(t *testing.T) {
	kills := 3
	if n, err := strconv.Atoi(os.Getenv("MLEFLOW_KILLS")); err == nil {
		kills = n
	}
	for _, format := range []archive.Format{archive.Zip, archive.TarGzip} {
		t.Run(string(format), func(t *testing.T) {
			data := killArchive(t, format)
			path := filepath.Join(t.TempDir(), "raw."+string(format))
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			want := live(t, t.TempDir(), path, 0)
			whole := time.Since(start)
			r := rand.New(rand.NewPCG(uint64(kills), 7))
			killed, wasted := 0, int64(0)
			for killed < kills {
				dir := t.TempDir()
				before := int64(0)
				for first := true; ; first = false {
					after := whole/8 + time.Duration(r.Int64N(int64(whole)))
					if killed >= 10*kills {
						after = 0
					}
					start := time.Now()
					c := live(t, dir, path, after)
					// A child that was killed while it took entries over did not say
					// how many. Two workers have entries in hand, ten lines of the
					// journal wait to be written together, and the nested archive is
					// one entry of 20 files.
					if c.continued > 0 || c.done > before {
						if c.continued < before-4-10-19 {
							t.Errorf("%d entries were stored, and %d of them were unpacked again", before, before-c.continued)
						}
						wasted += max(0, before-c.continued)
					}
					if c.tree != "" {
						if c.tree != want.tree {
							t.Fatalf("after %d kills the tree is %s, want %s", killed, c.tree, want.tree)
						}
						// Were the undisturbed run slower than all that follow, none
						// of them would live long enough to be killed.
						if first {
							whole = min(whole, time.Since(start))
						}
						break
					}
					killed++
					before = max(c.done, before)
					// A child with every entry may have been killed after it had
					// deleted the journal, before it said so.
					if before == want.done {
						before = 0
					}
				}
				checkStore(t, dir, data)
			}
			t.Logf("%d kills, %d entries unpacked twice", killed, wasted)
		})
	}
}

// checkStore sees that everything in a cache is whole and nothing is left over.
func checkStore(t *testing.T, dir string, packed []byte) {
	t.Helper()
	store, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	result, err := store.Verify(t.Context(), disk.VerifyOptions{Full: true})
	if err != nil || len(result.Damages) > 0 {
		t.Errorf("verify: %v, %v", err, result.Damages)
	}
	if _, err := store.Has(t.Context(), digest.Of(packed)); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("the archive is in the store: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "ingest", "*"))
	if err != nil {
		t.Error(err)
	}
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			t.Errorf("%s is left with %d bytes", path, info.Size())
		}
	}
}
