package disk

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/tree"
)

// damages are ways in which an object's bytes go wrong.
var damages = map[string]func([]byte) []byte{
	"flipped bit": flip,
	"truncated":   func(b []byte) []byte { return b[:len(b)-1] },
	"emptied":     func([]byte) []byte { return nil },
	"extended":    func(b []byte) []byte { return append(b, 'x') },
	"zeroed":      func(b []byte) []byte { return make([]byte, len(b)) },
}

func TestCorruptObjectIsSetAside(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
			bad, good := putTree(t, c, "bad", 10), putTree(t, c, "good", 10)
			record(t, c, "bad", bad)
			record(t, c, "both", good, bad)
			record(t, c, "good", good)
			e, err := tree.Find(t.Context(), c, bad, "d0/f3")
			must(t, err)
			overwrite(t, c.objectPath(e.ID, false), damage)
			r, err := c.Open(t.Context(), e.ID)
			must(t, err)
			data, err := io.ReadAll(r)
			wantErr(t, err, cache.ErrCorrupt)
			if len(data) != 0 {
				t.Errorf("%d wrong bytes were given out", len(data))
			}
			must(t, r.Close())
			_, err = c.Has(t.Context(), e.ID)
			wantErr(t, err, cache.ErrNotFound)
			for action, want := range map[string]bool{"bad": false, "both": false, "good": true} {
				if has(t, c, action) != want {
					t.Errorf("record %q is there: %v, want %v", action, !want, want)
				}
				if tomb, err := c.Evicted(t.Context(), actionOf(action)); !want && (err != nil || tomb.Reason != "corrupt") {
					t.Errorf("tombstone of %q: %+v, %v", action, tomb, err)
				}
			}
			// The producer runs again, and everything is as before.
			if again := putTree(t, c, "bad", 10); again != bad {
				t.Fatalf("stored again: %+v, want %+v", again, bad)
			}
			record(t, c, "bad", bad)
			must(t, closure(t, c, bad))
			wantVerified(t, c)
			_, err = c.GC(t.Context(), GCOptions{}) // counts again what others changed
			must(t, err)
			wantCounted(t, c)
		})
	}
}

// A blob that was written to, found by an ingest of the same content, is
// replaced by the right bytes.
func TestIngestReplacesDamage(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
			ref := putText(t, c, "some text")
			overwrite(t, c.objectPath(ref.ID, false), damage)
			if got := putText(t, c, "some text"); got != ref {
				t.Fatal("refs differ")
			}
			must(t, closure(t, c, ref))
		})
	}
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	c := openTest(t, dir, Options{}, hooks{unnamed: true})
	bad, gone, good := putTree(t, c, "bad", 6), putTree(t, c, "gone", 6), putTree(t, c, "good", 6)
	record(t, c, "bad", bad)
	record(t, c, "gone", gone)
	record(t, c, "good", good)
	res := wantVerified(t, c)
	if res.Objects != 3*(6+4) || res.Hashed != res.Objects || res.Records != 3 {
		t.Errorf("result %+v", res)
	}
	badFile, err := tree.Find(t.Context(), c, bad, "d1/f4")
	must(t, err)
	goneFile, err := tree.Find(t.Context(), c, gone, "d1/f4")
	must(t, err)
	overwrite(t, c.objectPath(badFile.ID, false), flip)
	must(t, os.Remove(c.objectPath(goneFile.ID, false)))
	must(t, os.WriteFile(c.path("objects", "00-stray"), nil, 0o644))
	must(t, os.MkdirAll(c.path(shardName(7)), 0o755))
	must(t, os.WriteFile(c.path(shardName(7), "stray"), nil, 0o644))
	var done, total int64
	res, err = c.Verify(t.Context(), VerifyOptions{Progress: func(p VerifyProgress) { done, total = p.Objects, p.TotalObjects }})
	must(t, err)
	if res.Hashed != 1 || done != total || done != 29 {
		t.Errorf("%d read, progress %d of %d; want 1 read, 29 of 29", res.Hashed, done, total)
	}
	var texts []string
	for _, d := range res.Damages {
		texts = append(texts, d.Address+": "+d.Text)
	}
	want := []string{
		": its content does not match its digest; moved to the quarantine",
		`: the objects folder contains a file that is not an object: "stray"`,
		"step.test.bad: its content is missing or wrong; the record was dropped, so the step runs again",
		"step.test.gone: its content is missing or wrong; the record was dropped, so the step runs again",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("damages (-want +got):\n%s", diff)
	}
	if has(t, c, "bad") || has(t, c, "gone") || !has(t, c, "good") {
		t.Error("the wrong records were dropped")
	}
	must(t, os.Remove(c.path(shardName(7), "stray")))
	wantVerified(t, c)
}

