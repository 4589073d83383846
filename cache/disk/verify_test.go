package disk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// A full verification that is interrupted continues where it was: what it had
// read is not read again, but what changed or appeared since is.
func TestVerifyGoesOn(t *testing.T) {
	// How far the note is depends on how evenly the workers get on.
	for range 5 {
		if verifyGoesOn(t) >= 100 {
			return
		}
	}
	t.Error("the note is never far behind what was read")
}

// verifyGoesOn returns how many objects were not read again.
func verifyGoesOn(t *testing.T) (behind int) {
	dir, clk := t.TempDir(), &clock{}
	refs := make([]cache.Ref, 400)
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for i := range refs {
			refs[i] = putText(t, c, fmt.Sprint("text ", i))
		}
		record(t, c, "all", refs...)
		overwrite(t, c.objectPath(lowest(refs), false), flip) // found before the interruption
		must(t, c.objects.touch(lowest(refs), false))
	})
	clk.step()
	cause := errors.New("the person pressed Ctrl-C")
	var before VerifyResult
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var err error
		before, err = c.Verify(ctx, VerifyOptions{Full: true, Progress: func(p VerifyProgress) {
			if p.Objects == 200 {
				cancel(cause)
			}
		}})
		wantErr(t, err, cause)
	})
	clk.step()
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		data, err := os.ReadFile(c.path(verifyName))
		must(t, err)
		var point verifyPoint
		must(t, json.Unmarshal(data, &point))
		// What is new is read, wherever it is, and what is behind the point.
		fresh := make(map[digest.ContentID]bool)
		for i := range 40 {
			fresh[putText(t, c, fmt.Sprint("new ", i)).ID] = true
		}
		unread := int64(0)
		must(t, c.objects.eachFile(func(f file) error {
			if fresh[f.id] || f.name() > point.Through {
				unread++
			} else {
				behind++
			}
			return nil
		}))
		res, err := c.Verify(t.Context(), VerifyOptions{Full: true})
		must(t, err)
		if res.Resumed != before.Hashed || res.Hashed-res.Resumed != unread {
			t.Errorf("after %+v: %+v, want %d to be read and %d not", before, res, unread, behind)
		}
		if len(res.Damages) != 2 || res.Damages[0].Object != lowest(refs) {
			t.Errorf("damages %+v, want the one from before, and its record", res.Damages)
		}
		if _, err := os.Lstat(c.path(verifyName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the note is left: %v", err)
		}
		if res := wantVerified(t, c); res.Resumed != 0 || res.Hashed != res.Objects {
			t.Errorf("a new verification: %+v", res)
		}
	})
	return behind
}

// lowest returns the object that comes first.
func lowest(refs []cache.Ref) (low [32]byte) {
	low = refs[0].ID
	for _, r := range refs {
		if string(r.ID[:]) < string(low[:]) {
			low = r.ID
		}
	}
	return low
}

// Silent damage behind the point of an interruption is found after it.
func TestVerifyFindsDamageAfterwards(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	var refs []cache.Ref
	for i := range 50 {
		refs = append(refs, putText(t, c, fmt.Sprint(i)))
	}
	must(t, os.WriteFile(c.path(verifyName), []byte(`{"started_unix":1,"through":"`+refs[7].ID.String()+`","hashed":3}`), 0o600))
	for i, ref := range refs {
		if i != 7 {
			overwrite(t, c.objectPath(ref.ID, false), flip)
			must(t, c.objects.touch(ref.ID, false))
		}
	}
	res, err := c.Verify(t.Context(), VerifyOptions{Full: true})
	must(t, err)
	if len(res.Damages) != 49 { // all are younger than the interrupted one
		t.Errorf("%d damages, want 49", len(res.Damages))
	}
}

const verifyVariable = "MLEFLOW_TEST_CACHE_VERIFY"

// TestVerifyChild is a process of TestVerifyKilled, and does nothing on its
// own: it verifies slowly until it is killed.
func TestVerifyChild(t *testing.T) {
	dir := os.Getenv(verifyVariable)
	if dir == "" {
		return
	}
	// A clock that runs fast, so that it notes often how far it is.
	var ticks atomic.Int64
	c := openTest(t, dir, Options{}, hooks{now: func() time.Time { return time.Unix(1_700_001_000+ticks.Add(1), 0) }})
	res, err := c.Verify(t.Context(), VerifyOptions{Full: true, Progress: func(p VerifyProgress) {
		time.Sleep(200 * time.Microsecond)
		if p.Objects == 100 {
			fmt.Println("far")
		}
	}})
	must(t, err)
	fmt.Println("done", res.Resumed, len(res.Damages))
}

// A full verification that is killed goes on as well, and ends some time.
func TestVerifyKilled(t *testing.T) {
	dir := t.TempDir()
	clk := &clock{}
	session(t, dir, Options{}, clk.hooks(), func(c *Cache) {
		for i := range 1000 {
			putText(t, c, fmt.Sprint(i))
		}
	})
	for kills := 0; ; kills++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestVerifyChild$")
		cmd.Env = append(os.Environ(), verifyVariable+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		scan := bufio.NewScanner(out)
		var resumed, damages int
		ended := false
		for scan.Scan() {
			if n, _ := fmt.Sscanf(scan.Text(), "done %d %d", &resumed, &damages); n == 2 {
				ended = true
			} else if scan.Text() == "far" && kills < 5 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		if ended {
			if kills < 5 || resumed == 0 || damages != 0 {
				t.Errorf("after %d kills: %d were read before, %d damages", kills, resumed, damages)
			}
			return
		}
		if kills > 5 {
			t.Fatal("it never ends")
		}
	}
}

// The progress of a large object is told while it is read, and its bytes count once.
func TestVerifyProgress(t *testing.T) {
	clk := &clock{}
	session(t, t.TempDir(), Options{}, clk.hooks(), func(c *Cache) {
		size := putText(t, c, strings.Repeat("x", 3<<20)).Size + putText(t, c, "small").Size
		within := false
		var last VerifyProgress
		res, err := c.Verify(t.Context(), VerifyOptions{Full: true, Progress: func(p VerifyProgress) {
			within = within || p.Bytes >= 1<<20 && p.Bytes < 3<<20
			if p.Bytes < last.Bytes || p.Bytes > p.TotalBytes || p.Read < last.Read {
				t.Errorf("%+v after %+v", p, last)
			}
			last = p
		}})
		must(t, err)
		want := VerifyProgress{Objects: 2, TotalObjects: 2, Bytes: size, TotalBytes: size, Read: 2, ReadBytes: size}
		if last != want || !within || res.HashedBytes != size {
			t.Errorf("%+v, want %+v; within: %v; %+v", last, want, within, res)
		}
	})
}
