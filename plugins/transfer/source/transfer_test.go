package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// at makes the n-th request to the storage go wrong.
func at(n int, f kaggletest.Fault) kaggletest.Plan {
	var mu sync.Mutex
	seen := 0
	return func(c kaggletest.Call) kaggletest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.API {
			return kaggletest.Fault{}
		}
		if seen++; seen-1 == n {
			return f
		}
		return kaggletest.Fault{}
	}
}

func toyServer(t *testing.T, size int, plan kaggletest.Plan) *kaggletest.Server {
	srv := kaggletest.New(plan)
	t.Cleanup(srv.Close)
	srv.Add(kaggletest.Competition{Slug: "toy", Title: "Toy", Archive: kaggletest.NewObject(7, size)})
	return srv
}

// TestSignedAddress counts how often Kaggle is asked for a signed address: once
// a download, and once more when the signature expires.
func TestSignedAddress(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plan  kaggletest.Plan
		asked int64
	}{
		{"lasts", nil, 1},
		{"expires, 403", at(5, kaggletest.Fault{Kind: kaggletest.Expire}), 2},
		{"expires, 400", at(5, kaggletest.Fault{Kind: kaggletest.Expire, At: 1}), 2},
		{"refused once", at(5, kaggletest.Fault{Kind: kaggletest.Status, Code: 403}), 2},
		{"busy", at(5, kaggletest.Fault{Kind: kaggletest.Status, Code: 503}), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := toyServer(t, 200_000, tt.plan)
			data, err := scaledKaggle(srv, 1).Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New()})
			if err != nil || data.Name != "toy.zip" || data.MD5 != md5Hex(srv.Archive("toy").Data) {
				t.Fatalf("%+v, %v", data, err)
			}
			if got := srv.Stats().Asked.Load(); got != tt.asked {
				t.Errorf("Kaggle was asked %d times, want %d", got, tt.asked)
			}
			if got := srv.Stats().Leaks.Load(); got != 0 {
				t.Errorf("%d requests told the storage the credential", got)
			}
		})
	}
}

// TestRefusedForEver is a storage that accepts no signature, however new. That
// is permanent.
func TestRefusedForEver(t *testing.T) {
	srv := toyServer(t, 1000, func(c kaggletest.Call) kaggletest.Fault {
		if c.API {
			return kaggletest.Fault{}
		}
		return kaggletest.Fault{Kind: kaggletest.Status, Code: 403}
	})
	_, err := scaledKaggle(srv, 1).Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New()})
	var passing *TemporaryError
	if err == nil || errors.As(err, &passing) || errors.Is(err, ErrRules) || !strings.Contains(err.Error(), "the storage that the server redirects to") {
		t.Errorf("got %v, want an error of the storage that does not pass", err)
	}
}

// TestRetryAfter waits as long as the storage asks, and no part comes before.
func TestRetryAfter(t *testing.T) {
	srv := toyServer(t, 200_000, at(3, kaggletest.Fault{Kind: kaggletest.Status, Code: 429, After: time.Second}))
	begin := time.Now()
	if _, err := scaledKaggle(srv, 4).Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New()}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("tried again after %v, the server asked for 1s", took)
	}
}

// TestForeseenMismatch refuses by the server's word, before the first part.
func TestForeseenMismatch(t *testing.T) {
	srv := toyServer(t, 100_000, nil)
	spec := Spec{Slug: "toy", MD5: strings.Repeat("0", 32)}
	_, err := scaledKaggle(srv, 2).Fetch(t.Context(), Request{Spec: spec, Store: memory.New()})
	if !errors.Is(err, ErrMismatch) || srv.Stats().Sent.Load() > 1 {
		t.Errorf("got %v after %d bytes", err, srv.Stats().Sent.Load())
	}
}