// A flipped bit on the disk itself leaves no trace but in the content.
func TestVerifyFullFindsSilentDamage(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putText(t, c, "some text")
	record(t, c, "a", ref)
	overwrite(t, c.objectPath(ref.ID, false), flip)
	must(t, c.objects.touch(ref.ID, false))
	quick, err := c.Verify(t.Context(), VerifyOptions{})
	must(t, err)
	full, err := c.Verify(t.Context(), VerifyOptions{Full: true})
	must(t, err)
	if len(quick.Damages) != 0 || len(full.Damages) != 2 {
		t.Errorf("quick %+v, full %+v; want 0 and 2 damages", quick.Damages, full.Damages)
	}
}

func TestVerifyReadOnly(t *testing.T) {
	dir := t.TempDir()
	var ref cache.Ref
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		ref = putText(t, c, "some text")
		record(t, c, "a", ref)
		overwrite(t, c.objectPath(ref.ID, false), flip)
	})
	c := openTest(t, dir, Options{ReadOnly: true}, hooks{unnamed: true})
	res, err := c.Verify(t.Context(), VerifyOptions{Full: true})
	must(t, err)
	if len(res.Damages) != 2 || !present(c, ref) || !has(t, c, "a") {
		t.Errorf("damages %+v; the object and its record must stay", res.Damages)
	}
}

func TestCheckUnmodified(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	ref := putTree(t, c, "x", 10)
	record(t, c, "x", ref)
	dst := t.TempDir() + "/in"
	_, err := tree.Materialise(t.Context(), c, ref, dst, tree.Options{})
	must(t, err)
	must(t, c.checkUnmodified(t.Context(), ref))
	// Reading, linking and removing links change nothing.
	_, err = os.ReadFile(dst + "/d0/f3")
	must(t, err)
	must(t, os.Chmod(dst+"/d0", 0o755))
	must(t, os.Link(dst+"/d0/f3", dst+"/d0/copy"))
	must(t, c.checkUnmodified(t.Context(), ref))
	overwrite(t, dst+"/d0/f3", flip)
	overwrite(t, dst+"/d2/f5", flip) // executable: the twin
	err = c.checkUnmodified(t.Context(), ref)
	wantErr(t, err, cache.ErrCorrupt)
	for _, path := range []string{"d0/f3", "d2/f5"} {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("error %q does not name %s", err, path)
		}
	}
	if has(t, c, "x") {
		t.Error("the record of the changed tree is still there")
	}
	must(t, tree.Remove(dst))
	// Writing the same bytes again is no damage.
	ref = putTree(t, c, "x", 10)
	_, err = tree.Materialise(t.Context(), c, ref, dst, tree.Options{})
	must(t, err)
	overwrite(t, dst+"/d0/f3", func(b []byte) []byte { return b })
	must(t, c.checkUnmodified(t.Context(), ref))
	wantVerified(t, c)
	must(t, tree.Remove(dst))
}

