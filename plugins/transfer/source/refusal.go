package source

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cache/leaf/retry"
)

// statusError is an answer without the data.
type statusError struct {
	code int
	text string // ours, since the server's own could contain anything
	// elsewhere says that the answer came from the target of a redirect.
	elsewhere bool
	// words is the server's own message, or empty.
	words string
}

// Error implements error.
func (e *statusError) Error() string {
	if e.elsewhere {
		return "the storage that the server redirects to answers " + e.text
	}
	if e.words != "" {
		return fmt.Sprintf("the server answers %s, %q", e.text, e.words)
	}
	return "the server answers " + e.text
}

// statusText describes a status.
func statusText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// cut returns the beginning of a server's message.
func cut(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}

// refusal explains an answer without the data.
func (o *origin) refusal(resp *http.Response) error {
	status := &statusError{code: resp.StatusCode, text: statusText(resp.StatusCode), elsewhere: !sameHost(resp.Request.URL.String(), o.url)}
	if o.tell != nil && !status.elsewhere {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<10))
		status.words = cut(o.mask().Mask(o.tell(body)))
	}
	var err error = status
	// A success that was not requested, such as a part, is a temporary fault.
	passes := resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented || resp.StatusCode < 400
	busy := []int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}
	passes = passes || slices.Contains(busy, resp.StatusCode)
	switch {
	case passes, status.elsewhere && expired(resp.StatusCode):
		// A refused signature may be accepted once it is renewed.
		after, _ := retry.Asked(resp.Header)
		return laterError(err, after, !passes)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: it requires a login: %w", err, ErrCredential)
	case resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: this account or address has no access; rules may have to be accepted first", err)
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: there is no such file; check the URL: %w", err, ErrGone)
	}
	return err
}

// laterError is a TemporaryError with the time that the server asks for, unless
// that is too long.
func laterError(err error, after time.Duration, brief bool) error {
	if after > 0 {
		until := time.Now().Add(after).Format("2006-01-02 15:04:05 MST")
		err = fmt.Errorf("%w and asks to wait %v, until %s", err, after.Round(time.Second), until)
	}
	if after > longestRetry {
		return fmt.Errorf("%w; run it again then", err)
	}
	return &TemporaryError{Err: err, After: after, brief: brief}
}

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
	return err == nil && slices.Contains([]string{".html", ".htm", ".xhtml"}, strings.ToLower(path.Ext(u.Path)))
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
func (t *transfer) firstPage(ctx context.Context, a *answer) error {
	if !saysPage(a.Response) || wantsPage(t.origin.url) {
		return nil
	}
	head, err := a.begin(ctx)
	if e := pageOf(head); e != nil {
		return e
	}
	return err
}

// faultOf classifies a request that got no answer: an error for which retrying
// is useless, or a TemporaryError.
func faultOf(err error) error {
	var inside *internalError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var alert tls.AlertError
	var name *net.DNSError
	err = redactError(err)
	switch {
	case errors.As(err, &inside):
		return inside
	case errors.As(err, &certificate):
		return fmt.Errorf("the server's certificate is not accepted: %w", err)
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the server does not use TLS at this address; try http:// or another port: %w", err)
	case errors.As(err, &alert) && alert != internalAlert:
		return fmt.Errorf("the server refuses the TLS connection: %w", err)
	case errors.Is(err, errProxy):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return &TemporaryError{Err: fmt.Errorf("check the address: %w", err), brief: true}
	}
	return &TemporaryError{Err: err}
}

// internalAlert is the TLS alert by which a server says that the error is its
// own (RFC 8446, 6.2).
const internalAlert = tls.AlertError(80)
