package verify_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/verify"
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
	l, err := verify.NewLock(t.Context(), definition(t, "", nil), small.onDisk(), verify.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Changes[len(l.Changes)-1].New
}

func TestEdit(t *testing.T) {
	whole := `public = {
      "a.csv" = "` + md5Y + `"
      "b.csv" = "` + md5X + `"
    }
    private = {
      "test.csv" = "` + md5X + `"
    }
    manifest = "TREE"`
	cases := []struct{ name, before, after string }{
		{"no block", "", "\n  checksums {\n    " + whole + "\n  }\n"},
		{"empty block", "  checksums {} # later\n", "  checksums {\n    " + whole + "\n  } # later\n"},
		{"block on one line", "  checksums { manifest = \"" + strings.Repeat("0", 64) + "\" }\n", "  checksums {\n    " + whole + "\n  }\n"},
		{"values only", `  checksums { # as of May
    # the public half
    private  = { # answers
      "test.csv"   =   "` + md5One + `" # wrong
    }
    public = {
      "b.csv" = "` + md5X + `"

      # a comment
      "a.csv" = "` + md5One + `"
    }
    # last
  }
  # after
`, `  checksums { # as of May
    # the public half
    private  = { # answers
      "test.csv"   =   "` + md5X + `" # wrong
    }
    public = {
      "b.csv" = "` + md5X + `"

      # a comment
      "a.csv" = "` + md5Y + `"
    }
    manifest = "TREE"
    # last
  }
  # after
`},
		{"other names", `  checksums {
    private = { "test.csv" = "` + md5X + `" }
    public = {
      "gone.csv" = "` + md5One + `"
    }
    manifest = "` + strings.Repeat("0", 64) + `" # of all
  }
`, `  checksums {
    private = { "test.csv" = "` + md5X + `" }
    public = {
      "a.csv" = "` + md5Y + `"
      "b.csv" = "` + md5X + `"
    }
    manifest = "TREE" # of all
  }
`},
		{"right already", "  checksums {\n    " + whole + "\n  }\n", "  checksums {\n    " + whole + "\n  }\n"},
	}
	digest := treeOfSmall(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fill := func(s string) string { return strings.ReplaceAll(s, "TREE", digest) }
			l, err := verify.NewLock(t.Context(), definition(t, fill(c.before), nil), small.onDisk(), verify.LockOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(head+fill(c.after)+"}\n", string(l.Definition)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLockIsStable(t *testing.T) {
	def := locked(t, small.onDisk())
	l, err := verify.NewLock(t.Context(), def, small.onDisk(), verify.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Changed() || l.Pins != 3 {
		t.Errorf("a second lock changes %v (stale %v), %d pins", l.Changes, l.Stale, l.Pins)
	}
	other, err := verify.NewLock(t.Context(), def, small.with(prepared{"public/readme.md": "y"}).onDisk(), verify.LockOptions{})
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
	_, err := verify.NewLock(t.Context(), def, small.onDisk(), verify.LockOptions{Reference: reference})
	var against *verify.ReferenceError
	if !errors.As(err, &against) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"public/a.csv: " + md5One + " becomes " + md5Y, "private/none.csv: " + md5X + " (gone)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	l, err := verify.NewLock(t.Context(), def, small.onDisk(), verify.LockOptions{Reference: reference, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	// Only what the reference pins is pinned.
	if l.Pins != 2 || strings.Contains(string(l.Definition), "test.csv\" =") {
		t.Errorf("%d pins:\n%s", l.Pins, l.Definition)
	}
}

// Pins that are computed are written out.
func TestPinsThatAreNoPlainTexts(t *testing.T) {
	def := definition(t, "  checksums {\n    public = {\n      (\"a.csv\") = lower(\""+md5One+"\")\n      (\"b.csv\") = lower(\""+md5X+"\")\n    }\n  }\n", nil)
	l, err := verify.NewLock(t.Context(), def, small.onDisk(), verify.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(l.Definition), "(\"a.csv\") = \""+md5Y+"\"\n      (\"b.csv\") = \""+md5X+"\"\n") {
		t.Errorf("edited to:\n%s", l.Definition)
	}
}

// The pins of a later version stand in its errata block, and its manifest file
// has a name of its own.
func TestPinsOfAVersion(t *testing.T) {
	const errata = `  checksums { public = { "a.csv" = "` + md5One + `" } }

  errata "v2" {
    reason    = "a.csv was wrong"
    reference = "https://example.org/1"
    locals { x = 1 }
  }
  errata "v3" {
    reason    = "a crowded board"
    reference = "https://example.org/2"
    flags     = ["crowded"]
  }
`
	v1 := definition(t, errata, nil)
	v2, err := v1.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	l, err := verify.NewLock(t.Context(), v2, small.onDisk(), verify.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(errata, "    locals { x = 1 }\n  }\n", `    locals { x = 1 }

    checksums {
      public = {
        "a.csv" = "`+md5Y+`"
        "b.csv" = "`+md5X+`"
      }
      private = {
        "test.csv" = "`+md5X+`"
      }
      manifest = "`+treeOfSmall(t)+`"
    }
  }
`, 1)
	if diff := cmp.Diff(head+want+"}\n", string(l.Definition)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	files := fstest.MapFS{"toy/competition.hcl": {Data: l.Definition}, "toy/manifest.v2.json": {Data: l.Manifest}}
	again, diags := competitions.LoadOne(files, "toy")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, version := range []string{"v2", "v3"} { // v3 has the files of v2
		def, err := again.At(version)
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.Run(t.Context(), verify.Request{Definition: def, Data: small.onDisk()})
		if err != nil || report.Verdict != verify.Verified || report.Note != "" {
			t.Errorf("%s: %v, %+v", version, err, report)
		}
		wrong, err := verify.Run(t.Context(), verify.Request{Definition: def, Data: small.with(prepared{"public/a.csv": "id\n1\n"}).onDisk()})
		if err != nil || wrong.Verdict != verify.Differs || len(wrong.Mismatches) != 1 || wrong.Mismatches[0].Path != "public/a.csv" {
			t.Errorf("%s: %v, %+v", version, err, wrong)
		}
		l, err := verify.NewLock(t.Context(), def, small.onDisk(), verify.LockOptions{})
		switch {
		case version == "v2" && (err != nil || l.Changed()):
			t.Errorf("a second lock: %v, %+v", err, l)
		case version == "v3" && (err == nil || !strings.Contains(err.Error(), "v3 has the prepared files of v2, so lock that one")):
			t.Errorf("locking v3: %v", err)
		}
	}
	if report, err := verify.Run(t.Context(), verify.Request{Definition: again, Data: small.onDisk()}); err != nil || report.Verdict != verify.Differs {
		t.Errorf("v1: %v, %+v", err, report)
	}
}