func TestRecoverAfterRestart(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir, clk := t.TempDir(), &clock{}
			h := clk.hooks()
			h.bootID = "boot 1"
			var old, torn, lost, whole cache.Ref
			session(t, dir, Options{}, h, func(c *Cache) {
				old = putText(t, c, "synced")
				record(t, c, "old", old)
				clk.step()
				must(t, c.sync())
				clk.step()
				torn, lost, whole = putTree(t, c, "torn", 4), putTree(t, c, "lost", 4), putTree(t, c, "whole", 4)
				record(t, c, "torn", torn)
				record(t, c, "lost", lost)
				record(t, c, "whole", whole)
			})
			// The machine goes down: data that was only in memory is not what
			// the names say, though times and sizes may be.
			c := &Cache{folder: &folder{dir: dir}}
			var tornFile, lostFile cache.Ref
			session(t, dir, Options{}, h, func(c *Cache) {
				e, err := tree.Find(t.Context(), c, torn, "d1/f1")
				must(t, err)
				tornFile = e.Ref()
				e, err = tree.Find(t.Context(), c, lost, "d1/f1")
				must(t, err)
				lostFile = e.Ref()
				overwrite(t, c.objectPath(tornFile.ID, false), damage)
				must(t, c.objects.touch(tornFile.ID, false))
			})
			must(t, os.Remove(c.objectPath(lostFile.ID, false)))
			clk.step()
			h.bootID = "boot 2"
			var looked int64
			c = openTest(t, dir, Options{Progress: func(done, _ int64) { looked = done }}, h)
			if looked == 0 {
				t.Error("nothing was verified")
			}
			for action, want := range map[string]bool{"old": true, "torn": false, "lost": false, "whole": true} {
				if has(t, c, action) != want {
					t.Errorf("record %q is there: %v, want %v", action, !want, want)
				}
			}
			wantVerified(t, c)
			looked = 0
			openTest(t, dir, Options{Progress: func(done, _ int64) { looked = done }}, h)
			if looked != 0 {
				t.Error("verified again in the same boot")
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "x", Err: unix.ENOSPC}
	for _, limit := range []int{0, 1, 100_000, 200_000} {
		for _, key := range []string{"", "key"} {
			t.Run(fmt.Sprintf("after %d bytes, key %q", limit, key), func(t *testing.T) {
				dir := t.TempDir()
				written, broken := 0, false
				h := hooks{unnamed: true, write: func(f *os.File, p []byte) (int, error) {
					space := limit - written
					if !broken || len(p) <= space {
						written += len(p)
						return f.Write(p)
					}
					n, _ := f.Write(p[:max(space, 0)])
					written += n
					return n, full
				}}
				c := openTest(t, dir, Options{}, h)
				before := putText(t, c, "before")
				record(t, c, "before", before)
				broken, written = true, 0
				data := make([]byte, 250_000)
				err := ingestAll(t, c, key, data)
				wantErr(t, err, unix.ENOSPC)
				if !strings.Contains(err.Error(), "is full") || !strings.Contains(err.Error(), "cache gc") {
					t.Errorf("error %q does not say what to do", err)
				}
				if limit == 0 {
					err = c.Record(t.Context(), recordOf("lost"))
					wantErr(t, err, unix.ENOSPC)
				}
				if has(t, c, "lost") {
					t.Error("half a record was published")
				}
				broken = false
				wantVerified(t, c)
				wantCounted(t, c)
				must(t, closure(t, c, before))
				must(t, ingestAll(t, c, key, data))
				record(t, c, "after", putText(t, c, "after"))
				if !has(t, c, "before") || !has(t, c, "after") {
					t.Error("records are missing after the disk had space again")
				}
				wantVerified(t, c)
				wantCounted(t, c)
			})
		}
	}
}

func ingestAll(t *testing.T, c *Cache, key string, data []byte) error {
	t.Helper()
	in, err := c.Ingest(t.Context(), key)
	must(t, err)
	defer in.Close()
	for rest := data[in.Offset():]; len(rest) > 0; {
		n, err := in.Write(rest[:min(len(rest), 30_000)])
		rest = rest[n:]
		if err != nil {
			return err
		}
	}
	_, err = in.Commit(t.Context(), cache.Ref{})
	return err
}

// Torn lines of dead writers cost nothing but themselves, whichever process sees them.
func TestTornIndex(t *testing.T) {
	dir := t.TempDir()
	a := openTest(t, dir, Options{}, hooks{unnamed: true})
	record(t, a, "1")
	line, err := index.Encode(recordOf("torn"), 0)
	must(t, err)
	for i, cut := range []int{1, 50, 119, len(line) - 1} {
		f, err := os.OpenFile(a.records.index.Path, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.Write(line[:cut])
		must(t, errors.Join(err, f.Close()))
		b := openTest(t, dir, Options{}, hooks{unnamed: true})
		name := fmt.Sprint("after ", i)
		record(t, b, name)
		for _, c := range []*Cache{a, b, openTest(t, dir, Options{}, hooks{unnamed: true})} {
			if !has(t, c, "1") || !has(t, c, name) {
				t.Errorf("cut at %d: a record is missing", cut)
			}
		}
	}
	res, err := a.Verify(t.Context(), VerifyOptions{Full: true})
	must(t, err)
	if len(res.Damages) != 0 || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "nothing that was recorded is lost") {
		t.Errorf("damages %+v and notes %q, want a note of the torn lines", res.Damages, res.Notes)
	}
	wantVerified(t, a)
	if !has(t, a, "1") || !has(t, a, "after 3") {
		t.Error("records are missing after the repair")
	}
}