// TestWrongBytes changes the file or a byte of it in the middle of a download.
func TestWrongBytes(t *testing.T) {
	flip := func() kaggletest.Plan { return at(5, kaggletest.Fault{Kind: kaggletest.Flip, At: 500}) }
	replace := func() kaggletest.Plan { return at(5, kaggletest.Fault{Kind: kaggletest.Replace}) }
	for _, tt := range []struct {
		name string
		plan func() kaggletest.Plan
		md5  bool // the server tells it
		pin  string
		err  error
	}{
		{name: "flipped, the server tells the MD5", plan: flip, md5: true},
		{name: "flipped, pinned by SHA-256", plan: flip, pin: "sha256"},
		{name: "replaced, pinned by MD5", plan: replace, pin: "md5", err: ErrMismatch},
		{name: "replaced, pinned by SHA-256", plan: replace, md5: true, pin: "sha256", err: ErrMismatch},
		{name: "replaced, pinned by MD5, which the server tells", plan: replace, md5: true, pin: "md5", err: ErrMismatch},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := kaggletest.New(tt.plan())
			defer srv.Close()
			o := kaggletest.NewObject(1, 200_000)
			if o.MD5 = tt.md5; !tt.md5 {
				o.ETag, o.Modified = "", time.Time{}
			}
			srv.Add(kaggletest.Competition{Slug: "toy", Archive: o})
			spec := Spec{Slug: "toy"}
			switch tt.pin {
			case "md5":
				spec.MD5 = md5Hex(o.Data)
			case "sha256":
				spec.SHA256 = digest.Of(o.Data).String()
			}
			data, err := scaledKaggle(srv, 3).Fetch(t.Context(), Request{Spec: spec, Store: memory.New()})
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err == nil && data.Ref.ID != digest.Of(o.Data) {
				t.Error("wrong bytes were accepted")
			}
		})
	}
}

// TestBandwidth fetches two files at once under one cap.
func TestBandwidth(t *testing.T) {
	srv := toyServer(t, 300_000, nil)
	k := scaledKaggle(srv, 4)
	MaxRate(1_000_000)(&k.http.settings)
	begin := time.Now()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := k.Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New()}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// The first eighth of a second is the burst.
	if took := time.Since(begin); took < 450*time.Millisecond {
		t.Errorf("600,000 bytes at 1,000,000 a second came in %v", took)
	}
}

// TestLayout is what a download takes in memory and connections.
func TestLayout(t *testing.T) {
	s := defaults()
	for _, tt := range []struct {
		rest, part  int64
		connections int
	}{
		{1, 256 << 10, 1}, {1 << 20, 256 << 10, 4}, {3<<18 + 1, 256 << 10, 4}, {64 << 20, 256 << 10, 8}, {1 << 30, 2 << 20, 8}, {500 << 30, 8 << 20, 8},
	} {
		if part, connections := s.layout(tt.rest); part != tt.part || connections != tt.connections {
			t.Errorf("%d bytes: %d connections with parts of %d, want %d with %d", tt.rest, connections, part, tt.connections, tt.part)
		}
	}
}

// TestUnpublished hands a download over without storing it.
func TestUnpublished(t *testing.T) {
	srv := toyServer(t, 100_000, nil)
	for _, store := range []cache.Cache{memory.New(), openDisk(t)} {
		testUnpublished(t, srv, store)
	}
}

func openDisk(t *testing.T) cache.Cache {
	c, err := disk.Open(t.TempDir(), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func testUnpublished(t *testing.T, srv *kaggletest.Server, store cache.Cache) {
	want := srv.Archive("toy").Data
	k := scaledKaggle(srv, 4)
	fetch := func() Data {
		t.Helper()
		data, err := k.Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: store, Unpublished: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(data.File, 0, data.Ref.Size))
		if err != nil || !bytes.Equal(got, want) || data.Ref.ID != digest.Of(want) || data.MD5 != md5Hex(want) {
			t.Fatalf("got %+v, %v", data, err)
		}
		if _, err := store.Has(t.Context(), data.Ref.ID); !errors.Is(err, cache.ErrNotFound) {
			t.Fatalf("the store has the archive: %v", err)
		}
		return data
	}
	sent := func() int64 { return srv.Stats().Sent.Swap(0) }
	if err := fetch().File.Close(); err != nil || sent() < int64(len(want)) {
		t.Fatal(err)
	}
	if err := fetch().File.Drop(); err != nil {
		t.Fatal(err)
	}
	if n := sent(); n > 1 {
		t.Errorf("%d bytes were fetched again after Close", n)
	}
	data := fetch()
	if n := sent(); n < int64(len(want)) {
		t.Errorf("only %d bytes were fetched after Drop", n)
	}
	if err := data.File.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, store, data.Ref); !bytes.Equal(got, want) {
		t.Error("what was published is not what was fetched")
	}
}

