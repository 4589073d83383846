package source

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// version identifies one content of a URL.
type version struct {
	etag string // strong, or empty
	// modified is when the content was last changed, if that is long enough ago to
	// identify it (RFC 9110, 8.8.2.2); otherwise empty.
	modified string
	total    int64 // -1 when unknown
	// md5 is the MD5 of the content according to the server, in hexadecimal, or
	// empty.
	md5  string
	name string
	// ranges says that the server supports ranges, or claims to.
	ranges bool
}

// strong says that the server promises byte equality for the version.
func (v version) strong() bool { return v.etag != "" || v.modified != "" && v.total >= 0 }

// id identifies the version as far as the server does.
func (v version) id() string {
	switch {
	case v.etag != "":
		return "etag " + v.etag
	case v.strong():
		return fmt.Sprintf("modified %s, %d bytes", v.modified, v.total)
	case v.md5 != "" && v.total >= 0:
		return fmt.Sprintf("md5 %s, %d bytes", v.md5, v.total)
	}
	return ""
}

// changed reports whether w identifies itself as a version other than v.
func (v version) changed(w version) bool {
	other := func(a, b string) bool { return a != "" && b != "" && a != b }
	if v.etag != "" && w.etag != "" {
		return v.etag != w.etag
	}
	return v.etag == "" && other(v.modified, w.modified) || other(v.md5, w.md5)
}

// contradicts reports whether w cannot be an answer for v, whatever it is
// called.
func (v version) contradicts(w version) bool {
	return v.md5 != "" && w.md5 != "" && v.md5 != w.md5 || v.total >= 0 && w.total >= 0 && v.total != w.total
}

// longAgo is how much older than its answer a change must be for its time to
// identify a version, since it has no fractions of a second.
const longAgo = time.Minute

// versionOf reads the version of a file from the headers of an answer.
func versionOf(resp *http.Response) version {
	v := version{total: resp.ContentLength, name: nameOf(resp), md5: md5Header(resp.Header)}
	v.ranges = strings.EqualFold(resp.Header.Get("Accept-Ranges"), "bytes")
	if resp.StatusCode == http.StatusPartialContent {
		v.total = -1
		if span, err := parseSpan(resp.Header.Get("Content-Range")); err == nil {
			v.total, v.ranges = span.total, true
		}
	}
	if etag := resp.Header.Get("ETag"); strings.HasPrefix(etag, `"`) {
		v.etag = etag
	}
	modified, err := http.ParseTime(resp.Header.Get("Last-Modified"))
	date, err2 := http.ParseTime(resp.Header.Get("Date"))
	if err == nil && err2 == nil && date.Sub(modified) >= longAgo {
		v.modified = resp.Header.Get("Last-Modified")
	}
	return v
}

// nameOf is the name by which an answer identifies its version.
func nameOf(resp *http.Response) string {
	name := path.Base(resp.Request.URL.Path)
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		name = path.Base(path.Clean("/" + strings.ReplaceAll(params["filename"], `\`, "/")))
	}
	if name == "/" || name == "." {
		return "data"
	}
	return name
}

// md5Header reads the MD5 that Google's and compatible storages send with a
// file: X-Goog-Hash: crc32c=n03x6A==,md5=Ojk9c3dhfxgoKVVHYwFbHQ==
func md5Header(h http.Header) string {
	if e := h.Get("X-Goog-Stored-Content-Encoding"); e != "" && e != "identity" {
		return "" // it covers the bytes as stored
	}
	for _, value := range h.Values("X-Goog-Hash") {
		for part := range strings.SplitSeq(value, ",") {
			text, ok := strings.CutPrefix(strings.TrimSpace(part), "md5=")
			sum, err := base64.StdEncoding.DecodeString(text)
			if ok && err == nil && len(sum) == 16 {
				return hex.EncodeToString(sum)
			}
		}
	}
	return ""
}

// span is a range of bytes of a file.
type span struct {
	first, last int64
	total       int64 // -1 when unknown
}

func (s span) size() int64 { return s.last - s.first + 1 }

// parseSpan reads a Content-Range.
func parseSpan(text string) (span, error) {
	var s span
	part, whole, ok := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, last, ok2 := strings.Cut(part, "-")
	var errs [3]error
	s.first, errs[0] = number(first)
	s.last, errs[1] = number(last)
	if s.total = -1; whole != "*" {
		s.total, errs[2] = number(whole)
	}
	if !strings.HasPrefix(text, "bytes ") || !ok || !ok2 || errors.Join(errs[:]...) != nil ||
		s.last < s.first || s.total >= 0 && s.last >= s.total {
		return span{}, errors.New("the server's Content-Range is not a part of the file")
	}
	return s, nil
}

// number reads digits only.
func number(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err //nolint:gosec // 63 bits
}

// errChanged says that the file is no longer the version that was started.
var errChanged = errors.New("the file changed during the download")

// encoded returns an error for a body with a content encoding. A second request
// helps only if a proxy or one of several servers encodes.
func encoded(resp *http.Response) error {
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		err := fmt.Errorf("the server sends the file in Content-Encoding %q, although the request asks for identity; turn that off there, or use another address", cut(e))
		return &TemporaryError{Err: err, brief: true, later: true}
	}
	return nil
}

// part checks that an answer is a part of the version that begins at first and
// ends at end or earlier, and returns its size.
func (v version) part(resp *http.Response, first, end int64) (int64, error) {
	if err := encoded(resp); err != nil {
		return 0, err
	}
	s, err := parseSpan(resp.Header.Get("Content-Range"))
	if err != nil {
		return 0, &TemporaryError{Err: err}
	}
	w := versionOf(resp)
	switch {
	case v.changed(w):
		return 0, errChanged
	case v.contradicts(w):
		return 0, &TemporaryError{Err: errors.New("the answer contradicts earlier answers of the server")}
	case v.etag != "" && w.etag == "":
		return 0, &TemporaryError{Err: errors.New("the answer does not identify its version")}
	case s.first != first || s.last >= end:
		return 0, &TemporaryError{Err: errors.New("the server sent a different part than the requested one")}
	case resp.ContentLength >= 0 && resp.ContentLength != s.size():
		return 0, &TemporaryError{Err: fmt.Errorf("the answer has %d bytes for a part of %d", resp.ContentLength, s.size())}
	}
	return s.size(), nil
}