func TestCancelledCollection(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		record(t, c, "a", putTree(t, c, "a", 5))
		putTree(t, c, "b", 5)
	})
	clk.step()
	c := openTest(t, dir, Options{}, clk.hooks())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.GC(ctx, GCOptions{MaxSize: 1})
	wantErr(t, err, context.Canceled)
	_, err = c.Verify(ctx, VerifyOptions{Full: true})
	wantErr(t, err, context.Canceled)
	_, err = c.GC(t.Context(), GCOptions{})
	must(t, err)
	wantVerified(t, c)
}

// A record that a later version wrote, say, is no reason to stop.
func TestUndecodableRecord(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{unnamed: true})
	record(t, c, "good", putText(t, c, "x"))
	id := actionOf("odd")
	head := fmt.Sprintf("r %x %016x %016x %08x ", id[:], 0, 0, 1)
	sum := crc32.Checksum([]byte(head+"?"), crc32.MakeTable(crc32.Castagnoli))
	must(t, c.records.index.Add(fmt.Appendf(nil, "%s%08x ?\n", head, sum)))
	if has(t, c, "odd") || !has(t, c, "good") {
		t.Error("Lookup finds the wrong records")
	}
	res, err := c.Verify(t.Context(), VerifyOptions{})
	must(t, err)
	if len(res.Damages) != 1 || res.Damages[0].Action != actionOf("odd") {
		t.Errorf("damages %+v", res.Damages)
	}
	wantVerified(t, c)
	_, err = c.GC(t.Context(), GCOptions{})
	must(t, err)
}

// breakIndex are ways in which the log is lost.
var breakIndex = map[string]func(path string) error{
	"missing":           os.Remove,
	"its folder":        func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	"emptied":           func(path string) error { return os.Truncate(path, 0) },
	"cut to its header": func(path string) error { return os.Truncate(path, int64(len("mleflow index 1\n"))) },
	"first bytes zero":  func(path string) error { return zeroStart(path) },
	"garbage":           func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o644) },
	"a folder":          func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
}

// zeroStart writes zeros over the first 64 bytes of a file.
func zeroStart(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, 64), 0)
	return errors.Join(err, f.Close())
}

// A damaged index is told. Nothing is run, recorded or removed until Repair, which finds
// everything again; what is there can be read.
func TestDamagedIndex(t *testing.T) {
	for name, damage := range breakIndex {
		for _, readOnly := range []bool{false, true} {
			t.Run(fmt.Sprint(name, readOnly), func(t *testing.T) {
				dir, clk := t.TempDir(), &clock{}
				var ref cache.Ref
				session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
					ref = putTree(t, c, "a", 5)
					record(t, c, "a", ref)
					record(t, c, "b", putText(t, c, "b"))
				})
				must(t, damage(dir+"/index/log"))
				clk.step()
				session(t, dir, Options{ReadOnly: readOnly, Quota: 1}, clk.hooks(), func(c *Cache) {
					wantErr(t, c.Intact(), index.ErrDamaged)
					_, err := c.List(t.Context())
					must(t, err)
					must(t, closure(t, c, ref))
					res, err := c.Verify(t.Context(), VerifyOptions{})
					must(t, err)
					if len(res.Damages) != 1 || !strings.Contains(res.Damages[0].Text, "'mleflow cache repair'") {
						t.Errorf("damages %+v", res.Damages)
					}
					if readOnly {
						_, err := c.Repair(t.Context())
						wantErr(t, err, cache.ErrReadOnly)
						return
					}
					for _, refuse := range []func() error{
						func() error { _, err := c.GC(t.Context(), GCOptions{MaxSize: 1}); return err },
						func() error { _, err := c.GC(t.Context(), GCOptions{DryRun: true}); return err },
						func() error { _, err := cache.PutBytes(t.Context(), c, make([]byte, 9000)); return err }, // quota
						func() error { return c.Record(t.Context(), recordOf("new")) },
						func() error { _, err := c.LockAction(t.Context(), actionOf("new")); return err },
					} {
						wantErr(t, refuse(), index.ErrDamaged)
					}
				})
				clk.step()
				session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
					r, err := c.Repair(t.Context())
					must(t, err)
					if r.Records != 2 || len(r.Dropped) > 0 || r.LostBytes != 0 {
						t.Errorf("%+v", r)
					}
					wantVerified(t, c)
					_, err = c.GC(t.Context(), GCOptions{})
					must(t, err)
					if !has(t, c, "a") || !has(t, c, "b") {
						t.Error("a record is missing")
					}
					record(t, c, "c", putText(t, c, "c"))
					if r, err := c.Repair(t.Context()); err != nil || r.Damage != "" {
						t.Errorf("repaired again: %+v, %v", r, err)
					}
				})
			})
		}
	}
}

