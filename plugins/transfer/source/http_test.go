package source

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
)

func quick() *HTTP {
	s := NewHTTP(nil)
	s.smallest = 1 << 20 // so that the files of these tests are one part
	s.wait, s.tries, s.patience = time.Millisecond, 5, time.Second
	return s
}

func (s *server) spec() Spec { return Spec{URL: s.URL + "/dir/data.zip?token=1"} }

func (s *server) pins() (sha, sum string) {
	m := md5.Sum(s.content) //nolint:gosec // published pins are MD5
	return digest.Of(s.content).String(), hex.EncodeToString(m[:])
}

func read(t *testing.T, store cache.Cache, ref cache.Ref) []byte {
	t.Helper()
	r, err := store.Open(t.Context(), ref.ID)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type fault = func(http.ResponseWriter, *http.Request, *server)

func TestHTTPFaults(t *testing.T) {
	const (
		size  = 600_000
		first = "bytes=0-0"
		all   = "bytes=0-599999"
	)
	from := func(n int) string { return fmt.Sprintf("bytes=%d-599999", n) }
	tests := []struct {
		name   string
		faults []fault
		change func(*server)
		// asked are the ranges that the server must have seen.
		asked []string
	}{
		{name: "well", asked: []string{first, all}},
		{name: "no etag, no fault", change: func(s *server) { s.etag = "" }, asked: []string{first, first, ""}},
		{name: "connection reset", faults: []fault{reset, reset}, asked: []string{first, first, first, all}},
		{name: "busy", faults: []fault{status(503), status(429, "Retry-After", "0"), status(500)}, asked: []string{first, first, first, first, all}},
		{name: "cut off", faults: []fault{nil, cutAt(1000), cutAt(70_000)}, asked: []string{first, all, from(1000), from(71000)}},
		{name: "cut off at once", faults: []fault{nil, cutAt(0)}, asked: []string{first, all, all}},
		{name: "busy in the middle", faults: []fault{nil, cutAt(1000), status(502)}, asked: []string{first, all, from(1000), from(1000)}},
		{name: "changed in the middle", faults: []fault{nil, cutAt(1000), newVersion}, asked: []string{first, all, from(1000), first, "bytes=0-600011"}},
		{name: "no ranges", faults: []fault{cutAt(1000)}, change: func(s *server) { s.noRange = true }, asked: []string{first, ""}},
		{name: "no ranges from now on", faults: []fault{nil, whole, whole, whole, whole, whole}, asked: []string{first, all, all, all, all, all, ""}},
		{name: "another part", faults: []fault{nil, cutAt(1000), lie}, asked: []string{first, all, from(1000), from(1000)}},
		{name: "weak etag", faults: []fault{nil, nil, cutAt(1000)}, change: func(s *server) { s.etag = `W/"v"` }, asked: []string{first, first, "", ""}},
		{name: "shrunk", faults: []fault{nil, cutAt(1000), status(416, "Content-Range", "bytes */10")}, asked: []string{first, all, from(1000), first, from(1000)}},
		{name: "precondition refused for no reason", faults: []fault{nil, status(412)}, asked: []string{first, all, first, all}},
		{name: "encoded", faults: []fault{nil, encode, encode}, asked: []string{first, all, all, all}},
		{name: "too long", faults: []fault{nil, longer}, asked: []string{first, all, all}},
		{name: "shorter parts", faults: []fault{nil, shorter(1000), shorter(2000)}, asked: []string{first, all, from(1000), from(3000)}},
		{name: "no word of the version", faults: []fault{nil, anonymous}, asked: []string{first, all, all}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, size)
			s.faults = tt.faults
			if tt.change != nil {
				tt.change(s)
			}
			store := memory.New()
			data, err := quick().Fetch(t.Context(), Request{Spec: s.spec(), Store: store})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(read(t, store, data.Ref), s.content) {
				t.Error("the bytes are not those of the server")
			}
			_, sum := s.pins()
			if data.Name != "data.zip" || data.MD5 != sum {
				t.Errorf("got %+v, want MD5 %s", data, sum)
			}
			if diff := cmp.Diff(tt.asked, s.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTTPRefusals(t *testing.T) {
	tests := []struct {
		code  int
		retry bool
		after time.Duration
		want  string
	}{
		{401, false, 0, "requires a login"},
		{403, false, 0, "rules may have to be accepted"},
		{404, false, 0, "no such file"},
		{418, false, 0, "418"},
		{501, false, 0, "501"},
		{503, true, 0, "503"},
		{429, true, 90 * time.Second, "429"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.code), func(t *testing.T) {
			s := newServer(t, 10)
			var header []string
			if tt.after > 0 {
				header = []string{"Retry-After", "90"}
			}
			for range 9 {
				s.faults = append(s.faults, status(tt.code, header...))
			}
			_, err := quick().Fetch(t.Context(), Request{Spec: s.spec(), Store: memory.New()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), s.URL) {
				t.Fatalf("got %v, want an error with %q and the address", err, tt.want)
			}
			var temporary *TemporaryError
			if got := errors.As(err, &temporary); got != tt.retry || got && temporary.After != tt.after {
				t.Errorf("temporary %v %+v, want %v after %v", got, temporary, tt.retry, tt.after)
			}
			if wantTries := map[bool]int{true: 5, false: 1}[tt.retry && tt.after == 0]; len(s.asked) != wantTries {
				t.Errorf("%d requests, want %d", len(s.asked), wantTries)
			}
		})
	}
}

func TestHTTPPins(t *testing.T) {
	s := newServer(t, 1000)
	sha, sum := s.pins()
	wrong := strings.Repeat("0", 64)
	for _, tt := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"right", Spec{URL: s.URL, SHA256: sha, MD5: sum}, nil},
		{"wrong SHA-256", Spec{URL: s.URL, SHA256: wrong}, []string{sha, wrong, "SHA-256"}},
		{"wrong MD5", Spec{URL: s.URL, MD5: wrong[:32]}, []string{sum, wrong[:32], "MD5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := quick().Fetch(t.Context(), Request{Spec: tt.spec, Store: memory.New()})
			if (err == nil) != (tt.want == nil) || errors.Is(err, ErrMismatch) == (tt.want == nil) {
				t.Fatalf("got %+v, %v", data, err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error %q lacks %q", err, w)
				}
			}
		})
	}
}

// TestHTTPResumesLater kills a fetch and continues with it in another one.
func TestHTTPResumesLater(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*server, *Spec)
		faults []fault
		asked  []string
	}{
		{"by etag", func(*server, *Spec) {}, nil, []string{"bytes=0-0", "bytes=0-599999", "bytes=0-0", "bytes=400000-599999"}},
		{"by pin", func(s *server, spec *Spec) {
			s.etag = ""
			spec.SHA256, _ = s.pins()
		}, nil, []string{"bytes=0-0", "bytes=0-599999", "bytes=0-0", "bytes=400000-599999"}},
		{"by nothing", func(s *server, _ *Spec) { s.etag = "" }, nil, []string{"bytes=0-0", "bytes=0-0", "", "bytes=0-0", "bytes=0-0", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, 600_000)
			spec := s.spec()
			tt.change(s, &spec)
			store := memory.New()
			ctx, cancel := context.WithCancelCause(t.Context())
			killed := errors.New("killed")
			s.faults = []fault{nil, nil, nil}
			first := 1
			if tt.name == "by nothing" {
				first = 2
			}
			s.faults[first] = func(w http.ResponseWriter, r *http.Request, s *server) {
				hang(400_000)(w, r, s, func() { cancel(killed) })
			}
			_, err := quick().Fetch(ctx, Request{Spec: spec, Store: store})
			if !errors.Is(err, killed) {
				t.Fatalf("got %v, want the kill", err)
			}
			data, err := quick().Fetch(t.Context(), Request{Spec: spec, Store: store})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(read(t, store, data.Ref), s.content) {
				t.Error("the bytes are not those of the server")
			}
			if diff := cmp.Diff(tt.asked, s.asked); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHTTPMixedPieces continues with a pinned file whose first piece is of
// another version.
func TestHTTPMixedPieces(t *testing.T) {
	s := newServer(t, 600_000)
	s.etag = ""
	spec := s.spec()
	spec.SHA256, _ = s.pins()
	store := memory.New()
	f := newTransfer(quick().settings, quick().origin(spec), Request{Spec: spec, Store: store}, "")
	in, err := store.Ingest(t.Context(), f.key())
	if err != nil {
		t.Fatal(err)
	}
	in.Write([]byte(strings.Repeat("old version ", 10)))
	in.Close()
	data, err := quick().Fetch(t.Context(), Request{Spec: spec, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, store, data.Ref), s.content) {
		t.Error("the bytes are not those of the server")
	}
	if diff := cmp.Diff([]string{"bytes=0-0", "bytes=120-599999", ""}, s.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestHTTPStall(t *testing.T) {
	s := newServer(t, 1000)
	s.faults = []fault{nil, func(w http.ResponseWriter, r *http.Request, s *server) { hang(10)(w, r, s, nil) }}
	store := memory.New()
	impatient := quick()
	impatient.window = 200 * time.Millisecond
	data, err := impatient.Fetch(t.Context(), Request{Spec: s.spec(), Store: store})
	if err != nil || !bytes.Equal(read(t, store, data.Ref), s.content) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"bytes=0-0", "bytes=0-999", "bytes=10-999"}, s.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestHTTPNames(t *testing.T) {
	s := newServer(t, 10)
	for _, tt := range []struct{ path, disposition, want string }{
		{"/a/b.zip", "", "b.zip"},
		{"/a/b.zip", `attachment; filename="real.tar.gz"`, "real.tar.gz"},
		{"/a", `attachment; filename="../../etc/passwd"`, "passwd"},
		{"/a", `attachment; filename="..\\x.zip"`, "x.zip"},
		{"/", "", "data"},
	} {
		s.asked = nil
		s.faults = []fault{func(w http.ResponseWriter, r *http.Request, s *server) {
			w.Header().Set("Content-Disposition", tt.disposition)
			s.good(w, r)
		}}
		data, err := quick().Fetch(t.Context(), Request{Spec: Spec{URL: s.URL + tt.path}, Store: memory.New()})
		if err != nil || data.Name != tt.want {
			t.Errorf("%s %q: got %q, %v, want %q", tt.path, tt.disposition, data.Name, err, tt.want)
		}
	}
}

func TestHTTPCheckAndKey(t *testing.T) {
	for _, bad := range []string{"", "data.zip", "ftp://x/y", "http://", "file:///etc/passwd"} {
		if quick().Check(Spec{URL: bad}) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	key := func(spec Spec) string {
		h := digest.NewHasher("test", "1")
		if err := quick().Fingerprint(spec, h); err != nil {
			t.Fatal(err)
		}
		return h.Sum().String()
	}
	if key(Spec{URL: "http://a/x"}) == key(Spec{URL: "http://a/y"}) {
		t.Error("two addresses have one key")
	}
	if key(Spec{URL: "http://a/x", MD5: "1"}) != key(Spec{URL: "http://b/y", MD5: "1"}) {
		t.Error("a pinned file's key depends on where it is fetched from")
	}
	h := digest.NewHasher("test", "1")
	quick().Fingerprint(Spec{URL: "http://user:secret@a/x"}, h)
	if strings.Contains(fmt.Sprint(h.Fields()), "secret") {
		t.Error("a password is kept in the key's fields")
	}
}
