package source

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
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
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		passes = true
	}
	switch {
	case passes, status.elsewhere && expired(resp.StatusCode):
		// A refused signature may be accepted once it is renewed.
		return laterError(err, retryAfter(resp, time.Now()), !passes)
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
