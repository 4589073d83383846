package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// patience says how long a failing store is tolerated.
type patience struct {
	// attempts is the number of attempts of an operation.
	attempts int
	// base is the wait after the first failure. It doubles up to most; see retry.Pause.
	base, most time.Duration
	// stall is how long an attempt may take without receiving a byte.
	stall time.Duration
	// strikes is the number of consecutive failed operations after which no request is
	// sent for the duration of pause.
	strikes int
	pause   time.Duration
}

// defaultPatience waits up to three seconds for one operation, which is enough
// for a lost connection or a throttled request, and little for a run that could
// also continue without the remote. A store that is down costs it three such
// operations, and then one every half minute.
var defaultPatience = patience{
	attempts: 5, base: 200 * time.Millisecond, most: 8 * time.Second,
	stall: 2 * time.Minute, strikes: 3, pause: 30 * time.Second,
}

// breaker stops requests to a store that is down.
type breaker struct {
	mu      sync.Mutex
	strikes int
	until   time.Time
	// fatal is the reason why no more requests are sent; fatalWrite is the same for
	// writes.
	fatal, fatalWrite error
}

// open returns the error that prevents requests now, or nil.
func (b *breaker) open(writing bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fatal != nil:
		return b.fatal
	case writing && b.fatalWrite != nil:
		return b.fatalWrite
	case time.Now().Before(b.until):
		return fmt.Errorf("%w: it failed several times just now", errUnavailable)
	}
	return nil
}

// note records the result of an operation.
func (b *breaker) note(p patience, err error, writing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, errCredentials) && writing:
		b.fatalWrite = err
	case errors.Is(err, errCredentials), errors.Is(err, errFormat):
		b.fatal = err
	case !errors.Is(err, errUnavailable):
		b.strikes = 0
	default:
		if b.strikes++; b.strikes >= p.strikes {
			b.until, b.strikes = time.Now().Add(p.pause), 0
		}
	}
}

// watchdog ends a context when nothing has been received for a while.
type watchdog struct {
	t     *time.Timer
	limit time.Duration
	stop  context.CancelCauseFunc
}

func watch(ctx context.Context, limit time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{limit: limit, stop: cancel}
	w.t = time.AfterFunc(limit, func() { cancel(fmt.Errorf("no data received for %s", limit)) })
	return ctx, w
}

// heard restarts the timer.
func (w *watchdog) heard() { w.t.Reset(w.limit) }

func (w *watchdog) end() {
	w.t.Stop()
	w.stop(nil)
}

// The errors of this package.
var (
	// errCredentials means that the store does not know the user or denies the
	// operation.
	errCredentials = errors.New("not allowed")
	// errUnavailable means that every attempt failed: the store did not answer, or
	// answered with errors.
	errUnavailable = errors.New("remote cache unavailable")
	// errFormat means that the bucket holds a remote cache of another version.
	errFormat = errors.New("unknown format of the remote cache")
	// errReadOnly means that the remote cache was opened for reading only.
	errReadOnly = errors.New("remote cache is read-only")
)

// errExists means that an object of this name already exists.
var errExists = errors.New("exists already")

var (
	queries = pattern.New(`(\b[a-z0-9]+://[^\s"'?]*)\?[^\s"']*`)
	users   = pattern.New(`(\b[a-z0-9]+://)[^\s"'/@]*@`)
)

// mask hides everything after the question mark of every URL in a message, and
// the user before the host.
func mask(text string) string {
	return users.Regexp().ReplaceAllString(queries.Regexp().ReplaceAllString(text, "$1?…"), "$1…@")
}

// masked is an error of a driver, which may contain parts of URLs that hold secrets. Its
// message is masked, and it cannot be unwrapped.
func masked(err error) error { return errors.New(mask(err.Error())) }

// localError is an error of this machine, where retrying is useless.
type localError struct{ err error }

