package validity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// The results that agents expect.
const (
	Valid   = "Submission is valid."
	Invalid = "Submission invalid! "
)

// Verdict is the result of checking a file. The zero value is valid.
type Verdict struct {
	// Class is the kind of the defect in one word; "" if there is none.
	Class string
	// Reason describes the defect in words that the agent may see.
	Reason string
}

// Budget is an agent's time.
type Budget struct{ Limit, Elapsed time.Duration }

// Options configure a Server.
type Options struct {
	// Check judges the file at path. An error means that it failed; its text is not
	// passed on.
	Check func(ctx context.Context, path string) (Verdict, error)
	// Dir is a folder for the file being checked, which no agent sees.
	Dir string
	// MaxBytes is the maximum size of a file; 0 is 1 GiB.
	MaxBytes int64
	// Timeout limits the duration of a check; 0 is 5 minutes.
	Timeout time.Duration
	// Budget returns the agent's time; a zero Limit is no limit.
	Budget func() Budget
	// Record is called for every request to /validate and POST /score.
	Record func(Call)
	// Evidence answers POST /evidence; nil is 404.
	Evidence http.Handler
	// Checkpoint takes a checkpoint of the attempt, for POST /checkpoint; nil is 404. It
	// returns the reply, and ErrBusy if it is too early for another one.
	Checkpoint func(context.Context) (any, error)
	// Queries answers POST /score and GET /score; nil is 404.
	Queries *Queries
}

// ErrBusy means that a checkpoint was taken a moment ago or is being taken.
var ErrBusy = errors.New("a checkpoint was taken a moment ago or is being taken")

