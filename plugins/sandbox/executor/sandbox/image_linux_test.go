package sandbox_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// layerOf is a layer with these entries, whose content is their name.
func layerOf(t *testing.T, entries ...tar.Header) v1.Layer {
	t.Helper()
	var buf bytes.Buffer
	out := tar.NewWriter(&buf)
	for _, h := range entries {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := out.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(out, h.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// withLayers adds layers to the image at the path and returns where the result is.
func withLayers(t *testing.T, base string, layers ...v1.Layer) string {
	t.Helper()
	img, err := image.Open(base, t.TempDir(), 0, nil)
	if err == nil {
		img, err = mutate.AppendLayers(img, layers...)
	}
	dir := t.TempDir()
	if err == nil {
		var p layout.Path
		if p, err = layout.Write(dir, empty.Index); err == nil {
			err = p.AppendImage(img)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHostileImage unpacks what must stay in its folder, and mounts over what must
// stay in the sandbox.
func TestHostileImage(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	b.Image = withLayers(t, b.Image,
		layerOf(t,
			tar.Header{Name: "../../escaped", Typeflag: tar.TypeReg},
			tar.Header{Name: outside + "/absolute", Typeflag: tar.TypeReg},
			tar.Header{Name: "link", Linkname: outside, Typeflag: tar.TypeSymlink},
			tar.Header{Name: "link/through", Typeflag: tar.TypeReg},
			tar.Header{Name: "second", Linkname: "link", Typeflag: tar.TypeSymlink},
			tar.Header{Name: "second/through", Typeflag: tar.TypeReg},
			tar.Header{Name: "hard", Linkname: outside + "/../outside", Typeflag: tar.TypeSymlink},
			tar.Header{Name: "gone", Typeflag: tar.TypeReg},
			tar.Header{Name: "folder/", Typeflag: tar.TypeDir, Mode: 0o555},
			tar.Header{Name: "folder/old", Typeflag: tar.TypeReg, Mode: 0o4755},
			tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
			tar.Header{Name: "pipe", Typeflag: tar.TypeFifo},
			tar.Header{Name: "mnt", Linkname: outside, Typeflag: tar.TypeSymlink},
			tar.Header{Name: "up", Linkname: "../../../../.." + outside, Typeflag: tar.TypeSymlink},
			tar.Header{Name: "magic", Linkname: "/proc/self/fd/3", Typeflag: tar.TypeSymlink}),
		layerOf(t,
			tar.Header{Name: ".wh.gone", Typeflag: tar.TypeReg},
			tar.Header{Name: "folder/.wh..wh..opq", Typeflag: tar.TypeReg},
			tar.Header{Name: "folder/new", Typeflag: tar.TypeReg}))
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "file"), []byte("mounted"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := b.Spec(t, "stat", "/gone", "/folder/old", "/folder/new", "/null", "/pipe", "/mnt/data/file", "/up/data/file", "/link/through", "/escaped")
	for _, guest := range []string{"/mnt/data", "/up/data"} {
		spec.Mounts = append(spec.Mounts, executor.Mount{Host: data, Guest: guest, ReadOnly: true})
	}
	var got map[string]string
	b.Run(t, spec, &got)
	for name, want := range map[string]string{
		"/folder/new": "folder/new", "/mnt/data/file": "mounted", "/up/data/file": "mounted", "/escaped": "../../escaped",
	} {
		if got[name] != want {
			t.Errorf("%s holds %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"/gone", "/folder/old", "/null", "/pipe"} {
		if !strings.Contains(got[name], "no such file") {
			t.Errorf("%s is there: %q", name, got[name])
		}
	}
	spec.Mounts[0].Guest = "/magic/data" // through a descriptor of the first process
	if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil {
		t.Error("a mount through /proc/self/fd")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("made outside: %v", left)
	}
	if _, err := os.Stat(filepath.Join(b.opts.Dir, "escaped")); err == nil {
		t.Error("a name with .. escaped")
	}
}

// TestWrongDigest refuses content that is not what was promised.
func TestWrongDigest(t *testing.T) {
	b := newBench(t)
	blobs, err := filepath.Glob(filepath.Join(b.Image, "blobs", "sha256", "*"))
	if err != nil || len(blobs) < 3 {
		t.Fatalf("%v, %v", blobs, err)
	}
	for _, blob := range blobs {
		text, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(text)
		changed[len(changed)-1] ^= 1
		if len(text) > 2000 { // a layer: in the padding of its archive, where nothing but the digest tells
			if err := os.WriteFile(blob, changed, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(blob, append(bytes.TrimRight(changed[:len(changed)-1], "\n"), text[len(text)-1], ' '), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := b.e.Run(t.Context(), b.Spec(t, "look"), io.Discard); err == nil {
			t.Errorf("changed %s: it runs", filepath.Base(blob))
		}
		if err := os.WriteFile(blob, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.Run(t, b.Spec(t, "look"), nil)
}

func TestTooLargeImage(t *testing.T) {
	b := newBench(t)
	small := sandbox.New(sandbox.Options{Dir: t.TempDir(), ImageBytes: 1 << 20})
	if _, err := small.Run(t.Context(), b.Spec(t, "look"), io.Discard); !errors.Is(err, image.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// TestManyUnpack lets several runtimes unpack one image at once.
func TestManyUnpack(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			spec := b.Spec(t, "stat", "/etc/passwd")
			spec.ID = fmt.Sprint(i)
			if exit, err := sandbox.New(b.opts).Run(context.Background(), spec, io.Discard); err != nil || !exit.OK() {
				t.Errorf("%+v, %v", exit, err)
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(b.opts.Dir, "images", ".work-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPull runs an image from a registry, and refuses one of containerd's store.
func TestPull(t *testing.T) {
	b := newBench(t)
	digest, err := image.Resolve(b.Image)
	if err != nil {
		t.Fatal(err)
	}
	spec := b.Spec(t, "stat", "/etc/passwd")
	spec.Image = containerdtest.Push(t, b.Image, digest)
	var check func(...string)
	spec.Work, check = executortest.Work(t)
	var got map[string]string
	if b.Run(t, spec, &got); !strings.Contains(got["/etc/passwd"], "agent:x:1000") {
		t.Errorf("got %v", got)
	}
	check("pulling the image", "unpacking the image")
	spec.Image = "local:agent@" + digest[:len(digest)-2] + "00"
	if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("an image of containerd's store: %v", err)
	}
}

func TestDevices(t *testing.T) {
	b := newBench(t)
	dir := b.opts.CDIDirs[0]
	b.Devices(t, dir, `,"hooks":[{"hookName":"createContainer","path":"/usr/bin/nvidia-cdi-hook","args":["nvidia-cdi-hook","create-symlinks","--link","libfake.so::/usr/lib/fake-links/libfake.so.1"]}]`)
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.WriteFile(closed, nil, 0); err != nil {
		t.Fatal(err)
	}
	executortest.Describe(t, dir, "closed", `"devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/closed","hostPath":"`+closed+`","type":"c","permissions":"rw"}]}}]`)
	spec := b.Spec(t, "look")
	if spec.Devices = []string{"closed.test/gpu=0"}; os.Geteuid() != 0 {
		if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil || !strings.Contains(err.Error(), "may open itself") {
			t.Errorf("a device that the user may not open: %v", err)
		}
	}
}

// TestCopyUp shows what the image holds at a mount.
func TestCopyUp(t *testing.T) {
	b := newBench(t)
	b.Image = withLayers(t, b.Image, layerOf(t, tar.Header{Name: "home/agent/start.sh", Typeflag: tar.TypeReg}))
	spec := b.Spec(t, "stat", "/home/agent/start.sh")
	spec.Mounts = []executor.Mount{{Host: t.TempDir(), Guest: "/home", CopyUp: true}}
	var got map[string]string
	if b.Run(t, spec, &got); got["/home/agent/start.sh"] != "home/agent/start.sh" {
		t.Errorf("got %v", got)
	}
}
