package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// TestTooLarge refuses images that are small until they are unpacked.
func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	const most, size = 8 << 20, 256 << 20
	packed := filepath.Join(dir, "packed")
	img, err := mutate.AppendLayers(scratch(), zeros(t, size))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Builder{}).writeLayout(packed, img); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "packed.tar")
	if err := writeTo(archive, func(w io.Writer) error { return WriteArchive(t.Context(), w, packed, "storing", nil) }); err != nil {
		t.Fatal(err)
	}
	holes := filepath.Join(dir, "holes.tar")
	line := "mkdir root && truncate -s 256M root/x && tar -C root -cSf holes.tar ./x"
	if out, err := (&exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", line}, Dir: dir}).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	big := filepath.Join(dir, "root", "x")
	for name, r := range map[string]Recipe{
		"layout": {Base: packed}, "archive": {Base: archive}, "holes": {Base: holes}, "file": {Files: []File{{Guest: "/x", Host: big}}},
	} {
		work := t.TempDir()
		if info, err := os.Stat(r.Base); name != "file" && name != "layout" && (err != nil || info.Size() > most) {
			t.Errorf("%s: the base itself has %v, %v", name, info, err)
		}
		if made, err := (&Builder{Dir: work, MaxBytes: most}).Build(t.Context(), r, io.Discard); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: got %+v, %v", name, made, err)
		}
		if left, _ := filepath.Glob(filepath.Join(work, "*")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
		if _, err := (&Builder{Dir: work, MaxBytes: 2 * size}).Build(t.Context(), r, io.Discard); err != nil {
			t.Errorf("%s within the limit: %v", name, err)
		}
	}
}

// zeros is a compressed layer of one file of zeros.
func zeros(t *testing.T, size int64) v1.Layer {
	t.Helper()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		read, write := io.Pipe()
		go func() {
			out := tar.NewWriter(write)
			err := out.WriteHeader(&tar.Header{Name: "x", Mode: 0o644, Size: size})
			for block, n := bytes.Repeat([]byte{0}, 1<<20), int64(0); err == nil && n < size; n += 1 << 20 {
				_, err = out.Write(block)
			}
			write.CloseWithError(errors.Join(err, out.Close()))
		}()
		return read, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return layer
}
