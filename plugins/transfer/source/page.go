package source

import (
	"bytes"
	"context"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/plain"
)

// pageError is a web page where data were expected.
type pageError struct {
	title string
	// login says that it is a login page.
	login bool
}

// Error implements error.
func (e *pageError) Error() string {
	text := "the server returned a web page instead of the file"
	if e.title != "" {
		text += `, "` + e.title + `"`
	}
	if e.login {
		return text + "; this is a login page: the URL requires a credential, or is not the download URL"
	}
	return text + "; open the URL in a browser to see why"
}

// Is makes a login page an ErrCredential.
func (e *pageError) Is(target error) bool { return e.login && target == ErrCredential }

// mostPage is how much of a page is read.
const mostPage = 16 << 10

var titleTag = pattern.New(`(?is)<title[^>]*>(.*?)</title`)

// pageOf returns the error if a body begins like a web page, or nil.
func pageOf(head []byte) *pageError {
	if !strings.HasPrefix(http.DetectContentType(head), "text/html") {
		return nil
	}
	e := &pageError{}
	if m := titleTag.Regexp().FindSubmatch(head); m != nil {
		e.title = strings.Join(strings.Fields(plain.Line(html.UnescapeString(string(m[1])))), " ")
	}
	low := bytes.ToLower(head)
	signs := []string{`type="password"`, "type='password'", "type=password", "sign in", "sign-in", "signin", "log in", "login"}
	e.login = slices.ContainsFunc(signs, func(sign string) bool { return bytes.Contains(low, []byte(sign)) })
	return e
}

// wantsPage reports whether a URL names a web page.
func wantsPage(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".html", ".htm", ".xhtml":
		return true
	}
	return false
}

// saysPage reports whether an answer is declared to be a web page.
func saysPage(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/html" || kind == "application/xhtml+xml"
}

// page rejects a file that is a web page, unless one was requested.
func (t *transfer) page(s *sink) error {
	if wantsPage(t.origin.url) {
		return nil
	}
	head := make([]byte, min(mostPage, s.offset()))
	if _, err := s.in.ReadAt(head, 0); err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt's own
		return err
	}
	if e := pageOf(head); e != nil {
		return e
	}
	return nil
}

// firstPage rejects an answer that is declared to be a web page and begins like
// one, before it is fetched.
func (t *transfer) firstPage(ctx context.Context, resp *http.Response, f *flow) error {
	if !saysPage(resp) || wantsPage(t.origin.url) {
		return nil
	}
	head, err := f.begin(ctx)
	if e := pageOf(head); e != nil {
		return e
	}
	return err
}
