package history

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/plan"
)

// written writes a run with logs that has ended, and returns its ID.
func written(t *testing.T, l *Store, counted ...string) string {
	t.Helper()
	r := begin(t, l, Opening{Plan: &plan.Plan{}, Sources: map[string][]byte{"demo.hcl": []byte("x")}, Counted: counted})
	for _, address := range counted {
		if err := l.Extend(Link{Type: Began, Run: r.ID(), Step: Mark(address), Subjects: []string{"a", "b"}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		log := newLog(fmt.Sprintf("%s/logs/step.exec.s%d/1.log", r.dir, i), 50, 25, nil)
		fmt.Fprintln(log, "line")
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r.ID()
}

// linksOf returns the links of the chain about a run.
func linksOf(t *testing.T, l *Store, id string) (list []Link) {
	t.Helper()
	text, err := l.Chain()
	if err != nil {
		t.Fatal(err)
	}
	links, err := ParseChain(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if link.Run == id {
			list = append(list, link)
		}
	}
	return list
}

// TestRemove: nothing is left of a removed run but its lines in the chain, and one that says
// who removed it.
func TestRemove(t *testing.T) {
	l := New(t.TempDir())
	tried, plainRun, kept := written(t, l, "step.agent-run.a"), written(t, l), written(t, l)
	begun := len(linksOf(t, l, tried))
	for _, id := range []string{tried, plainRun} {
		if err := l.Remove(id); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Open(id); !errors.Is(err, ErrNoRun) {
			t.Errorf("run %s can be opened: %v", id, err)
		}
		if err := l.Remove(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("run %s is removed twice: %v", id, err)
		}
	}
	links := linksOf(t, l, tried)
	if len(links) < begun+1 || links[begun].Type != Removed || links[begun].By != strconv.Itoa(os.Geteuid()) || links[begun].Time.IsZero() {
		t.Errorf("the chain says of the run: %+v", links)
	}
	if links := linksOf(t, l, plainRun); len(links) != 0 {
		t.Errorf("the chain says of a run without attempts: %+v", links)
	}
	if ids, err := l.IDs(); err != nil || !slices.Equal(ids, []string{kept}) {
		t.Errorf("the runs %v are left: %v", ids, err)
	}
	if files, _ := os.ReadDir(l.runs()); len(files) != 1 {
		t.Errorf("files are left: %v", files)
	}
}

// TestRemoveUndeclared: attempts that the chain does not have are in the line that says that
// their run was removed.
func TestRemoveUndeclared(t *testing.T) {
	l := New(t.TempDir())
	id := written(t, l)
	if err := l.Remove(id, "step.agent-run.a", "step.agent-run.b"); err != nil {
		t.Fatal(err)
	}
	if links := linksOf(t, l, id); len(links) != 1 || !slices.Equal(links[0].Steps, []string{Mark("step.agent-run.a"), Mark("step.agent-run.b")}) {
		t.Errorf("the chain says of the run: %+v", links)
	}
}

// TestRemoveOfLive: a run that is written stays whole.
func TestRemoveOfLive(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{Counted: []string{"a"}})
	if err := l.Remove(r.ID()); !errors.Is(err, ErrLive) {
		t.Errorf("a live run: %v", err)
	}
	if links := linksOf(t, l, r.ID()); len(links) != 1 {
		t.Errorf("the chain says of it: %+v", links)
	}
	if e := find(t, l, r.ID()).Entry(); e.State != Running {
		t.Errorf("it is %s", e.State)
	}
}

// TestRemoveOfStrange: what others put into a run's folder is deleted, not followed, and no
// other ID leads out of the folder of runs.
func TestRemoveOfStrange(t *testing.T) {
	l := New(t.TempDir())
	id := written(t, l)
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(l.runs(), id)
	for _, err := range []error{os.Symlink(out, filepath.Join(dir, "link")), os.Remove(filepath.Join(dir, "run.json")), os.Symlink(filepath.Join(out, "file"), filepath.Join(dir, "run.json"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if list, err := l.List(); err != nil || len(list) != 1 || list[0].State != Unreadable {
		t.Fatalf("the runs are %+v: %v", list, err)
	}
	lock := filepath.Join(dir, "lock")
	if err := errors.Join(os.Remove(lock), os.Symlink(filepath.Join(out, "file"), lock)); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(id, id); err == nil {
		t.Error("a lock that is a link is followed")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(id, id); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(out, "file")); err != nil {
		t.Error(err)
	}
}

// removeAll removes all runs of a history, and says so after each.
func removeAll(l *Store) error {
	ids, err := l.IDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		fmt.Println("begin", id)
		if err := l.Remove(id); err != nil {
			return err
		}
		fmt.Println("removed", id)
	}
	return nil
}

// filesIn lists the files of a folder with their sizes.
func filesIn(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			out[path] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRemoveKill kills a process that removes runs, at any moment. A run is whole or gone, and
// the chain has the line of each that is gone.
func TestRemoveKill(t *testing.T) {
	l := New(t.TempDir())
	whole := map[string]map[string]int64{}
	rnd := rand.New(rand.NewPCG(11, 12))
	partly, inside, gone := 0, 0, 0
	for range 20 {
		for len(whole) < 6 {
			id := written(t, l, "step.agent-run.a")
			whole[id] = filesIn(t, filepath.Join(l.runs(), id))
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "MLEFLOW_TEST_REMOVES="+l.dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines, said := rnd.IntN(8)+1, map[string]bool{}
		for s := bufio.NewScanner(out); s.Scan(); {
			if what, id, _ := strings.Cut(s.Text(), " "); what == "removed" {
				said[id] = true
			} else if what == "error" {
				t.Fatal(s.Text())
			}
			if lines--; lines == 0 {
				time.AfterFunc(time.Duration(rnd.IntN(1500))*time.Microsecond, func() { cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // it was killed
		if left, _ := filepath.Glob(filepath.Join(l.runs(), removing+"*")); len(left) > 0 {
			partly++
		}
		ids, err := l.IDs()
		if err != nil {
			t.Fatal(err)
		}
		for id, files := range whole {
			links := linksOf(t, l, id)
			line := slices.ContainsFunc(links, func(l Link) bool { return l.Type == Removed })
			switch there := slices.Contains(ids, id); {
			case there && said[id]:
				t.Fatalf("run %s is there, but was said to be removed", id)
			case there && !maps.Equal(filesIn(t, filepath.Join(l.runs(), id)), files):
				t.Fatalf("run %s is there in part", id)
			case there && line:
				inside++
			case !there && !line:
				t.Fatalf("run %s is gone, and the chain does not say so", id)
			case !there:
				gone++
				delete(whole, id)
			}
		}
	}
	t.Logf("%d runs gone, %d kills in the middle of their files, %d between the line and the folder", gone, partly, inside)
	if gone < 10 || partly == 0 {
		t.Errorf("%d runs gone, %d kills in the middle: the kills test too little", gone, partly)
	}
	if _, err := os.Stat(l.runs()); err != nil {
		t.Fatal(err)
	}
	written(t, l) // the last kill may have left nothing else to remove
	if err := removeAll(l); err != nil {
		t.Fatal(err)
	}
	if files := filesIn(t, l.runs()); len(files) > 0 {
		t.Errorf("files are left: %v", slices.Collect(maps.Keys(files)))
	}
}
