package competitions_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

const minimal = `competition "ID" {
  title       = "Mine"
  complexity  = "low"
  description = "A toy."
  answers     = "private/test.csv"
  sample      = "public/sample.csv"
  prepare {}
  grade {
    metric  = "rmse"
    id      = "id"
    targets = ["y"]
  }
  medals { scores = [3, 2, 1] }
}`

// ownFolder writes a definition below a new folder and returns that.
func ownFolder(t *testing.T, id, name, extra string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.Replace(minimal, "\n", "\n"+extra+"\n", 1), "ID", id)
	if err := os.WriteFile(filepath.Join(dir, name, competitions.FileName), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOwnFolders(t *testing.T) {
	shipped, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	mine, other := ownFolder(t, "mine", "mine", ""), ownFolder(t, "other", "renamed", "")
	cat, err := shipped.With(competitions.Folder{Path: mine}, competitions.Folder{Path: filepath.Join(other, "renamed")}, competitions.Folder{Path: filepath.Join(mine, "mine")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mine", "other"}, cat.Own()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(shipped.IDs(), cat.Published()); diff != "" {
		t.Error(diff)
	}
	for _, set := range []competitions.Set{"low", "all"} {
		want, _ := shipped.Set(set)
		got, _ := cat.Set(set)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the set %s changed: %s", set, diff)
		}
	}
	if len(shipped.Own()) != 0 {
		t.Error("the catalog of those that ship has changed")
	}
}

// TestOwnDigests: no digest of a definition depends on its path.
func TestOwnDigests(t *testing.T) {
	var sums []string
	for range 2 {
		cat, err := competitions.LoadFolder(competitions.Folder{Path: ownFolder(t, "mine", "mine", "")})
		if err != nil {
			t.Fatal(err)
		}
		def, err := cat.Get("mine")
		if err != nil {
			t.Fatal(err)
		}
		g, diags := def.GradeDigest(nil)
		p, more := def.PrepareDigest(nil)
		if diags.HasErrors() || more.HasErrors() {
			t.Fatal(diags, more)
		}
		sums = append(sums, g.String()+p.String())
	}
	if sums[0] != sums[1] {
		t.Error("the digests depend on the folder")
	}
}

func TestOwnMistakes(t *testing.T) {
	shipped, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		dirs       []string
	}{
		{"missing", "cannot be read", []string{filepath.Join(t.TempDir(), "none")}},
		{"empty", "holds no competition", []string{t.TempDir()}},
		{"twice", "also defines \"mine\"", []string{ownFolder(t, "mine", "mine", ""), ownFolder(t, "mine", "mine", "")}},
		{"shadow", "ships with mleflow", []string{ownFolder(t, "leaf-classification", "leaf-classification", "")}},
		{"unwilling shadow", "ships with mleflow", []string{ownFolder(t, "leaf-classification", "leaf-classification", "  replaces_shipped = false")}},
		{"other name", "is in folder", []string{ownFolder(t, "mine", "other", "")}},
		{"no identifier", "An identifier contains only letters", []string{filepath.Join(ownFolder(t, "../mine", "x", ""), "x")}},
		{"invalid", "Unknown attribute titel", []string{ownFolder(t, "mine", "mine", "  titel = 1")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var folders []competitions.Folder
			for _, dir := range tt.dirs {
				folders = append(folders, competitions.Folder{Path: dir, From: "--competitions"})
			}
			_, err := shipped.With(folders...)
			var bad *competitions.LoadError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v", err)
			}
			if at := bad.Diags[0].Subject; at != nil && bad.Files[at.Filename] == nil {
				t.Errorf("no text of %s", at.Filename)
			}
		})
	}
	cat, err := shipped.With(competitions.Folder{Path: ownFolder(t, "leaf-classification", "leaf-classification", "  replaces_shipped = true")})
	if err != nil {
		t.Fatal(err)
	}
	if def, _ := cat.Get("leaf-classification"); def.Title != "Mine" {
		t.Error("the definition was not replaced")
	}
	if diff := cmp.Diff(shipped.IDs(), cat.IDs()); diff != "" {
		t.Error(diff)
	}
}
