package source

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// statusError is an answer that is no data.
type statusError struct {
	code int
	text string // ours, since the server's own could say anything
	// elsewhere says that it is not the origin that answered, but the place
	// it leads to.
	elsewhere bool
	// words are the server's own, or empty.
	words string
}

// Error implements error.
func (e *statusError) Error() string {
	if e.elsewhere {
		return "the store that the server leads to answers " + e.text
	}
	if e.words != "" {
		return fmt.Sprintf("the server answers %s, %q", e.text, e.words)
	}
	return "the server answers " + e.text
}

// statusText is a status in words.
func statusText(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// cut keeps the beginning of a server's words.
func cut(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}

// refusal explains an answer that is no data.
func (o *origin) refusal(resp *http.Response) error {
	status := &statusError{code: resp.StatusCode, text: statusText(resp.StatusCode), elsewhere: !sameHost(resp.Request.URL.String(), o.url)}
	if o.tell != nil && !status.elsewhere {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<10))
		status.words = cut(o.mask().Mask(o.tell(body)))
	}
	var err error = status
	// A success that was not asked for, such as a part, is a fault that passes.
	passes := resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented || resp.StatusCode < 400
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		passes = true
	}
	switch {
	case passes, status.elsewhere && expired(resp.StatusCode):
		// A signature that was refused may be accepted once it is new.
		return &TemporaryError{Err: err, After: retryAfter(resp, time.Now()), brief: !passes}
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: it requires a login: %w", err, ErrCredential)
	case resp.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: this account or address may not have it; rules may have to be accepted first", err)
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		return fmt.Errorf("%w: there is no such file; check the address: %w", err, ErrGone)
	}
	return err
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
