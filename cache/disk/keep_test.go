package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
)

const keepVariable = "MLEFLOW_TEST_CACHE_KEEP"

// TestKeepChild is the process of TestKeepOutlivesProcess, and does nothing on
// its own.
func TestKeepChild(t *testing.T) {
	dir := os.Getenv(keepVariable)
	if dir == "" {
		return
	}
	c := openTest(t, dir, Options{}, hooks{unnamed: true})
	kept, _, err := c.Keep(t.Context(), "agent")
	must(t, err)
	must(t, os.WriteFile(kept+"/state", []byte("text"), 0o600))
	fmt.Println("kept")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
}

// A folder stays when its process is killed, through every clean-up, until
// somebody lets it go without keeping it.
func TestKeepOutlivesProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKeepChild$")
	cmd.Env = append(os.Environ(), keepVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	_, err = cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	check := func(c *Cache, held bool) {
		t.Helper()
		_, err := c.GC(t.Context(), GCOptions{MaxSize: 1})
		must(t, err)
		want := []cache.Kept{{Key: "agent", Dir: c.keeping.keptPath("agent"), Held: held}}
		got, err := c.Kept(t.Context())
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Kept (-want +got):\n%s", diff)
		}
		if data, err := os.ReadFile(want[0].Dir + "/state"); string(data) != "text" {
			t.Errorf("read %q, %v", data, err)
		}
	}
	session(t, dir, Options{}, hooks{}, func(c *Cache) { check(c, true) })
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	session(t, dir, Options{}, hooks{}, func(c *Cache) { check(c, false) })
	session(t, dir, Options{}, hooks{}, func(c *Cache) {
		_, _, err := c.Keep(t.Context(), "agent") // and Close lets it go
		must(t, err)
		check(c, true)
	})
	session(t, dir, Options{}, hooks{}, func(c *Cache) {
		check(c, false)
		kept, release, err := c.Keep(t.Context(), "agent")
		must(t, err)
		must(t, release(false))
		if _, err := os.Lstat(kept); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder is left: %v", err)
		}
		if left := entriesOf(t, c.path(keptName)); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// What a process leaves that dies while it makes a folder is no folder, and
// does no harm.
func TestKeepHalfMade(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	for _, text := range []string{"", "ag"} {
		must(t, os.WriteFile(c.keeping.keptPath("agent")+keySuffix, []byte(text), 0o666))
		if list, err := c.Kept(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("Kept = %v, %v", list, err)
		}
		_, release, err := c.Keep(t.Context(), "agent")
		must(t, err)
		must(t, release(true))
		if list, err := c.Kept(t.Context()); err != nil || len(list) != 1 || list[0].Key != "agent" {
			t.Errorf("Kept = %v, %v", list, err)
		}
	}
	must(t, os.WriteFile(c.keeping.keptPath("agent")+keySuffix, []byte("other"), 0o666))
	if _, _, err := c.Keep(t.Context(), "agent"); err == nil {
		t.Error("a folder of another key was given out")
	}
}

// A cache from before there were kept folders gets theirs when it is needed.
func TestKeepInOldCache(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{}, hooks{})
	must(t, os.Remove(c.path(keptName)))
	if list, err := c.Kept(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("Kept = %v, %v", list, err)
	}
	_, release, err := c.Keep(t.Context(), "agent")
	must(t, err)
	must(t, release(false))
}
