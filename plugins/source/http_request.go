package source

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// get sends one request, from a byte on, and turns a refusal into an error.
func (f *httpFetch) get(ctx context.Context, from int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.req.Spec.URL, nil)
	if err != nil {
		return nil, redactError(err)
	}
	req.Header.Set("Accept-Encoding", "identity")
	if f.authorize != nil {
		f.authorize(req)
	}
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		if f.version.strong() {
			req.Header.Set("If-Range", f.version.etag)
		}
	}
	resp, err := f.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &TemporaryError{Err: redactError(err)}
	}
	switch {
	case resp.StatusCode == http.StatusOK,
		from > 0 && resp.StatusCode == http.StatusPartialContent,
		from > 0 && resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// statusError is an answer that is no data.
type statusError struct {
	code int
	text string
}

// Error implements error.
func (e *statusError) Error() string { return "the server answers " + e.text }

// refusal explains an answer that is no data.
func refusal(resp *http.Response) error {
	var err error = &statusError{resp.StatusCode, resp.Status}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w: it wants a login", err)
	case http.StatusForbidden:
		return fmt.Errorf("%w: this account or address may not have it; rules may have to be accepted first", err)
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%w: there is no such file; check the address", err)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return &TemporaryError{Err: err, After: retryAfter(resp, time.Now())}
	}
	if resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented {
		return &TemporaryError{Err: err, After: retryAfter(resp, time.Now())}
	}
	return err
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// versionOf reads what an answer with the whole file says about it.
func versionOf(resp *http.Response) version {
	v := version{total: resp.ContentLength, name: path.Base(resp.Request.URL.Path)}
	if etag := resp.Header.Get("ETag"); strings.HasPrefix(etag, `"`) {
		v.etag = etag
	}
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		v.name = path.Base(path.Clean("/" + strings.ReplaceAll(params["filename"], `\`, "/")))
	}
	if v.name == "/" || v.name == "." {
		v.name = "data"
	}
	return v
}
