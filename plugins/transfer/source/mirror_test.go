package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
)

// bucket is an object storage of names and bytes; cut ends the first reads
// early.
type bucket struct {
	objects map[string][]byte
	cut     int
	offsets []int64
}

func (b *bucket) Size(_ context.Context, name string) (int64, error) {
	data, ok := b.objects[name]
	if !ok {
		return 0, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return int64(len(data)), nil
}

func (b *bucket) Read(_ context.Context, name string, offset int64) (io.ReadCloser, error) {
	data, ok := b.objects[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if name != sumsName {
		b.offsets = append(b.offsets, offset)
	}
	data = data[offset:]
	if b.cut > 0 && name != sumsName {
		b.cut--
		data = data[:len(data)/2]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (*bucket) Close() error { return nil }

// origin stands for Kaggle behind a mirror.
type fakeOrigin struct{ asked int }

func (*fakeOrigin) Check(Spec) error { return nil }
func (*fakeOrigin) Fingerprint(spec Spec, h *digest.Hasher) error {
	h.String("origin", spec.Slug)
	return nil
}
func (o *fakeOrigin) Inspect(context.Context, Spec) (Availability, error) {
	o.asked++
	return Availability{Note: "origin"}, nil
}

func (o *fakeOrigin) Fetch(context.Context, Request) (Data, error) {
	o.asked++
	return Data{Name: "origin"}, nil
}

var mirrorContent = bytes.Repeat([]byte("archive of the mirror "), 5000)

// mirrors are the three kinds of base addresses with the same files.
func mirrors(t *testing.T, files map[string][]byte) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return map[string]string{"folder": dir, "file address": "file://" + dir, "web": server.URL, "object storage": "s3://bucket/mirror"}
}

func sumsOf(name string, data []byte) []byte {
	return []byte(digest.Of(data).String() + "  " + name + "\n")
}

func TestMirror(t *testing.T) {
	sha := digest.Of(mirrorContent).String()
	wrong := strings.Repeat("0", 64)
	tests := []struct {
		name  string
		files map[string][]byte
		spec  Spec
		// asked is how often the origin was.
		asked int
		log   string
	}{
		{"pinned", map[string][]byte{"toy.zip": mirrorContent}, Spec{Slug: "toy", SHA256: sha}, 0, ""},
		{"listed", map[string][]byte{"toy.zip": mirrorContent, sumsName: sumsOf("toy.zip", mirrorContent)}, Spec{Slug: "toy"}, 0, ""},
		{"neither", map[string][]byte{"toy.zip": mirrorContent}, Spec{Slug: "toy"}, 0, "nothing proves"},
		{"missing", map[string][]byte{"other.zip": mirrorContent}, Spec{Slug: "toy", SHA256: sha}, 1, "has no toy.zip"},
		{"not what the pin says", map[string][]byte{"toy.zip": mirrorContent}, Spec{Slug: "toy", SHA256: wrong}, 1, "warning"},
		{"not what the list says", map[string][]byte{"toy.zip": mirrorContent, sumsName: sumsOf("toy.zip", []byte("x"))}, Spec{Slug: "toy"}, 1, "warning"},
	}
	for _, tt := range tests {
		for kind, base := range mirrors(t, tt.files) {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				next := &fakeOrigin{}
				entries := With([]Entry{{"http", quick()}, {"kaggle", next}}, Places{Mirror: base, Open: func(context.Context, string) (Objects, error) {
					return &bucket{objects: tt.files}, nil
				}})
				store := memory.New()
				var log strings.Builder
				data, err := entries[1].Source.Fetch(t.Context(), Request{Spec: tt.spec, Store: store, Log: func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }})
				if err != nil {
					t.Fatal(err)
				}
				if next.asked != tt.asked {
					t.Errorf("the origin was asked %d times", next.asked)
				}
				if tt.asked == 0 && (!bytes.Equal(read(t, store, data.Ref), mirrorContent) || data.Name != "toy.zip") {
					t.Errorf("got %+v, which is not what the mirror has", data)
				}
				if !strings.Contains(log.String(), tt.log) || tt.log == "" && strings.Contains(log.String(), "proves") {
					t.Errorf("log %q, want %q", log.String(), tt.log)
				}
			})
		}
	}
}

