package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// fake serves answers as the server of this user, and returns its socket.
func fake(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go s.Serve(l) //nolint:errcheck // it is closed
	t.Cleanup(func() { s.Close() })
	return socket
}

// honest answers the first questions as a server of this machine does, and the rest by next.
func honest(t *testing.T, next http.HandlerFunc) http.HandlerFunc {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	kernel := unix.ByteSliceToString(u.Release[:])
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/version"):
			fmt.Fprint(w, `{"Version":"20.10.24"}`)
		case strings.HasSuffix(r.URL.Path, "/info"):
			fmt.Fprintf(w, `{"KernelVersion":%q,"CgroupVersion":"1","MemoryLimit":true}`, kernel)
		default:
			next(w, r)
		}
	}
}

// TestHostileServer connects to servers that are none of Docker's, are of another machine,
// or say what no terminal should show.
func TestHostileServer(t *testing.T) {
	endless := func(w http.ResponseWriter) {
		block := bytes.Repeat([]byte(" "), 1<<20)
		for range 64 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"something else": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, "version"},
		"an error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "\x1b[2Jgone\x00", http.StatusInternalServerError)
		}, "version"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "version"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "version"},
		"another kernel": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"KernelVersion":"6.6.12-linuxkit\u001b[2J"}`)
		}, "another machine"},
		"Docker Desktop": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"KernelVersion":"6.6.12-linuxkit","OperatingSystem":"Docker Desktop"}`)
		}, "virtual machine of Docker Desktop"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), fake(t, tt.answer), "the test")
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\x1b\x00") || len(err.Error()) > 2000 {
				t.Errorf("got %.3000q", fmt.Sprint(err))
			}
		})
	}
}

// TestSlowServer sees that a server that never answers does not hold mleflow.
func TestSlowServer(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	socket := fake(t, func(http.ResponseWriter, *http.Request) { <-over })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := Open(ctx, socket, "the test"); err == nil || time.Since(began) > probeTimeout {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
}

// TestHostileAnswers uses a server that answers honestly at first.
func TestHostileAnswers(t *testing.T) {
	var asked []string
	answer := ""
	e := New(Options{Options: sandbox.Options{Dir: t.TempDir()}, Socket: fake(t, honest(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		_, _ = io.WriteString(w, answer)
	}))})
	s, err := e.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("containers of others", func(t *testing.T) {
		asked = nil
		const run = "0123456789abcdef01234567"
		answer = `[{"Id":"` + strings.Repeat("a", 64) + `","Names":["/mleflow-` + run + `-x"],"Labels":{"mleflow.run":"forged/` + run + `"}},
{"Id":"../../images/x","Labels":{"mleflow.run":"` + e.token + "/" + run + `"}},{"Id":"` + strings.Repeat("b", 64) + `","Labels":{"mleflow.run":"` + e.token + `/../../x"}},null]`
		if runs, err := e.Runs(t.Context()); err != nil || len(runs) > 0 {
			t.Errorf("runs %q, %v", runs, err)
		}
		if err := e.Remove(t.Context(), run); err != nil {
			t.Error(err)
		}
		if text := fmt.Sprint(asked); strings.Contains(text, "DELETE") {
			t.Errorf("somebody's container is removed: %s", text)
		}
	})
	t.Run("identifier", func(t *testing.T) {
		answer = `{"Id":"../x"}`
		if id, err := s.create(t.Context(), "mleflow-x", &container.Config{Image: "x"}, nil); err == nil || !strings.Contains(err.Error(), "no identifier") {
			t.Errorf("got %q", id)
		}
		answer = `{"Id":"sha256:../../containers"}`
		if found, err := s.inspect(t.Context(), "debian"); err == nil {
			t.Errorf("got %q", found.ID)
		}
	})
	t.Run("names", func(t *testing.T) {
		asked, answer = nil, `{"Id":"sha256:`+strings.Repeat("c", 64)+`"}`
		for _, name := range []string{"../containers/x", "a/../../b", "a?x=1", "a#b", "a\nb", "A/B", "", " ", "-rf", "a%2f..", strings.Repeat("a/", 200)} {
			if _, err := s.stored(t.Context(), image.Ref{Kind: image.LocalRef, Name: name}); err == nil {
				t.Errorf("%q is taken for an image; asked %q", name, asked)
			}
		}
		if len(asked) > 0 {
			t.Errorf("asked %q", asked)
		}
	})
	t.Run("another digest", func(t *testing.T) {
		answer = `{"Id":"sha256:` + strings.Repeat("c", 64) + `","RepoDigests":["a@sha256:` + strings.Repeat("d", 64) + `"]}`
		ref, err := image.ParseRef("local:a@sha256:" + strings.Repeat("e", 64))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.stored(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "asked for") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a load that fails", func(t *testing.T) {
		if err := said(strings.NewReader(`{"stream":"x"}` + "\n" + `{"error":"bad \u001b[2J"}`)); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("got %q", fmt.Sprint(err))
		}
		if err := said(strings.NewReader("garbage")); err == nil {
			t.Error("garbage is taken for success")
		}
	})
}
