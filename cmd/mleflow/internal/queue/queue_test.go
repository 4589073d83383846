package queue

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type entry struct{ turn Turn }

func (e *entry) Turn() Turn { return e.turn }

// TestNext starts entries in turn: by priority, then by shares and limits of their owners, then
// by age.
func TestNext(t *testing.T) {
	limits := map[string]Limits{"ada": {Weight: 2}, "bob": {}, "eve": {Running: 1, Weight: 9}}
	turns := Turns[*entry]{Parallel: 5, What: "rollouts", Limits: func(owner string) Limits { return limits[owner] }}
	for _, text := range []string{"5 ada", "1 ada", "2 ada", "3 bob", "4 eve", "6 eve", "7 bob first", "0 ada coming"} {
		part := strings.Fields(text + " -")
		e := &entry{Turn{ID: part[0], Owner: part[1], Phase: Waiting}}
		switch part[2] {
		case "first":
			e.turn.Priority = 1
		case "coming":
			e.turn.Phase = Coming
		}
		turns.Enter(e)
	}
	var order []string
	var running []*entry
	now := time.Unix(1, 0)
	for e := turns.Next(); e != nil; e = turns.Next() {
		turns.Change(e, func() { e.turn.Phase, e.turn.Started, now = Active, now, now.Add(time.Second) })
		order, running = append(order, e.turn.ID), append(running, e)
	}
	// Bob's is urgent. Then ada is the oldest of those who run nothing, then eve, who may run one.
	// Then ada has one for her weight of two, half of bob's share.
	if got := strings.Join(order, " "); got != "7 1 4 2 3" {
		t.Errorf("they start in the order %s", got)
	}
	if waiting, active := turns.Counts("ada"); waiting != 2 || active != 2 {
		t.Errorf("%d of ada wait, %d run", waiting, active)
	}
	if why := turns.Obstacle("bob"); why != "the server's limit of running rollouts is 5" {
		t.Error(why)
	}
	for _, e := range running {
		turns.Change(e, func() { e.turn.Phase = Gone })
	}
	if e := turns.Next(); e == nil || e.turn.ID != "6" { // eve was started before ada's and bob's last
		t.Errorf("then %+v", e)
	}
}

// TestFull refuses more than an owner may have, those that are still being written included.
func TestFull(t *testing.T) {
	turns := Turns[*entry]{Parallel: 1, What: "rollouts", Limits: func(string) Limits { return Limits{Queued: 2} }}
	e := &entry{Turn{ID: "1", Owner: "ada", Phase: Coming}}
	turns.Enter(e)
	if err := turns.Full("ada"); err != nil {
		t.Error(err)
	}
	turns.Enter(&entry{Turn{ID: "2", Owner: "ada", Phase: Waiting}})
	if err := turns.Full("ada"); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "2 rollouts of ada are queued already") || turns.Full("bob") != nil {
		t.Error(err)
	}
	turns.Change(e, func() { e.turn.Phase = Gone })
	if err := turns.Full("ada"); err != nil {
		t.Error(err)
	}
}

// TestFolder refuses folders that others may write to, and what is none.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	open, link := filepath.Join(dir, "open"), filepath.Join(dir, "link")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // to be refused
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{open, link} {
		if err := Folder(at); err == nil {
			t.Errorf("%s is taken", at)
		}
	}
	at := filepath.Join(dir, "own")
	for range 2 {
		if err := Folder(at); err != nil {
			t.Error(err)
		}
	}
	var got Turn
	file := filepath.Join(at, "x.json")
	if err := Write(file, Turn{ID: NewID(Now())}); err != nil {
		t.Fatal(err)
	}
	if err := Read(file, &got); err != nil || got.ID == "" {
		t.Errorf("%+v, %v", got, err)
	}
	if early, late := NewID(time.Unix(1, 0).UTC()), NewID(time.Unix(2, 0).UTC()); early >= late {
		t.Errorf("%s is not before %s", early, late)
	}
}