// TestMirrorResumes continues with an object where the last fetch was cut off.
func TestMirrorResumes(t *testing.T) {
	b := &bucket{objects: map[string][]byte{"toy.zip": mirrorContent}, cut: 2}
	m := &mirror{open: func(context.Context, string) (Objects, error) { return b, nil }}
	store := memory.New()
	req := Request{Spec: Spec{URL: "s3://b", Slug: "toy", SHA256: digest.Of(mirrorContent).String()}, Store: store}
	var temporary *TemporaryError
	for range 2 {
		if _, err := m.Fetch(t.Context(), req); !errors.As(err, &temporary) {
			t.Fatalf("got %v, want a failure that may pass", err)
		}
	}
	data, err := m.Fetch(t.Context(), req)
	if err != nil || !bytes.Equal(read(t, store, data.Ref), mirrorContent) {
		t.Fatalf("got %v, %v", data, err)
	}
	n := int64(len(mirrorContent))
	if len(b.offsets) != 3 || b.offsets[1] != n/2 || b.offsets[2] != n/2+n/4 {
		t.Errorf("read from %v", b.offsets)
	}
}

// TestOffline refuses the network and nothing else.
func TestOffline(t *testing.T) {
	next := &fakeOrigin{}
	places := Places{Offline: true}
	entries := With([]Entry{{"file", file{}}, {"http", quick()}, {"kaggle", next}}, places)
	r := NewRegistry(entries...)
	for _, tt := range []struct {
		kind string
		spec Spec
	}{
		{"http", Spec{URL: "http://127.0.0.1:1/x.zip"}},
		{"kaggle", Spec{Slug: "toy", MD5: strings.Repeat("a", 32)}},
		{"mirror", Spec{URL: "http://127.0.0.1:1", Slug: "toy"}},
		{"mirror", Spec{URL: "s3://b", Slug: "toy"}},
	} {
		src, err := r.Get(tt.kind)
		if err != nil {
			t.Fatal(err)
		}
		_, err = src.Fetch(t.Context(), Request{Spec: tt.spec, Store: memory.New()})
		if !errors.Is(err, ErrOffline) {
			t.Errorf("%s: got %v", tt.kind, err)
		}
		if _, err := src.(Inspector).Inspect(t.Context(), tt.spec); !errors.Is(err, ErrOffline) {
			t.Errorf("%s: inspect: got %v", tt.kind, err)
		}
	}
	if next.asked != 0 {
		t.Error("the origin was asked")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "toy.zip"), mirrorContent, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"file", "mirror"} {
		src, _ := r.Get(kind)
		if _, err := src.Fetch(t.Context(), Request{Spec: Spec{Path: filepath.Join(dir, "toy.zip"), URL: dir, Slug: "toy"}, Store: memory.New()}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// A mirror in a folder serves Kaggle's competitions without the network.
	places.Mirror = dir
	r = NewRegistry(With([]Entry{{"http", quick()}, {"kaggle", next}}, places)...)
	src, _ := r.Get("kaggle")
	if _, err := src.Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New()}); err != nil || next.asked != 0 {
		t.Errorf("got %v", err)
	}
	_, err := src.Fetch(t.Context(), Request{Spec: Spec{Slug: "other"}, Store: memory.New()})
	if !errors.Is(err, ErrOffline) || !strings.Contains(err.Error(), "other") {
		t.Errorf("got %v, want what is missing", err)
	}
	// And a zip file that is at an address, by its name.
	src, _ = r.Get("http")
	spec := Spec{URL: "http://127.0.0.1:1/files/toy.zip?download=1"}
	if _, err := src.Fetch(t.Context(), Request{Spec: spec, Store: memory.New()}); err != nil {
		t.Errorf("got %v", err)
	}
	if a, err := src.(Inspector).Inspect(t.Context(), spec); err != nil || a.Note != NoteMirror {
		t.Errorf("got %+v, %v", a, err)
	}
	for _, other := range []string{"other.zip", "toy.csv", ".zip", ""} {
		_, err := src.Fetch(t.Context(), Request{Spec: Spec{URL: "http://127.0.0.1:1/" + other}, Store: memory.New()})
		if !errors.Is(err, ErrOffline) {
			t.Errorf("%q: got %v", other, err)
		}
	}
}

func TestMirrorCheck(t *testing.T) {
	for _, bad := range []Spec{{}, {Slug: "toy"}, {URL: "/m"}, {URL: "/m", Slug: "../toy"}, {URL: "ftp://x", Slug: "toy"}} {
		if (&mirror{}).Check(bad) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
