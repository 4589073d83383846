package source

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/memory"
)

// kaggleStandIn is a server with the documented behaviour of Kaggle's API: it
// wants a credential, answers a download with a redirect to another host, and
// that one serves the file with an ETag, cutting the first answer short.
type kaggleStandIn struct {
	t      *testing.T
	source *Kaggle
	env    map[string]string
	// want is the credential the API accepts.
	want string
	// status, if set, is what the API answers instead.
	status int
	calls  int
}

const kaggleArchive = "the bytes of a competition's archive"

func newKaggleStandIn(t *testing.T) *kaggleStandIn {
	s := &kaggleStandIn{t: t, env: map[string]string{"HOME": t.TempDir()}}
	storage := httptest.NewServer(http.HandlerFunc(s.store))
	t.Cleanup(storage.Close)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/api/v1/competitions/data/download-all/toy":
			w.WriteHeader(http.StatusNotFound)
		case r.Header.Get("Authorization") != s.want:
			w.WriteHeader(http.StatusUnauthorized)
		case s.status != 0:
			w.WriteHeader(s.status)
		default:
			// Another name of this machine: another host for the client.
			to := strings.Replace(storage.URL, "127.0.0.1", "localhost", 1)
			http.Redirect(w, r, to+"/bucket/toy.zip?signature=s3cret", http.StatusFound)
		}
	}))
	t.Cleanup(api.Close)
	h := NewHTTP(nil)
	h.wait = time.Millisecond
	s.source = NewKaggle(h)
	s.env["KAGGLE_API_ENDPOINT"] = api.URL
	s.source.env = func(name string) string { return s.env[name] }
	return s
}

func (s *kaggleStandIn) store(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		s.t.Error("the credential was sent to the storage host")
	}
	w.Header().Set("ETag", `"v1"`)
	s.calls++
	if s.calls == 2 { // cut off half-way
		w.Header().Set("Content-Range", "bytes 0-35/36")
		w.Header().Set("Content-Length", "36")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte(kaggleArchive[:10]))
		return
	}
	http.ServeContent(w, r, "toy.zip", time.Time{}, strings.NewReader(kaggleArchive))
}

func (s *kaggleStandIn) fetch() (Data, error) {
	return s.source.Fetch(s.t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New()})
}

func TestKaggleFetch(t *testing.T) {
	tests := []struct {
		name, want string
		prepare    func(t *testing.T, s *kaggleStandIn)
	}{
		{"token", "Bearer t0ken", func(_ *testing.T, s *kaggleStandIn) { s.env["KAGGLE_API_TOKEN"] = "t0ken" }},
		{"user and key", "Basic dXNlcjprZXk=", func(_ *testing.T, s *kaggleStandIn) {
			s.env["KAGGLE_USERNAME"], s.env["KAGGLE_KEY"] = "user", "key"
		}},
		{"kaggle.json", "Basic dXNlcjprZXk=", func(t *testing.T, s *kaggleStandIn) {
			writeCredential(t, filepath.Join(s.env["HOME"], ".kaggle", "kaggle.json"), `{"username":"user","key":"key"}`)
		}},
		{"token in a file", "Bearer t0ken", func(t *testing.T, s *kaggleStandIn) {
			s.env["KAGGLE_API_TOKEN"] = filepath.Join(t.TempDir(), "token")
			writeCredential(t, s.env["KAGGLE_API_TOKEN"], "t0ken\n")
		}},
		{"access_token.txt before kaggle.json", "Bearer t0ken", func(t *testing.T, s *kaggleStandIn) {
			writeCredential(t, filepath.Join(s.env["HOME"], ".kaggle", "access_token.txt"), " t0ken\r\n")
			writeCredential(t, filepath.Join(s.env["HOME"], ".kaggle", "kaggle.json"), `{"username":"user","key":"key"}`)
		}},
		{"access_token", "Bearer t0ken", func(t *testing.T, s *kaggleStandIn) {
			s.env["KAGGLE_CONFIG_DIR"] = t.TempDir()
			writeCredential(t, filepath.Join(s.env["KAGGLE_CONFIG_DIR"], "access_token"), "t0ken\n")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newKaggleStandIn(t)
			s.want = tt.want
			tt.prepare(t, s)
			data, err := s.fetch()
			if err != nil {
				t.Fatal(err)
			}
			if data.Name != "toy.zip" || data.Ref.Size != int64(len(kaggleArchive)) || s.calls != 3 {
				t.Errorf("%+v after %d calls", data, s.calls)
			}
		})
	}
}

func writeCredential(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKaggleRefusals(t *testing.T) {
	tests := []struct {
		name   string
		status int
		token  string
		want   string
	}{
		{"no credential", 0, "", "competitions/toy/data"},
		{"wrong credential", 0, "wr0ng", "Generate New Token"},
		{"rules", http.StatusForbidden, "t0ken", "competitions/toy/rules"},
		{"gone", http.StatusNotFound, "t0ken", "withdrawn"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newKaggleStandIn(t)
			s.want, s.status = "Bearer t0ken", tt.status
			s.env["KAGGLE_API_TOKEN"] = tt.token
			_, err := s.fetch()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			if tt.token != "" && strings.Contains(err.Error(), tt.token) {
				t.Errorf("the credential is in the error: %v", err)
			}
		})
	}
}

func TestKaggleBusy(t *testing.T) {
	s := newKaggleStandIn(t)
	s.want, s.status = "Bearer t0ken", http.StatusTooManyRequests
	s.env["KAGGLE_API_TOKEN"] = "t0ken"
	_, err := s.fetch()
	var passing *TemporaryError
	if !errors.As(err, &passing) {
		t.Errorf("got %v, want an error that may pass", err)
	}
}

func TestKaggleCheckAndCredentialFile(t *testing.T) {
	s := newKaggleStandIn(t)
	if s.source.Check(Spec{}) == nil {
		t.Error("a source without a slug is taken")
	}
	writeCredential(t, filepath.Join(s.env["HOME"], ".kaggle", "kaggle.json"), "not JSON, s3cret")
	if _, err := s.fetch(); err == nil || !strings.Contains(err.Error(), "username and key") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}