func (e localError) Error() string { return e.err.Error() }
func (e localError) Unwrap() error { return e.err }

// deniedCodes are the codes of S3 errors that are caused by credentials.
var deniedCodes = map[string]bool{
	"AccessDenied": true, "Forbidden": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true,
	"ExpiredToken": true, "InvalidToken": true, "AllAccessDisabled": true, "AccountProblem": true,
	"NotSignedUp": true, "UnauthorizedAccess": true, "TokenRefreshRequired": true, "InvalidSecurity": true,
}

// finalCodes are the codes of errors that retrying cannot change.
var finalCodes = map[string]bool{
	"InvalidArgument": true, "InvalidBucketName": true, "InvalidObjectState": true, "MethodNotAllowed": true,
	"NotImplemented": true, "PermanentRedirect": true, "AuthorizationHeaderMalformed": true,
}

// outcome says whether an operation that failed is worth a retry.
type outcome int

const (
	final   outcome = iota // a retry fails in the same way
	again                  // a retry may succeed
	suspect                // content was wrong, perhaps damaged on its way
)

// classify returns whether a retry may help, and turns a driver's error into
// one of this package.
func classify(ctx context.Context, err error) (outcome, error) {
	var local localError
	var answer minio.ErrorResponse
	switch {
	case ctx.Err() != nil:
		return final, context.Cause(ctx)
	case errors.As(err, &local):
		return final, local.err
	case errors.Is(err, errExists):
		return final, errExists
	case errors.Is(err, cache.ErrNotFound):
		return final, cache.ErrNotFound
	case errors.Is(err, cache.ErrCorrupt):
		return suspect, err
	case errors.Is(err, fs.ErrPermission):
		return final, fmt.Errorf("%w: %w", errCredentials, masked(err))
	case errors.As(err, &answer):
		return classifyAnswer(answer)
	}
	return again, masked(err)
}

// classifyAnswer is classify for an answer of an S3 server.
func classifyAnswer(answer minio.ErrorResponse) (outcome, error) {
	said := errors.New(mask(fmt.Sprintf("%s (%s)", answer.Error(), answer.Code)))
	switch code := answer.Code; {
	case deniedCodes[code], answer.StatusCode == http.StatusUnauthorized:
		return final, fmt.Errorf("%w: %w", errCredentials, said)
	case code == "NoSuchBucket":
		return final, fmt.Errorf("%w: the bucket does not exist", errUnavailable)
	case code == "NoSuchKey", code == "NotFound":
		return final, cache.ErrNotFound
	case code == "PreconditionFailed":
		return final, errExists
	case finalCodes[code]:
		return final, said
	}
	return again, said
}

// notImplemented reports whether the store does not support the request.
func notImplemented(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && (answer.Code == "NotImplemented" || answer.StatusCode == http.StatusNotImplemented)
}

// otherFaults are the codes of client errors that no header of the request
// explains.
var otherFaults = map[string]bool{
	"NoSuchBucket": true, "NoSuchKey": true, "NotFound": true, "RequestTimeout": true, "RequestTimeTooSkewed": true,
	"BadDigest": true, "IncompleteBody": true, "XAmzContentSHA256Mismatch": true, "EntityTooLarge": true,
}

// refusesHeader reports whether an answer may be to a header that the store does
// not know. A signature is wrong if a proxy has removed the header.
func refusesHeader(err error) bool {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) || otherFaults[answer.Code] {
		return false
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	return answer.StatusCode/100 == 4 && (!deniedCodes[answer.Code] || answer.Code == "SignatureDoesNotMatch")
}

// failsInside reports whether a store answers with an error of its own.
func failsInside(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && answer.StatusCode/100 == 5 && answer.StatusCode != http.StatusServiceUnavailable
}

// IsDenied reports whether the store denies the user the operation, so that a retry
// is useless.
func IsDenied(err error) bool { return errors.Is(err, errCredentials) || errors.Is(err, errReadOnly) }