// TestNoSecretAnywhere looks for the credential and the signatures in whatever
// a download leaves or tells: errors, log, progress, key, files.
func TestNoSecretAnywhere(t *testing.T) {
	t.Parallel()
	secrets := []string{kaggletest.Token, kaggletest.Key, "canary-signature", "Y2FuYXJ5LXVzZXI6"}
	folder := t.TempDir()
	store, err := disk.Open(folder, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var told strings.Builder
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&told, format+"\n", args...)
	}
	for seed := range uint64(30) {
		srv := toyServer(t, 60_000, kaggletest.Seeded(seed, 0.2+0.6*float64(seed%2), kaggletest.All()...))
		k := scaledKaggle(srv, 3)
		env := map[string]string{"KAGGLE_API_ENDPOINT": srv.Endpoint, "KAGGLE_USERNAME": kaggletest.User, "KAGGLE_KEY": kaggletest.Key}
		if seed%3 > 0 {
			env["KAGGLE_API_TOKEN"] = kaggletest.Token
		}
		k.env = func(name string) string { return env[name] }
		_, err := k.Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: store, Log: tell, Progress: func(done, total int64) { tell("%d of %d", done, total) }})
		tell("%v %+v %#v", err, err, err)
		_, err = k.Inspect(t.Context(), Spec{Slug: "missing"})
		tell("%v", err)
		h := digest.NewHasher("test", "1")
		k.Fingerprint(Spec{Slug: "toy"}, h)
		tell("%v", h.Fields())
	}
	if !strings.Contains(told.String(), "retrying in") {
		t.Error("nothing was logged")
	}
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		tell("%s", path)
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			tell("%s", text)
		}
		return nil
	})
	for _, s := range secrets {
		if i := strings.Index(told.String(), s); i >= 0 {
			t.Errorf("%q is in %q", s, told.String()[max(i-200, 0):i+len(s)])
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// TestRedirects keeps a credential to its own scheme, host and port.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"https://www.kaggle.com/a", "https://www.kaggle.com/b?c", true},
		{"https://www.kaggle.com/a", "http://www.kaggle.com/a", false},
		{"https://kaggle.com/a", "https://www.kaggle.com/a", false},
		{"http://localhost:1/a", "http://localhost:2/a", false},
		{"https://www.kaggle.com/a", "https://www.kaggle.com.evil.example/a", false},
		{"https://www.kaggle.com/a", "https://www.kaggle.com@evil.example/a", false},
	} {
		if got := sameHost(tt.a, tt.b); got != tt.same {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
	s := newServer(t, 10)
	for _, to := range []string{"file:///etc/passwd", "ftp://x/y"} {
		s.asked, s.faults = nil, []fault{status(http.StatusFound, "Location", to)}
		if _, err := quick().Fetch(t.Context(), Request{Spec: s.spec(), Store: memory.New()}); err == nil {
			t.Errorf("%q was followed", to)
		}
	}
	loop := make([]fault, 20)
	for i := range loop {
		loop[i] = status(http.StatusFound, "Location", s.URL+"/again")
	}
	s.asked, s.faults = nil, loop
	if _, err := quick().Fetch(t.Context(), Request{Spec: s.spec(), Store: memory.New()}); err == nil || len(s.asked) != mostRedirects {
		t.Errorf("%v after %d requests", err, len(s.asked))
	}
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]span{
		"bytes 0-0/1": {0, 0, 1}, "bytes 5-9/*": {5, 9, -1}, "bytes 0-9223372036854775806/9223372036854775807": {0, 1<<63 - 2, 1<<63 - 1},
	} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "bytes", "bytes */5", "bytes 0-5/5", "bytes 5-4/9", "bytes -1-4/9", "bytes +1-4/9", "bytes 0-9223372036854775808/*",
		"bits 0-1/2", "bytes 0-1/2/3", "bytes 0-1", "bytes 0-1-2/9", "bytes 0x1-2/9"} {
		if got, err := parseSpan(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestMD5Header(t *testing.T) {
	want := "3a393d73d7617f18a829554763015b1d"
	if got := md5Header(http.Header{"X-Goog-Hash": {"crc32c=n03x6A==,md5=Ojk9c9dhfxioKVVHYwFbHQ=="}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := md5Header(http.Header{"X-Goog-Hash": {"crc32c=n03x6A==", "md5=Ojk9c9dhfxioKVVHYwFbHQ=="}}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, h := range []http.Header{
		{}, {"X-Goog-Hash": {"md5=short"}}, {"X-Goog-Hash": {"md5=Ojk9c9dhfxioKVVHYwFbHQ=="}, "X-Goog-Stored-Content-Encoding": {"gzip"}},
	} {
		if got := md5Header(h); got != "" {
			t.Errorf("%v: %q", h, got)
		}
	}
}
