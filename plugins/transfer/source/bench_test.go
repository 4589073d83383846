package source

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// benchBytes is the size of the file; set MLEFLOW_BENCH_MIB for another.
func benchBytes(b *testing.B) int {
	mib := 64
	if text := os.Getenv("MLEFLOW_BENCH_MIB"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		mib = n
	}
	return mib << 20
}

// BenchmarkDownload fetches a file over loopback into a cache on disk. "copy"
// is what there is to compare it with: one request, io.Copy into a file, with
// SHA-256 and MD5 on the way. The metric times-plain of the others is their rate by
// that of a copy in the same run. A full size: MLEFLOW_BENCH_MIB=4096 go test
// -run '^$' -bench Download -benchtime 3x ./plugins/transfer/source
func BenchmarkDownload(b *testing.B) {
	content := kaggletest.Bytes(1, benchBytes(b))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer srv.Close()
	var copied time.Duration
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			plainCopy(b, srv.URL)
		}
		copied = b.Elapsed() / time.Duration(b.N)
	})
	for _, connections := range []int{1, 8} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			c, err := disk.Open(b.TempDir(), disk.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			h := NewHTTP(nil, Connections(connections))
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				data, err := h.Fetch(context.Background(), Request{Spec: Spec{URL: srv.URL}, Store: c, Unpublished: true})
				if err != nil {
					b.Fatal(err)
				}
				if err := data.File.Drop(); err != nil {
					b.Fatal(err)
				}
			}
			if copied > 0 {
				b.ReportMetric(float64(copied)/(float64(b.Elapsed())/float64(b.N)), "times-plain")
			}
		})
	}
}

func plainCopy(b *testing.B, url string) {
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	resp, err := http.Get(url) //nolint:gosec // our own server
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.MultiWriter(f, sha256.New(), md5.New()), resp.Body); err != nil { //nolint:gosec // published pins are MD5
		b.Fatal(err)
	}
}