// Call is one request to /validate or /score.
type Call struct {
	// Path is "/score" for a request to it, "" for one to /validate.
	Path    string    `json:"path,omitempty"`
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	Status  int       `json:"status"`
	Bytes   int64     `json:"bytes"`
	SHA256  string    `json:"sha256,omitempty"`
	Valid   bool      `json:"valid"`
	Class   string    `json:"class,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	// Error is the error of the check, for people; the agent does not see it.
	Error string `json:"error,omitempty"`
}

// Server is the validity server, an http.Handler.
type Server struct {
	opts Options
	mux  *http.ServeMux
	// turn is held by the file being checked, queue by all files that wait.
	turn, queue chan struct{}
}

const (
	waiting   = 8
	longest   = 5 * time.Minute
	largest   = 1 << 30
	formBytes = 1 << 20 // of a request in addition to the file
	maxRest   = 2 * time.Second
)

// New returns a server.
func New(o Options) *Server {
	o.MaxBytes = cmp.Or(o.MaxBytes, largest)
	o.Timeout = cmp.Or(o.Timeout, longest)
	if o.Record == nil {
		o.Record = func(Call) {}
	}
	s := &Server{opts: o, mux: http.NewServeMux(), turn: make(chan struct{}, 1), queue: make(chan struct{}, waiting)}
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "running"})
	})
	s.mux.HandleFunc("GET /budget", s.budget)
	s.mux.HandleFunc("POST /validate", s.validate)
	if o.Evidence != nil {
		s.mux.Handle("POST /evidence", o.Evidence)
	}
	if o.Checkpoint != nil {
		s.mux.HandleFunc("POST /checkpoint", s.checkpoint)
	}
	if q := o.Queries; q != nil {
		s.mux.HandleFunc("POST /score", s.score)
		s.mux.HandleFunc("GET /score", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, q.state()) })
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve serves on l until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return service.Serve(ctx, l, s, service.Limits{
		Connections: 64, Header: 10 * time.Second, HeaderBytes: 32 << 10, Body: 2 * time.Minute, Idle: time.Minute,
	})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // the client has gone
}

func (s *Server) budget(w http.ResponseWriter, _ *http.Request) {
	var b Budget
	if s.opts.Budget != nil {
		b = s.opts.Budget()
	}
	body := struct {
		Limit     *float64 `json:"limit_seconds"`
		Elapsed   float64  `json:"elapsed_seconds"`
		Remaining *float64 `json:"remaining_seconds"`
	}{Elapsed: b.Elapsed.Seconds()}
	if b.Limit > 0 {
		limit, left := b.Limit.Seconds(), max(0, (b.Limit-b.Elapsed).Seconds())
		body.Limit, body.Remaining = &limit, &left
	}
	reply(w, http.StatusOK, body)
}

func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request) {
	taken, err := s.opts.Checkpoint(r.Context())
	switch {
	case errors.Is(err, ErrBusy):
		w.Header().Set("Retry-After", "10")
		reply(w, http.StatusTooManyRequests, map[string]string{"error": err.Error()})
	case err != nil:
		reply(w, http.StatusInternalServerError, map[string]string{"error": "No checkpoint could be taken. This is not the agent's fault; try again later."})
	default:
		reply(w, http.StatusOK, taken)
	}
}

// refusal is a reply other than a verdict.
type refusal struct {
	status int
	text   string
	err    error
	// retry is the time after which the request may succeed; 0 is not known.
	retry time.Duration
}

// Error implements error.
func (e *refusal) Error() string { return e.text }

func (s *Server) validate(w http.ResponseWriter, r *http.Request) {
	call := Call{Time: time.Now().UTC(), Status: http.StatusOK}
	body := map[string]any{} // as that of the reference's server
	err := s.inTurn(r, &call, func(ctx context.Context, path string) error {
		verdict, err := s.opts.Check(ctx, path)
		switch {
		case err != nil:
		case verdict.Class != "":
			call.Class, call.Reason, body["result"] = verdict.Class, verdict.Reason, Invalid+verdict.Reason
		default:
			call.Valid, body["result"] = true, Valid
		}
		return err
	})
	s.answer(w, call, body, err)
}

// answer records a request and replies to it.
func (s *Server) answer(w http.ResponseWriter, call Call, body map[string]any, err error) {
	call.Seconds = time.Since(call.Time).Seconds()
	no, refused := errors.AsType[*refusal](err)
	switch {
	case refused:
		call.Status, body["error"], err = no.status, no.text, no.err
	case err != nil:
		call.Status, body["error"] = http.StatusInternalServerError, "An unexpected error occurred."
		body["details"] = "The file could not be checked. This is not its fault; try again later."
	}
	if err != nil {
		call.Error = err.Error()
	}
	s.opts.Record(call)
	if refused && no.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(no.retry.Seconds()))))
	}
	reply(w, call.Status, body)
}

// inTurn takes the file of a request when it is its turn, and uses it.
func (s *Server) inTurn(r *http.Request, call *Call, use func(ctx context.Context, path string) error) error {
	select {
	case s.queue <- struct{}{}:
		defer func() { <-s.queue }()
	default:
		return &refusal{status: http.StatusTooManyRequests, text: "Too many files wait to be checked. Send one at a time.", retry: 5 * time.Second}
	}
	select {
	case s.turn <- struct{}{}:
	case <-r.Context().Done():
		return &refusal{status: http.StatusServiceUnavailable, text: "The request was given up.", err: r.Context().Err()}
	}
	start := time.Now()
	defer func() {
		rest := min(time.Since(start), maxRest)
		time.AfterFunc(rest, func() { <-s.turn })
	}()
	dir, err := os.MkdirTemp(s.opts.Dir, "validate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "submission.csv")
	if err := s.receive(r, path, call); err != nil {
		return err
	}
	start = time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), s.opts.Timeout)
	defer cancel()
	// A panic becomes an error, because the author of the file may try to cause one.
	return crash.Do(func() error { return use(ctx, path) })
}

// receive writes the file in the form to path.
func (s *Server) receive(r *http.Request, path string, call *Call) error {
	r.Body = http.MaxBytesReader(nil, r.Body, s.opts.MaxBytes+formBytes)
	form, err := r.MultipartReader()
	if err != nil {
		return &refusal{status: http.StatusBadRequest, text: noFile, err: err}
	}
	for range 16 {
		part, err := form.NextPart()
		if err != nil {
			return s.refuse(err)
		}
		if part.FormName() == "file" && part.FileName() != "" {
			return s.save(part, path, call)
		}
	}
	return &refusal{status: http.StatusBadRequest, text: noFile}
}

const noFile = "Send the submission as a file in the field \"file\" of a multipart form, such as: curl -F \"file=@submission.csv\" URL"

// refuse returns the reason why a request could not be read.
func (s *Server) refuse(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("The file has more than %d bytes.", s.opts.MaxBytes), err: err}
	}
	return &refusal{status: http.StatusBadRequest, text: noFile, err: err}
}

func (s *Server) save(src io.Reader, path string, call *Call) error {
	dst, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer dst.Close()
	sum := sha256.New()
	call.Bytes, err = io.Copy(io.MultiWriter(dst, sum), io.LimitReader(src, s.opts.MaxBytes+1))
	_, disk := errors.AsType[*fs.PathError](err)
	switch {
	case disk:
		return err
	case err != nil:
		return s.refuse(err)
	case call.Bytes > s.opts.MaxBytes:
		return s.refuse(&http.MaxBytesError{Limit: s.opts.MaxBytes})
	}
	call.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return dst.Close()
}
