package service

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// Client is what a person's machine knows of a server.
type Client struct {
	base, token string
	http        *http.Client
	// Say is told when the server cannot be reached, and when it can be again.
	Say func(string)
	// reached means that the server has answered; before, it is not waited for.
	reached bool
}

// NewClient returns a client of the server at a URL, which may have a path.
func NewClient(at, token string, say func(string)) (*Client, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not the address of a server, such as https://mleflow.lab.example", at)
	}
	return &Client{base: strings.TrimRight(u.String(), "/") + "/api/v1", token: token, Say: say, http: &http.Client{
		// A redirect could take the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Refusal is an answer of the server that says no.
type Refusal struct {
	Status int
	Text   string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

const (
	// patience is how long a server may be away, and pause the wait between two tries.
	patience, pause = 10 * time.Minute, time.Second
	// silence is how long a stream of events may have nothing, not even a sign of life.
	silence = time.Minute
	// maxAnswer bounds an answer that is kept in memory, maxLine a line of a journal.
	maxAnswer, maxLine = 64 << 20, 16 << 20
)

// do sends a request, until the server answers or its patience ends. body makes the same
// body each time; the caller closes the answer's.
func (c *Client) do(ctx context.Context, method, path string, header http.Header, body func() (io.ReadCloser, int64, error)) (*http.Response, error) {
	var away time.Time
	for {
		resp, err := c.try(ctx, method, path, header, body)
		busy := err == nil && (resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusBadGateway)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && !busy:
			c.reached = true
			if !away.IsZero() {
				c.Say("The server is back.")
			}
			return resp, refusal(resp)
		case err != nil && !c.reached:
			return nil, fmt.Errorf("reach the server: %w", err)
		case away.IsZero():
			away = time.Now()
			c.Say(fmt.Sprintf("The server cannot be reached, trying again for %s: %v", patience, cmp.Or(err, errors.New("it is about to stop or start"))))
		case time.Since(away) > patience:
			return nil, fmt.Errorf("reach the server: %w", cmp.Or(err, errors.New("it does not start")))
		}
		if busy {
			resp.Body.Close()
		}
		if err := progress.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func (c *Client) try(ctx context.Context, method, path string, header http.Header, body func() (io.ReadCloser, int64, error)) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		if req.Body, req.ContentLength, err = body(); err != nil {
			return nil, err
		}
		if req.ContentLength == 0 { // else its length would be unknown
			req.Body = http.NoBody
		}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.http.Do(req)
}

// refusal returns an answer's error; it then closes the body.
func refusal(resp *http.Response) error {
	if resp.StatusCode < 300 {
		return nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil || said.Error == "" {
		said.Error = http.StatusText(resp.StatusCode)
		if resp.StatusCode < 400 {
			said.Error = fmt.Sprintf("it redirects to %q, which is not followed; give that address", resp.Header.Get("Location"))
		}
	}
	return &Refusal{resp.StatusCode, fmt.Sprintf("the server says: %s (%d)", said.Error, resp.StatusCode)}
}

// call sends and receives JSON; nil sends nothing.
func (c *Client) call(ctx context.Context, method, path string, send, receive any) error {
	var body func() (io.ReadCloser, int64, error)
	header := http.Header{}
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return err
		}
		header.Set("Content-Type", "application/json")
		body = func() (io.ReadCloser, int64, error) {
			return io.NopCloser(bytes.NewReader(text)), int64(len(text)), nil
		}
	}
	resp, err := c.do(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(receive); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

// Submit sends the files of a manifest that the server has not, and submits it. open opens
// a file by its path.
func (c *Client) Submit(ctx context.Context, m Manifest, open func(path string) (io.ReadCloser, error)) (sub Submission, err error) {
	byDigest := map[string]File{}
	ask := struct {
		Digests []string `json:"digests"`
	}{}
	for _, f := range m.Files {
		if _, known := byDigest[f.Digest]; !known {
			ask.Digests = append(ask.Digests, f.Digest)
		}
		byDigest[f.Digest] = f
	}
	var answer struct {
		Missing []string `json:"missing"`
	}
	if err := c.call(ctx, http.MethodPost, "/files/missing", ask, &answer); err != nil {
		return sub, err
	}
	for _, d := range answer.Missing {
		f, asked := byDigest[d]
		if !asked {
			return sub, fmt.Errorf("the server asks for %q, which is no file of the pipeline", d)
		}
		resp, err := c.do(ctx, http.MethodPut, "/files/"+d, http.Header{"Content-Type": {"application/octet-stream"}}, func() (io.ReadCloser, int64, error) {
			r, err := open(f.Path)
			return r, f.Size, err
		})
		if err != nil {
			return sub, fmt.Errorf("send %s: %w", f.Path, err)
		}
		resp.Body.Close()
	}
	m.Key = rand.Text()
	return sub, c.call(ctx, http.MethodPost, "/submissions", m, &sub)
}

// Get returns a submission.
func (c *Client) Get(ctx context.Context, id string) (sub Submission, err error) {
	return sub, c.call(ctx, http.MethodGet, "/submissions/"+url.PathEscape(id), nil, &sub)
}

// Cancel ends a submission.
func (c *Client) Cancel(ctx context.Context, id string) error {
	var sub Submission
	return c.call(ctx, http.MethodPost, "/submissions/"+url.PathEscape(id)+"/cancel", struct{}{}, &sub)
}

// Print copies what a submission printed on its standard output or, with messages, on its
// standard error.
func (c *Client) Print(ctx context.Context, id string, messages bool, w io.Writer) error {
	path := "/submissions/" + url.PathEscape(id) + "/output"
	if messages {
		path = "/submissions/" + url.PathEscape(id) + "/messages"
	}
	resp, err := c.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, io.LimitReader(resp.Body, maxAnswer))
	return err
}

// Events passes each line of a run's journal on, also those to come, until the run has
// ended. A connection that breaks is made again where it broke.
func (c *Client) Events(ctx context.Context, run string, line func([]byte)) error {
	for last := ""; ; {
		header := http.Header{"Accept": {"text/event-stream"}}
		if last != "" {
			header.Set("Last-Event-Id", last)
		}
		heard, stop := context.WithCancel(ctx)
		resp, err := c.do(heard, http.MethodGet, "/runs/"+url.PathEscape(run)+"/events", header, nil)
		if err != nil {
			stop()
			return err
		}
		deaf := time.AfterFunc(silence, stop)
		ended, err := readEvents(hearing{resp.Body, deaf}, &last, line)
		deaf.Stop()
		stop()
		resp.Body.Close()
		if ended || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("follow run %s: an event has more than %d bytes", run, maxLine)
		}
		if err := progress.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// hearing is a stream that is given up when nothing comes for long, as if the server's
// machine were gone.
type hearing struct {
	io.Reader
	deaf *time.Timer
}

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.deaf.Reset(silence)
	return n, err
}

// readEvents reads server-sent events, and notes the number of the last whole one.
func readEvents(r io.Reader, last *string, line func([]byte)) (ended bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var id, kind string
	var data []byte
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if kind == "end" {
				return true, nil
			}
			before, _ := strconv.Atoi(*last)
			if n, err := strconv.Atoi(id); data != nil && (err != nil || n > before) { // not one that was sent again
				line(data)
			}
			if id != "" {
				*last = id
			}
			id, kind, data = "", "", nil
		case name == "id":
			id = value
		case name == "event":
			kind = value
		case name == "data":
			data = append(data, value...)
		}
	}
	return false, lines.Err()
}