// What took long, or cannot be reproduced, is synced when Record returns.
func TestCostlyIsSynced(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	c := openTest(t, dir, Options{Last: []string{"agent"}}, clk.hooks())
	for name, tt := range map[string]struct {
		kind              string
		millis            int64
		elsewhere, synced bool
	}{
		"cheap": {kind: "test", millis: 59_999}, "slow": {kind: "test", millis: 60_000, synced: true},
		"observation": {kind: "agent", millis: 1, synced: true}, "of another machine": {kind: "agent", millis: 60_000, elsewhere: true},
	} {
		clk.step()
		before, err := readJSON[syncMarker](c.path(syncName))
		must(t, err)
		rec := recordOf(name, putText(t, c, name))
		rec.Kind, rec.DurationMillis = tt.kind, tt.millis
		if tt.elsewhere {
			must(t, c.Adopt(t.Context(), rec))
		} else {
			must(t, c.Record(t.Context(), rec))
		}
		if after, err := readJSON[syncMarker](c.path(syncName)); err != nil || (after != before) != tt.synced {
			t.Errorf("%s: synced %v, want %v; %v", name, after != before, tt.synced, err)
		}
	}
}

// Root may use a user's cache of an earlier version: the copy is the user's afterwards.
func TestCopyMadeByRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a cache to another user")
	}
	dir := t.TempDir()
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) { record(t, c, "a", putText(t, c, "a")) })
	must(t, os.RemoveAll(dir+"/records"))
	must(t, os.Chown(dir, 1234, 1234))
	session(t, dir, Options{}, hooks{unnamed: true}, func(*Cache) {})
	info, err := os.Stat(dir + "/records")
	must(t, err)
	if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 1234 || owner.Gid != 1234 {
		t.Errorf("records belongs to %d:%d", owner.Uid, owner.Gid)
	}
}

// Something else in the place of the copy is damage, too.
func TestNoCopy(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) { record(t, c, "a", putText(t, c, "a")) })
	must(t, errors.Join(os.Remove(dir+"/records/log"), os.Mkdir(dir+"/records/log", 0o755)))
	c := openTest(t, dir, Options{}, hooks{unnamed: true})
	wantErr(t, c.Intact(), index.ErrDamaged)
	r, err := c.Repair(t.Context())
	must(t, err)
	if r.Lost() || r.Records != 1 {
		t.Errorf("%+v", r)
	}
	wantVerified(t, c)
}

// After a power failure the end of the index may be missing or zero, which costs what was
// not synced. What was synced is found in the copy, or waits for Repair.
func TestPowerFailureOfIndex(t *testing.T) {
	for name, tt := range map[string]struct {
		log, copied func([]byte) []byte
		waits       bool
		want        []string
	}{
		"both ends zero":     {zeroFrom(2), zeroFrom(2), false, []string{"0", "1"}},
		"both ends cut":      {cutAt(2), cutAt(3), false, []string{"0", "1", "2"}},
		"log emptied":        {cutAt(-1), func(b []byte) []byte { return b }, false, []string{"0", "1", "2", "3"}},
		"both emptied":       {cutAt(-1), cutAt(-1), true, nil},
		"a page of both":     {zeroPage, zeroPage, true, []string{"0", "2", "3"}},
		"a page of the log":  {zeroPage, func(b []byte) []byte { return b }, false, []string{"0", "1", "2", "3"}},
		"a page of the copy": {func(b []byte) []byte { return b }, zeroPage, false, []string{"0", "1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, h := t.TempDir(), hooks{unnamed: true, bootID: "1"}
			session(t, dir, Options{}, h, func(c *Cache) {
				for i := range 4 {
					record(t, c, fmt.Sprint(i), putText(t, c, fmt.Sprint(i)))
				}
			})
			overwrite(t, dir+"/index/log", tt.log)
			overwrite(t, dir+"/records/log", tt.copied)
			h.bootID = "2"
			c := openTest(t, dir, Options{}, h)
			if err := c.Intact(); errors.Is(err, index.ErrDamaged) != tt.waits {
				t.Errorf("damage: %v", err)
			}
			if tt.waits {
				r, err := c.Repair(t.Context())
				must(t, err)
				if !r.Lost() {
					t.Errorf("%+v", r)
				}
			}
			for i := range 4 {
				if name := fmt.Sprint(i); has(t, c, name) != slices.Contains(tt.want, name) {
					t.Errorf("record %s is there: %v", name, !slices.Contains(tt.want, name))
				}
			}
			wantVerified(t, c)
		})
	}
}

