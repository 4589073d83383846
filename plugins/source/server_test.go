package source

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// server is a web server with one file and a list of misbehaviours, one for
// each request in turn.
type server struct {
	*httptest.Server
	content []byte
	etag    string
	// noRange makes it give the whole file whatever is asked.
	noRange bool
	faults  []func(w http.ResponseWriter, r *http.Request, s *server)
	// asked are the Range headers of the requests.
	asked []string
}

func newServer(t *testing.T, size int) *server {
	s := &server{etag: `"v1"`, content: make([]byte, size)}
	for i := range s.content {
		s.content[i] = byte(i * 7 % 251)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	n := len(s.asked)
	s.asked = append(s.asked, r.Header.Get("Range"))
	if n < len(s.faults) && s.faults[n] != nil {
		s.faults[n](w, r, s)
		return
	}
	s.good(w, r)
}

func (s *server) good(w http.ResponseWriter, r *http.Request) {
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	if s.noRange {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

// cutAt serves as many bytes as n from where it was asked, then drops the
// connection.
func cutAt(n int) func(http.ResponseWriter, *http.Request, *server) {
	return func(w http.ResponseWriter, r *http.Request, s *server) {
		rec := httptest.NewRecorder()
		s.good(rec, r)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(rec.Body.Len()))
		w.WriteHeader(rec.Code)
		w.Write(rec.Body.Bytes()[:min(n, rec.Body.Len())])
		w.(http.Flusher).Flush()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}
}

func status(code int, header ...string) func(http.ResponseWriter, *http.Request, *server) {
	return func(w http.ResponseWriter, _ *http.Request, _ *server) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

// reset drops the connection without an answer.
func reset(w http.ResponseWriter, _ *http.Request, _ *server) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

// newVersion changes the file before it answers well.
func newVersion(w http.ResponseWriter, r *http.Request, s *server) {
	s.content = append([]byte("new version "), s.content...)
	s.etag = `"v2"`
	s.good(w, r)
}

// lie gives another part than was asked for.
func lie(w http.ResponseWriter, r *http.Request, s *server) {
	r.Header.Set("Range", "bytes=1-")
	s.good(w, r)
}
