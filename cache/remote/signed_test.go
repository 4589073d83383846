package remote

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// TestSignatures stores and fetches with and without TLS. An object goes up in one
// request without TLS, signed with the digest that is its name; what is hashed
// for its signature alone is not hashed over TLS.
func TestSignatures(t *testing.T) {
	s := s3test.Start(t)
	front := s3test.StartProxy(t, s.Addr, 1)
	dir := twoParts(t)
	if err := os.WriteFile(filepath.Join(dir, "large"), noise(1, partBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			named, unsigned := 0, 0
			server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				switch sum := r.Header.Get("X-Amz-Content-Sha256"); {
				case r.Method != http.MethodPut:
				case sum == "UNSIGNED-PAYLOAD":
					unsigned++
				case sum == path.Base(r.URL.Path):
					named++
				}
				mu.Unlock()
				front.ServeHTTP(w, r)
			}))
			defer server.Close()
			if cert := server.Certificate(); cert != nil {
				file := filepath.Join(t.TempDir(), "cert.pem")
				if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Setenv("SSL_CERT_FILE", file)
			}
			address := strings.Replace(s3test.Address(server.Listener.Addr().String(), name), "http%3A", name+"%3A", 1)
			a, b := newMachine(t, address, quick), newMachine(t, address, quick)
			rec := a.made("a", dir, []byte("text"))
			a.mustPush(rec)
			if b.take(rec.Action) == nil {
				t.Fatalf("a miss: %v", b.said())
			}
			b.wantTree(rec.Outputs["tree"].Ref, dir)
			if name == "http" && (named != 2 || unsigned != 0) {
				t.Errorf("%d objects were signed with their names, and %d requests were not signed; want 2 and 0", named, unsigned)
			}
			if name == "https" && (named != 1 || unsigned < 4) { // the parts of the pack and of the large object
				t.Errorf("%d objects were signed with their names, and %d requests were not signed; want 1 and at least 4", named, unsigned)
			}
		})
	}
}

// TestLocalDamageIsNotStored stores objects that are damaged on this machine: one that
// goes up as it is read, and one in a pack.
func TestLocalDamageIsNotStored(t *testing.T) {
	s := s3test.Start(t)
	for name, tt := range map[string]struct {
		size int
		key  string
	}{
		"large": {partBytes + 1, objectKey(digest.Of(noise(1, partBytes+1)))}, "packed": {1000, packsName + "/*/*"},
	} {
		m := newMachine(t, s3test.Address(s.Addr, name), quick)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), noise(1, tt.size), 0o644); err != nil {
			t.Fatal(err)
		}
		rec := m.made("a", dir, nil)
		damageLocal(t, m.putBlob(noise(1, tt.size)), m.disk.Dir())
		if err := m.Push(t.Context(), rec); !errors.Is(err, cache.ErrCorrupt) {
			t.Errorf("%s: Push: %v, want cache.ErrCorrupt", name, err)
		}
		for _, what := range []string{tt.key, closuresName + "/*/*", actionsName + "/*/*"} {
			if files := s.Files(t, name+"/"+what); len(files) > 0 {
				t.Errorf("%s: stored %v", name, files)
			}
		}
	}
}

// damageLocal changes the last byte of an object but not the object's times, as a bad disk does.
func damageLocal(t *testing.T, ref cache.Ref, dir string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(objectKey(ref.ID)))
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, data, 0o644), os.Chmod(file, 0o444), os.Chtimes(file, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}
