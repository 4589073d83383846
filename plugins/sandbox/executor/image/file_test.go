package image

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileBases makes one image on a base in each form that a file can have; a
// layout and its archive give the same, and none of them needs a machine.
func TestFileBases(t *testing.T) {
	base := build(t, Static(program(t, "code"), "tool"))
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := writeTo(archive, func(w io.Writer) error { return WriteArchive(t.Context(), w, base.Path, "storing", nil) }); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "again.tar")
	if err := writeTo(again, func(w io.Writer) error { return WriteArchive(t.Context(), w, base.Path, "storing", nil) }); err != nil {
		t.Fatal(err)
	}
	one, _ := os.ReadFile(archive)
	two, _ := os.ReadFile(again)
	if string(one) != string(two) {
		t.Error("two archives of a layout differ")
	}
	if d, err := fileDigest(archive); err != nil || d != base.Digest {
		t.Errorf("digest of the archive %s, %v, want %s", d, err, base.Digest)
	}
	on := func(base string) Made {
		return build(t, Recipe{Base: base, Files: []File{{Guest: "/more", Text: "more"}}})
	}
	fromLayout, fromArchive, fromRoot := on(base.Path), on(archive), on(root(t))
	if fromLayout.Digest != fromArchive.Digest || filepath.Base(fromLayout.Path) != filepath.Base(fromArchive.Path) {
		t.Errorf("on a layout %+v, on its archive %+v", fromLayout, fromArchive)
	}
	if fromRoot.Digest == fromLayout.Digest || fromRoot.Digest != on(root(t)).Digest {
		t.Errorf("on a root file system %+v", fromRoot)
	}
}

// root writes a root file system with a device and a time of its own.
func root(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "root.tar")
	err := writeTo(file, func(w io.Writer) error {
		out := tar.NewWriter(w)
		if err := out.WriteHeader(&tar.Header{Name: "./passwd", Size: 4}); err != nil {
			return err
		}
		if _, err := io.WriteString(out, "root"); err != nil {
			return err
		}
		for _, h := range []tar.Header{{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "./dev/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}} {
			if err := out.WriteHeader(&h); err != nil {
				return err
			}
		}
		return out.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBadBases(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("neither of them"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(root(t))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tar")
	if err := os.WriteFile(cut, whole[:700], 0o600); err != nil { // within the padding of passwd
		t.Fatal(err)
	}
	for what, tt := range map[string]struct{ base, want string }{
		"cut":          {cut, "cut off after 700 bytes"},
		"text":         {text, "neither an OCI layout or archive"},
		"empty folder": {t.TempDir(), "index.json"},
		"missing":      {"/does/not/exist", "no such file"},
		"a name":       {"debian@sha256:" + strings.Repeat("ab", 32), "need a container runtime"},
	} {
		_, err := (&Builder{Dir: t.TempDir()}).Build(t.Context(), Recipe{Base: tt.base}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", what, err, tt.want)
		}
	}
}

// TestOtherContent puts other content under the digests of an image, in a layout and in
// its archive.
func TestOtherContent(t *testing.T) {
	base := build(t, Static(program(t, "code"), "tool"))
	blobs, err := filepath.Glob(filepath.Join(base.Path, "blobs", "sha256", "*"))
	if err != nil || len(blobs) < 3 {
		t.Fatalf("%d blobs: %v", len(blobs), err)
	}
	other := build(t, Static(program(t, "evil"), "tool"))
	evil, err := filepath.Glob(filepath.Join(other.Path, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range blobs {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(base.Path)); err != nil {
			t.Fatal(err)
		}
		for _, b := range evil { // all that the other image needs is there, too
			copyTo(t, b, filepath.Join(dir, "blobs", "sha256", filepath.Base(b)))
		}
		as := filepath.Join(dir, "blobs", "sha256", filepath.Base(blob))
		if filepath.Base(blob) == strings.TrimPrefix(base.Digest, "sha256:") {
			copyTo(t, filepath.Join(other.Path, "blobs", "sha256", strings.TrimPrefix(other.Digest, "sha256:")), as)
		} else {
			data, err := os.ReadFile(blob)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(as, append(data, ' '), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		archive := filepath.Join(t.TempDir(), "image.tar")
		if err := writeTo(archive, func(w io.Writer) error { return WriteArchive(t.Context(), w, dir, "storing", nil) }); err != nil {
			t.Fatal(err)
		}
		for _, place := range []string{dir, archive} {
			_, err := (&Builder{Dir: t.TempDir()}).Build(t.Context(), Recipe{Base: place}, io.Discard)
			if err == nil || !strings.Contains(err.Error(), "has the digest") {
				t.Errorf("other content of %s in %s: %v", filepath.Base(blob), filepath.Base(place), err)
			}
		}
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