// frameAt is where the record of a number begins, given four of one length.
func frameAt(b []byte, i int) int { return 16 + i*(len(b)-16)/4 }

func zeroFrom(i int) func([]byte) []byte {
	return func(b []byte) []byte { clear(b[frameAt(b, i):]); return b }
}

func cutAt(i int) func([]byte) []byte {
	return func(b []byte) []byte {
		if i < 0 {
			return nil
		}
		return b[:frameAt(b, i)]
	}
}

func zeroPage(b []byte) []byte { clear(b[frameAt(b, 1):frameAt(b, 2)]); return b }

// What neither the index nor the copy has is lost, which Repair says and accepts.
func TestLostIndex(t *testing.T) {
	dir, clk := t.TempDir(), &clock{}
	var ref cache.Ref
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		ref = putTree(t, c, "a", 5)
		record(t, c, "a", ref)
	})
	must(t, errors.Join(os.RemoveAll(dir+"/index"), os.RemoveAll(dir+"/records")))
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		wantErr(t, c.Intact(), index.ErrDamaged)
		r, err := c.Repair(t.Context())
		must(t, err)
		if r.LostBytes <= 0 || r.Records != 0 {
			t.Errorf("%+v", r)
		}
		wantVerified(t, c)
		record(t, c, "c", putText(t, c, "c"))
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		wantVerified(t, c)
		_, err := c.GC(t.Context(), GCOptions{})
		must(t, err)
		if !has(t, c, "c") || present(c, ref) {
			t.Error("the collection kept the wrong content")
		}
	})
}

// An index that is damaged while it is open: a process notices it before it runs
// anything, and is not killed by what it reads.
func TestDamagedWhileOpen(t *testing.T) {
	for name, damage := range breakIndex {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := openTest(t, dir, Options{}, hooks{unnamed: true})
			for i := range 100 {
				record(t, c, fmt.Sprint(i), putText(t, c, fmt.Sprint(i)))
			}
			must(t, damage(dir+"/index/log"))
			_, _ = c.Lookup(t.Context(), actionOf("99"))
			if name == "first bytes zero" { // a process that has read them does not look again, but does not spread it
				err := c.records.index.Rewrite()
				wantErr(t, err, index.ErrDamaged)
			} else {
				_, err := c.LockAction(t.Context(), actionOf("99"))
				wantErr(t, err, index.ErrDamaged)
			}
			other := openTest(t, dir, Options{}, hooks{unnamed: true})
			_, err := other.Repair(t.Context())
			must(t, err)
			unlock, err := c.LockAction(t.Context(), actionOf("new"))
			must(t, err)
			unlock()
			record(t, c, "new", putText(t, c, "new"))
			for _, c := range []*Cache{c, other} {
				if !has(t, c, "99") || !has(t, c, "new") {
					t.Error("a record is missing")
				}
			}
		})
	}
}

// Objects without records are no damage, and told.
func TestObjectsWithoutRecords(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	if res := wantVerified(t, c); len(res.Notes) != 0 {
		t.Errorf("notes %q on an empty cache", res.Notes)
	}
	ref := putText(t, c, "text")
	if res := wantVerified(t, c); len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "no record") {
		t.Errorf("notes %q", res.Notes)
	}
	record(t, c, "a", ref)
	if res := wantVerified(t, c); len(res.Notes) != 0 {
		t.Errorf("notes %q", res.Notes)
	}
}
