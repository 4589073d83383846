package remote

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// frontEnd stands before a server as Google's does before Cloud Storage: it
// changes Accept-Encoding, and takes neither conditions on writes nor the newer
// checksums.
func frontEnd(t *testing.T, server string) (address string, refused *atomic.Int64) {
	t.Helper()
	refused = new(atomic.Int64)
	to := &url.URL{Scheme: "http", Host: server}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Accept-Encoding", "identity,gzip(gfe)")
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conditional := r.Method != http.MethodGet && r.Header.Get("If-None-Match") != ""
		chunked := strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") || strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING")
		if conditional || chunked || r.Header.Get("X-Amz-Sdk-Checksum-Algorithm") != "" {
			refused.Add(1)
			http.Error(w, "not known here", http.StatusBadRequest)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL, refused
}

// TestGoogle stores and fetches by an address of Google Cloud Storage.
func TestGoogle(t *testing.T) {
	s := s3test.Start(t)
	front, refused := frontEnd(t, s.Addr)
	address := "gs://bucket/team?region=us-east-1&endpoint=" + url.QueryEscape(front)
	a, b := newMachine(t, address, quick), newMachine(t, address, quick)
	dir := sample(t, 4, 60, 2)
	rec := a.made("a", dir, noise(3, 20<<20)) // in parts
	a.mustPush(rec)
	if b.take(rec.Action) == nil {
		t.Fatalf("a miss: %v", b.said())
	}
	b.wantTree(rec.Outputs["tree"].Ref, dir)
	if err := a.Desk().Create(t.Context(), "work/x", []byte("one")); err != nil {
		t.Errorf("create: %v", err)
	}
	if err := b.Desk().Create(t.Context(), "work/x", []byte("two")); err != ErrExists { //nolint:errorlint // as it promises
		t.Errorf("create again: %v, want ErrExists", err)
	}
	if refused.Load() > 0 {
		t.Errorf("%d requests were what Google refuses", refused.Load())
	}
}

// TestGoogleWithoutKeys says how to make them.
func TestGoogleWithoutKeys(t *testing.T) {
	for name := range s3test.Environ() {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	m := newMachine(t, "gs://bucket", quick)
	err := m.Push(t.Context(), m.made("a", sample(t, 1, 2, 0), nil))
	if err == nil || !strings.Contains(err.Error(), "gcloud storage hmac create") {
		t.Errorf("Push: %v", err)
	}
}
