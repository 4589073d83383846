package containerd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	ociimage "github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// testImages runs one image under all the names it can have.
func testImages(t *testing.T, b *bench) {
	want, err := ociimage.Resolve(b.Image)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.e.ExportImage(t.Context(), b.Image, &archive); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	pinned := containerdtest.Push(t, b.Image, want)
	if err := b.e.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, image string
		parts       []string
	}{
		{"registry", pinned, []string{"pulling the image", "measuring the image", "unpacking the image"}},
		{"archive", file, []string{"importing the image"}}, {"layout", b.Image, nil},
		{"store", "local:mleflow.local/image@" + want, nil}, {"store by another name", "local:anything@" + want, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := ociimage.Resolve(tt.image); err != nil || got != want {
				t.Errorf("digest %s, %v, want %s", got, err, want)
			}
			spec := b.Spec(t, "stat", "/etc/passwd")
			spec.Image = tt.image
			var check func(...string)
			spec.Work, check = executortest.Work(t)
			var got map[string]string
			if exit := b.Run(t, spec, &got); !exit.OK() || !strings.Contains(got["/etc/passwd"], "agent:x:1000:1000") {
				t.Errorf("got %+v, %v", exit, got)
			}
			check(tt.parts...)
		})
	}
	for _, image := range []string{"busybox", "registry.example/a/b:latest", "local:", ""} {
		spec := b.Spec(t, "look")
		spec.Image = image
		if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil || image != "" && !errors.Is(err, ociimage.ErrUnpinned) {
			t.Errorf("image %q: %v, want ErrUnpinned", image, err)
		}
	}
	spec := b.Spec(t, "look")
	spec.Image = "local:not/there:1"
	if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil || !strings.Contains(err.Error(), "not/there:1") {
		t.Errorf("an image that is not in the store: %v", err)
	}
}

// testBuild makes an image with commands and runs it.
func testBuild(t *testing.T, b *bench) {
	builder := ociimage.Builder{Dir: t.TempDir(), Machine: b.e}
	write := func(to string) []string {
		return []string{containerdtest.Program, "executor-probe", "write", to}
	}
	recipe := ociimage.Recipe{
		Base:     b.Image,
		Files:    []ociimage.File{{Guest: "/opt/agent/start.sh", Text: "#!/bin/sh\n", Mode: 0o755}},
		Commands: [][]string{write("/opt/one"), write("/home/two")},
		Config:   ociimage.Config{Env: map[string]string{"FAKE_IMAGE": "yes"}, Dir: "/opt"},
	}
	made, err := builder.Build(t.Context(), recipe, io.Discard)
	if err != nil || made.Cached {
		t.Fatalf("%+v, %v", made, err)
	}
	again, err := builder.Build(t.Context(), recipe, io.Discard)
	if err != nil || !again.Cached || again.Digest != made.Digest {
		t.Errorf("made again: %+v, %v", again, err)
	}
	elsewhere := ociimage.Builder{Dir: t.TempDir(), Machine: b.e}
	if other, err := elsewhere.Build(t.Context(), recipe, io.Discard); err != nil || other.Digest != made.Digest {
		t.Errorf("made elsewhere: %+v, %v, want %s", other, err, made.Digest)
	}
	spec := b.Spec(t, "stat", "/opt/one", "/home/two", "agent/start.sh")
	spec.Image, spec.ImageEnv, spec.Dir = made.Path, true, ""
	var got map[string]string
	b.Run(t, spec, &got)
	if got["/opt/one"] != "written" || got["/home/two"] != "written" || got["agent/start.sh"] != "#!/bin/sh\n" {
		t.Errorf("files: %v", got)
	}
	spec.Command = []string{containerdtest.Program, executortest.GuestCommand, "devices"}
	got = nil
	if b.Run(t, spec, &got); got["FAKE_IMAGE"] != "yes" {
		t.Errorf("environment: %v", got)
	}
	recipe.Commands = [][]string{{containerdtest.Program, "executor-probe", "exit", "3"}}
	if _, err := builder.Build(t.Context(), recipe, io.Discard); err == nil || !strings.Contains(err.Error(), "status 3") {
		t.Errorf("a command that fails: %v", err)
	}
	testTooLarge(t, b, recipe)
}

// testTooLarge stops a command that writes more than an image may hold, and
// refuses to run an image that holds more.
func testTooLarge(t *testing.T, b *bench, recipe ociimage.Recipe) {
	recipe.Commands = [][]string{{containerdtest.Program, executortest.GuestCommand, "spill", "/opt"}}
	builder := ociimage.Builder{Dir: t.TempDir(), Machine: b.e, MaxBytes: 128 << 20}
	if _, err := builder.Build(t.Context(), recipe, io.Discard); !errors.Is(err, ociimage.ErrTooLarge) {
		t.Errorf("a command that fills the disk: %v", err)
	}
	if err := b.e.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	opts := b.daemon.Options
	opts.ImageBytes = 1 << 20
	small := containerd.New(opts)
	defer small.Close()
	if _, err := small.Run(t.Context(), b.Spec(t, "look"), io.Discard); !errors.Is(err, ociimage.ErrTooLarge) {
		t.Errorf("an image that is too large: %v", err)
	}
}

// guestSpill writes files for ever.
func guestSpill(args []string) any {
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(args[0], fmt.Sprint(i)), make([]byte, 4<<20), 0o644); err != nil {
			return err.Error()
		}
		time.Sleep(10 * time.Millisecond)
	}
}
