package source

import (
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"io/fs"
	maps0 "maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
)

// competition makes a folder as the reference leaves it, read-only.
func competition(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toy[1]")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o400)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func md5Text(text string) string {
	sum := md5.Sum([]byte(text)) //nolint:gosec // published pins are MD5
	return hex.EncodeToString(sum[:])
}

func TestReference(t *testing.T) {
	zip := map[string]string{"toy.zip": "archive"}
	raw := map[string]string{"raw/train.csv": "a,b\n", "raw/deep/1.png": "png"}
	halves := map[string]string{"prepared/public/train.csv": "a\n", "prepared/private/test.csv": "b\n", "prepared/.keep": ""}
	join := func(maps ...map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range maps {
			maps0.Copy(all, m)
		}
		return all
	}
	prepared := map[string]string{"prepared/public/train.csv": "a\n", "prepared/private/test.csv": "b\n"}
	tests := []struct {
		name  string
		files map[string]string
		pin   string
		// blob is the archive taken, else tree is the folder.
		blob string
		tree map[string]string
		err  error
	}{
		{"archive that is pinned", join(zip, raw, halves), md5Text("archive"), "archive", nil, nil},
		{"archive without a pin", join(zip, raw), "", "archive", nil, nil},
		{"archive that is another", join(zip, raw), md5Text("other"), "", nil, ErrMismatch},
		{"raw", join(raw, halves), md5Text("archive"), "", map[string]string{"train.csv": "a,b\n", "deep/1.png": "png"}, nil},
		{"prepared", halves, md5Text("archive"), "", prepared, nil},
		{"one half", map[string]string{"prepared/public/a": "1"}, "", "", nil, fs.ErrNotExist},
		{"nothing", map[string]string{"notes.txt": "x"}, "", "", nil, fs.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := Spec{Path: competition(t, tt.files), MD5: tt.pin}
			store := memory.New()
			data, err := Reference{}.Fetch(t.Context(), Request{Spec: spec, Store: store})
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if a, err := (Reference{}).Inspect(t.Context(), spec); (tt.err == fs.ErrNotExist) != errors.Is(err, ErrGone) {
				t.Errorf("inspect: %+v, %v", a, err)
			}
			if tt.err != nil {
				return
			}
			if tt.blob != "" {
				if got := string(read(t, store, data.Ref)); got != tt.blob {
					t.Errorf("got %q", got)
				}
				return
			}
			got := map[string]string{}
			root := tree.NewFS(t.Context(), store, data.Ref)
			err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := fs.ReadFile(root, name)
				got[name] = string(text)
				return err
			})
			if diff := cmp.Diff(tt.tree, got); diff != "" || err != nil {
				t.Errorf("%v, tree (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestReferenceKey sees that an archive stands for its pin and unproven folders
// for what they hold.
func TestReferenceKey(t *testing.T) {
	key := func(spec Spec) string {
		t.Helper()
		h := digest.NewHasher("test", "1")
		if err := (Reference{}).Fingerprint(spec, h); err != nil {
			t.Fatal(err)
		}
		return h.Sum().String()
	}
	pin := md5Text("archive")
	h := digest.NewHasher("test", "1")
	if err := NewKaggle(NewHTTP(nil)).Fingerprint(Spec{Slug: "toy", MD5: pin}, h); err != nil {
		t.Fatal(err)
	}
	archive := Spec{Path: competition(t, map[string]string{"toy.zip": "archive"}), MD5: pin}
	if key(archive) != h.Sum().String() {
		t.Error("an archive with a pin has another key than the download")
	}
	raw := key(Spec{Path: competition(t, map[string]string{"raw/a": "1"}), MD5: pin})
	if raw == key(archive) || raw == key(Spec{Path: competition(t, map[string]string{"raw/a": "2"}), MD5: pin}) {
		t.Error("the key of a raw folder is not that of its content")
	}
	if raw == key(Spec{Path: competition(t, map[string]string{"prepared/public/a": "1", "prepared/private/a": "1"})}) {
		t.Error("prepared and raw data have one key")
	}
}

func TestIsReference(t *testing.T) {
	for _, tt := range []struct {
		files string
		want  bool
	}{{"raw/a", true}, {"train.csv", false}, {"toy.zip", false}, {"prepared/public/a prepared/private/b", true}, {"prepared/public/a", false}} {
		files := map[string]string{}
		for name := range strings.FieldsSeq(tt.files) {
			files[name] = "x"
		}
		if got := IsReference(competition(t, files)); got != tt.want {
			t.Errorf("%s: %v", tt.files, got)
		}
	}
}
