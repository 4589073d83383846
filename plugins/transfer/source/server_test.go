package source

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
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
	mu      sync.Mutex
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
	s.mu.Lock()
	n := len(s.asked)
	s.asked = append(s.asked, r.Header.Get("Range"))
	s.mu.Unlock()
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
	if s.noRange {
		w = noRanges{w}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.content))
}

// noRanges does not tell of ranges.
type noRanges struct{ http.ResponseWriter }

func (w noRanges) WriteHeader(code int) {
	w.Header().Del("Accept-Ranges")
	w.ResponseWriter.WriteHeader(code)
}

// cutAt serves as many bytes as n from where it was asked, then drops the
// connection.
func cutAt(n int) func(http.ResponseWriter, *http.Request, *server) {
	return func(w http.ResponseWriter, r *http.Request, s *server) {
		rec := httptest.NewRecorder()
		s.good(rec, r)
		maps.Copy(w.Header(), rec.Header())
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

// recorded is the good answer.
func recorded(r *http.Request, s *server) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	s.good(rec, r)
	return rec
}

// answerWith sends an answer with a changed header and body.
func answerWith(w http.ResponseWriter, rec *httptest.ResponseRecorder, body []byte, header ...string) {
	maps.Copy(w.Header(), rec.Header())
	for i := 0; i+1 < len(header); i += 2 {
		w.Header().Del(header[i])
		if header[i+1] != "" {
			w.Header().Set(header[i], header[i+1])
		}
	}
	w.WriteHeader(rec.Code)
	w.Write(body)
}

// hang sends n bytes of what was asked for and no more, and then calls sent.
func hang(n int) func(http.ResponseWriter, *http.Request, *server, func()) {
	return func(w http.ResponseWriter, r *http.Request, s *server, sent func()) {
		rec := recorded(r, s)
		answerWith(w, rec, rec.Body.Bytes()[:n], "Content-Length", strconv.Itoa(rec.Body.Len()))
		w.(http.Flusher).Flush()
		if sent != nil {
			time.AfterFunc(100*time.Millisecond, sent)
		}
		<-r.Context().Done()
	}
}

// whole ignores the range.
func whole(w http.ResponseWriter, r *http.Request, s *server) {
	r.Header.Del("Range")
	s.good(w, r)
}

// encode says that the body is compressed.
func encode(w http.ResponseWriter, r *http.Request, s *server) {
	rec := recorded(r, s)
	answerWith(w, rec, rec.Body.Bytes(), "Content-Encoding", "gzip")
}

// longer sends more than it says, without a length.
func longer(w http.ResponseWriter, r *http.Request, s *server) {
	rec := recorded(r, s)
	w.Header().Set("Transfer-Encoding", "chunked")
	answerWith(w, rec, append(rec.Body.Bytes(), "more"...), "Content-Length", "")
}

// shorter gives n bytes of what was asked for, and says so.
func shorter(n int) func(http.ResponseWriter, *http.Request, *server) {
	return func(w http.ResponseWriter, r *http.Request, s *server) {
		var first int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &first)
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, first+n-1))
		s.good(w, r)
	}
}

// anonymous leaves out what names the version.
func anonymous(w http.ResponseWriter, r *http.Request, s *server) {
	rec := recorded(r, s)
	answerWith(w, rec, rec.Body.Bytes(), "ETag", "")
}

// lie gives another part than was asked for.
func lie(w http.ResponseWriter, r *http.Request, s *server) {
	r.Header.Set("Range", "bytes=1-")
	s.good(w, r)
}
