package pins_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/pins"
)

// MD5 sums by md5sum of coreutils 9.1.
const (
	md5One = "9a7a0a4e9a7b6b4ef9d8e3b2a1f0c5d4" // of nothing here
	md5X   = "9dd4e461268c8034f5c8564e155c67a6" // "x"
	md5Y   = "415290769594460e2e485922904f345d" // "y"
)

var small = prepared{"public/b.csv": "x", "public/a.csv": "y", "private/test.csv": "x", "public/readme.md": "x"}

// treeOfSmall is the digest that the edited definitions pin.
func treeOfSmall(t *testing.T) string {
	t.Helper()
	l, err := pins.NewLock(t.Context(), definition(t, "", nil), small.onDisk(), pins.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Changes[len(l.Changes)-1].New
}

// What is pinned replaces the pins of its version; the rest of the file stays.
func TestLockFile(t *testing.T) {
	const others = `download "kaggle" {
  md5 = "` + md5One + `"
}

reference {
  sha256 = "SUM"
}
`
	const source = "  source \"kaggle\" {}\n"
	pinned := `
prepared "v1" {
  manifest = "` + treeOfSmall(t) + `"
  public = {
    "a.csv" = "` + md5Y + `"
    "b.csv" = "` + md5X + `"
  }
  private = {
    "test.csv" = "` + md5X + `"
  }
}
`
	fill := func(text string) string { return strings.ReplaceAll(text, "SUM", strings.Repeat("1", 64)) }
	const first = "# Written by mleflow competition lock. Commit this file with competition.hcl.\n"
	for _, c := range []struct{ name, body, before, after string }{
		{"empty", "", "", first + pinned},
		{"other names", "", "prepared \"v1\" {\n public = { \"gone.csv\" = \"" + md5One + "\" }\n}\n", first + pinned},
		{"the rest stays", source, others, first + "\n" + others + pinned},
		{"right already", source, first + "\n" + others + pinned, first + "\n" + others + pinned},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := pins.NewLock(t.Context(), definitionWith(t, c.body, fill(c.before), nil), small.onDisk(), pins.LockOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fill(c.after), string(l.Pinned)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Without its lock file nothing of a competition can be checked.
func TestLockIsMissing(t *testing.T) {
	def, diags := competitions.LoadOne(fstest.MapFS{"toy/competition.hcl": {Data: []byte(head + "}\n")}}, "toy")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: small.onDisk()})
	if err == nil || !strings.Contains(err.Error(), "toy/checksums.lock is missing") {
		t.Errorf("got %v", err)
	}
	l, err := pins.NewLock(t.Context(), def, small.onDisk(), pins.LockOptions{})
	if err != nil || !l.Changed() || l.Pins != 3 {
		t.Errorf("lock: %v, %+v", err, l)
	}
}

func TestLockIsStable(t *testing.T) {
	def := locked(t, small.onDisk())
	l, err := pins.NewLock(t.Context(), def, small.onDisk(), pins.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Changed() || l.Pins != 3 {
		t.Errorf("a second lock changes %v (stale %v), %d pins", l.Changes, l.Stale, l.Pins)
	}
	other, err := pins.NewLock(t.Context(), def, small.with(prepared{"public/readme.md": "y"}).onDisk(), pins.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !other.Changed() || len(other.Changes) != 1 || other.Changes[0].Path != "manifest" {
		t.Errorf("changes %v", other.Changes)
	}
}

func TestPinsOfTheReference(t *testing.T) {
	reference := map[string]string{"public/a.csv": md5One, "public/b.csv": md5X, "private/none.csv": md5X}
	def := definition(t, "", nil)
	_, err := pins.NewLock(t.Context(), def, small.onDisk(), pins.LockOptions{Reference: reference})
	var against *pins.ReferenceError
	if !errors.As(err, &against) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"public/a.csv: " + md5One + " becomes " + md5Y, "private/none.csv: " + md5X + " (gone)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	l, err := pins.NewLock(t.Context(), def, small.onDisk(), pins.LockOptions{Reference: reference, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	// Only what the reference pins is pinned.
	if l.Pins != 2 || strings.Contains(string(l.Pinned), "test.csv\"") {
		t.Errorf("%d pins:\n%s", l.Pins, l.Pinned)
	}
}

// The pins of a later version are next to those of v1, and its manifest file
// has a name of its own.
func TestPinsOfAVersion(t *testing.T) {
	const ofV1 = "prepared \"v1\" {\n  public = {\n    \"a.csv\" = \"" + md5One + "\"\n  }\n}\n"
	const errata = `
  errata "v2" {
    reason    = "a.csv was wrong"
    reference = "https://example.org/1"
    prepare {}
  }
  errata "v3" {
    reason    = "a crowded board"
    reference = "https://example.org/2"
    flags     = ["crowded"]
  }
`
	v1 := definitionWith(t, errata, ofV1, nil)
	v2, err := v1.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	l, err := pins.NewLock(t.Context(), v2, small.onDisk(), pins.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(l.Pinned), ofV1) || !strings.Contains(string(l.Pinned), "prepared \"v2\" {\n  manifest = \""+treeOfSmall(t)) {
		t.Errorf("locked as\n%s", l.Pinned)
	}
	files := fstest.MapFS{"toy/competition.hcl": {Data: []byte(head + errata + "}\n")}, "toy/checksums.lock": {Data: l.Pinned}, "toy/manifest.v2.json": {Data: l.Manifest}}
	again, diags := competitions.LoadOne(files, "toy")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, version := range []string{"v2", "v3"} { // v3 has the files of v2
		def, err := again.At(version)
		if err != nil {
			t.Fatal(err)
		}
		report, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: small.onDisk()})
		if err != nil || report.Verdict != pins.Verified || report.Note != "" {
			t.Errorf("%s: %v, %+v", version, err, report)
		}
		wrong, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: small.with(prepared{"public/a.csv": "id\n1\n"}).onDisk()})
		if err != nil || wrong.Verdict != pins.Differs || len(wrong.Mismatches) != 1 || wrong.Mismatches[0].Path != "public/a.csv" {
			t.Errorf("%s: %v, %+v", version, err, wrong)
		}
		l, err := pins.NewLock(t.Context(), def, small.onDisk(), pins.LockOptions{})
		switch {
		case version == "v2" && (err != nil || l.Changed()):
			t.Errorf("a second lock: %v, %+v", err, l)
		case version == "v3" && (err == nil || !strings.Contains(err.Error(), "v3 has the prepared files of v2, so lock that one")):
			t.Errorf("locking v3: %v", err)
		}
	}
	if report, err := pins.Run(t.Context(), pins.Request{Definition: again, Data: small.onDisk()}); err != nil || report.Verdict != pins.Differs {
		t.Errorf("v1: %v, %+v", err, report)
	}
}

// Locking counts all that it reads: the three files that it pins, then all four, of a
// byte each.
func TestLockWork(t *testing.T) {
	var got []progress.State
	work := &progress.Work{Ended: func(p progress.State) { got = append(got, p) }}
	if _, err := pins.NewLock(t.Context(), definition(t, "", nil), small.with(prepared{"other/file": "not read"}).onDisk(), pins.LockOptions{Work: work}); err != nil {
		t.Fatal(err)
	}
	work.Begin("", 0, 0)
	want := []progress.State{
		{What: "pinning the files of toy", Files: 3, TotalFiles: 3, Bytes: 3, TotalBytes: 3},
		{What: "reading all files of toy", Files: 4, TotalFiles: 4, Bytes: 4, TotalBytes: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
