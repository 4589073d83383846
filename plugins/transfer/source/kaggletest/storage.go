package kaggletest

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the storage's own checksum
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// Object is one version of an archive.
type Object struct {
	Data []byte
	// ETag is sent as it is; "" sends none.
	ETag string
	// Modified is sent unless it is zero.
	Modified time.Time
	// MD5 makes the storage send the MD5 of the data.
	MD5 bool
	// NoRanges makes the storage ignore ranges.
	NoRanges bool
	// Rate, if not 0, is how many bytes a second one answer sends.
	Rate int
	sum  string // base64
}

// sealed returns the object with its checksum.
func (o Object) sealed() Object {
	sum := md5.Sum(o.Data) //nolint:gosec // the storage's own checksum
	o.sum = base64.StdEncoding.EncodeToString(sum[:])
	return o
}

// Bytes returns size bytes that depend only on the seed and have no period.
func Bytes(seed uint64, size int) []byte {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(data)
	return data
}

// NewObject returns an object as Google's storage has it.
func NewObject(seed uint64, size int) Object {
	return Object{
		Data: Bytes(seed, size), ETag: fmt.Sprintf(`"%032x"`, seed), MD5: true,
		Modified: time.Date(2020, 1, 1, 0, 0, int(seed%50), 0, time.UTC),
	}
}

// replace replaces the current version with another.
func (s *Server) replace(c *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.version++
	next := NewObject(uint64(len(c.Archive.Data))+uint64(c.version)<<32, len(c.Archive.Data)+c.version%3-1+boolInt(len(c.Archive.Data) == 0))
	old := c.Archive
	if old.ETag == "" || old.ETag[0] == 'W' {
		next.ETag = old.ETag
	}
	if old.Modified.IsZero() {
		next.Modified = time.Time{}
	} else {
		next.Modified = old.Modified.Add(time.Hour)
	}
	next.MD5, next.NoRanges, next.Rate = old.MD5, old.NoRanges, old.Rate
	c.Archive = next.sealed()
	// Whatever was sent of the previous version is now useless.
	s.stats.Useless.Add(s.stats.Sent.Swap(0))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Server) serveStorage(w http.ResponseWriter, r *http.Request) {
	s.stats.Requests.Add(1)
	if r.Header.Get("Authorization") != "" {
		s.stats.Leaks.Add(1)
	}
	f := s.call(r, false)
	if f.early(w) {
		return
	}
	c := s.archiveOf(r.URL.Path)
	if c == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch f.Kind {
	case Expire:
		s.expire()
	case Replace:
		s.replace(c)
	}
	if !s.checks(r) {
		w.WriteHeader([]int{http.StatusForbidden, http.StatusBadRequest}[f.At%2])
		fmt.Fprint(w, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
		return
	}
	s.mu.Lock()
	o, version := c.Archive, c.version
	s.mu.Unlock()
	s.serveObject(w, r, o, f, func(n int, useful bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if useful && c.version == version {
			s.stats.Sent.Add(int64(n))
		} else {
			s.stats.Useless.Add(int64(n))
		}
	})
}

// serveObject answers, with the fault if there is one.
func (s *Server) serveObject(w http.ResponseWriter, r *http.Request, o Object, f Fault, count func(n int, useful bool)) {
	asked := r.Header.Get("Range")
	if f.Kind == Whole && (asked == "" || asked == "bytes=0-0") {
		f = Fault{} // a client may be able to use it
	}
	if f.Kind == Whole || o.NoRanges {
		r.Header.Del("Range")
	}
	if f.Kind == Another {
		r.Header.Set("Range", "bytes=1-")
		r.Header.Del("If-Range")
	}
	rec := o.answer(r)
	body := rec.Body.Bytes()
	if rec.Code != http.StatusOK && rec.Code != http.StatusPartialContent || f.Kind == Flip && len(body) == 0 { // there is no body in which to inject the fault
		f = Fault{}
	}
	useful := !f.useless(rec.Code == http.StatusPartialContent, o)
	header := w.Header()
	maps.Copy(header, rec.Header())
	if v := r.URL.Query().Get("response-content-disposition"); v != "" {
		header.Set("Content-Disposition", v)
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	body, ending := f.spoil(header, body)
	w.WriteHeader(rec.Code)
	if header.Get("Content-Length") == "" {
		flush(w) // otherwise net/http computes the length of a short body itself
	}
	send(w, r, body, o.Rate, func(n int) { count(n, useful) })
	ending(w, r)
}

// useless reports whether no client may use the body of the answer.
func (f Fault) useless(part bool, o Object) bool {
	switch f.Kind {
	case Whole, Another, Encoded, Longer:
		return true
	case WrongLength, WrongTotal:
		return part
	case Anonymous:
		return part && strings.HasPrefix(o.ETag, `"`)
	}
	return false
}

// answer is the answer without faults.
func (o Object) answer(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	if o.ETag != "" {
		rec.Header().Set("ETag", o.ETag)
	}
	if o.MD5 {
		rec.Header().Set("X-Goog-Hash", "crc32c=AAAAAA==,md5="+o.sum)
	}
	rec.Header().Set("Content-Type", "application/zip")
	http.ServeContent(rec, r, "archive.zip", o.Modified, bytes.NewReader(o.Data))
	if o.NoRanges {
		rec.Header().Del("Accept-Ranges")
	}
	return rec
}

// spoil changes an answer, and returns its body and how it ends.
func (f Fault) spoil(h http.Header, body []byte) ([]byte, func(http.ResponseWriter, *http.Request)) {
	ending := func(http.ResponseWriter, *http.Request) {}
	at := len(body) * f.At / 1000
	switch f.Kind {
	case Reset:
		return body[:at], func(w http.ResponseWriter, _ *http.Request) { flush(w); hangUp(w) }
	case Drip:
		return body[:at], func(w http.ResponseWriter, r *http.Request) { flush(w); <-r.Context().Done() }
	case Truncate:
		h.Del("Content-Length")
		return body[:at], ending
	case Longer:
		h.Del("Content-Length")
		return append(bytes.Clone(body), "more than that"...), ending
	case WrongLength:
		if h.Get("Content-Range") != "" && len(body) > 1 {
			h.Set("Content-Length", strconv.Itoa(len(body)-1))
			return body[:len(body)-1], ending
		}
		h.Set("Content-Length", strconv.Itoa(len(body)+1))
		return body, func(w http.ResponseWriter, _ *http.Request) { flush(w); hangUp(w) }
	case WrongTotal:
		var first, last, total int
		if n, _ := fmt.Sscanf(h.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &total); n == 3 {
			h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total+7))
		}
	case Encoded:
		h.Set("Content-Encoding", "gzip")
	case Flip:
		body = bytes.Clone(body)
		body[at] ^= 1
	case Anonymous:
		for _, name := range []string{"ETag", "Last-Modified", "X-Goog-Hash"} {
			h.Del(name)
		}
	}
	return body, ending
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// send writes a body in pieces, so that the counted bytes are close to those
// sent.
func send(w http.ResponseWriter, r *http.Request, body []byte, rate int, count func(n int)) {
	const piece = 16 << 10
	for len(body) > 0 {
		n, err := w.Write(body[:min(piece, len(body))])
		count(n)
		if err != nil || r.Context().Err() != nil {
			return
		}
		body = body[n:]
		if rate > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
		}
	}
}
