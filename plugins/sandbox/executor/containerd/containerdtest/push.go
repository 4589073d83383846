package containerdtest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Push pushes the layout's image to a registry and returns its pinned name.
func Push(t testing.TB, dir, digest string) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/agents/test"
	base := server.URL + "/v2/agents/test/"
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range blobs {
		d := "sha256:" + filepath.Base(blob)
		if d == digest {
			send(t, http.MethodPut, base+"manifests/1", blob, "application/vnd.oci.image.manifest.v1+json")
			continue
		}
		send(t, http.MethodPost, base+"blobs/uploads/?digest="+d, blob, "application/octet-stream")
	}
	return repository + "@" + digest
}

func send(t testing.TB, method, url, file, kind string) {
	t.Helper()
	body, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s: %s", method, url, resp.Status)
	}
}
