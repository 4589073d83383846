package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"

	"github.com/minio/minio-go/v7"

	"github.com/mleflow/mleflow/cache"
)

// Errors that this package tells apart.
var (
	// errCredentials says that the store knows no such user, or does not allow
	// the user what was tried.
	errCredentials = errors.New("not allowed")
	// errUnavailable says that the store did not answer, or with errors, as
	// often as it was asked.
	errUnavailable = errors.New("remote cache unavailable")
	// errFormat says that the bucket holds a remote cache of another version.
	errFormat = errors.New("unknown format of the remote cache")
	// errReadOnly says that the remote cache was opened for reading only.
	errReadOnly = errors.New("remote cache is read-only")
)

// errExists says that there is an object of that name already.
var errExists = errors.New("exists already")

// maskedError is an error of a driver, which may tell parts of addresses that
// hold secrets. Its text is masked and it is not unwrapped.
type maskedError struct{ text string }

func (e maskedError) Error() string { return e.text }

var (
	queries = regexp.MustCompile(`(\b[a-z0-9]+://[^\s"'?]*)\?[^\s"']*`)
	users   = regexp.MustCompile(`(\b[a-z0-9]+://)[^\s"'/@]*@`)
)

// mask hides what follows the question mark of every address in a text, and
// the user before its host.
func mask(text string) string {
	return users.ReplaceAllString(queries.ReplaceAllString(text, "$1?…"), "$1…@")
}

// localError is an error of this machine, on which trying again is no use.
type localError struct{ err error }

func (e localError) Error() string { return e.err.Error() }
func (e localError) Unwrap() error { return e.err }

// deniedCodes are the codes of S3 errors that credentials are to blame for.
var deniedCodes = map[string]bool{
	"AccessDenied": true, "Forbidden": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true,
	"ExpiredToken": true, "InvalidToken": true, "AllAccessDisabled": true, "AccountProblem": true,
	"NotSignedUp": true, "UnauthorizedAccess": true, "TokenRefreshRequired": true, "InvalidSecurity": true,
}

// finalCodes are the codes of errors that are the same the next time.
var finalCodes = map[string]bool{
	"InvalidArgument": true, "InvalidBucketName": true, "InvalidObjectState": true, "MethodNotAllowed": true,
	"NotImplemented": true, "PermanentRedirect": true, "AuthorizationHeaderMalformed": true,
}

// outcome is what an error means for the next try.
type outcome int

const (
	final   outcome = iota // trying again gives the same
	again                  // it may pass by itself
	suspect                // content was wrong, on its way perhaps
)

// classify returns what trying again would give, and an error of this package
// for one of a driver.
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
		return final, fmt.Errorf("%w: %w", errCredentials, maskedError{mask(err.Error())})
	case errors.As(err, &answer):
		return classifyAnswer(answer)
	}
	return again, maskedError{mask(err.Error())}
}

// classifyAnswer is classify of what an S3 server answered.
func classifyAnswer(answer minio.ErrorResponse) (outcome, error) {
	said := maskedError{mask(fmt.Sprintf("%s (%s)", answer.Error(), answer.Code))}
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

// notImplemented reports whether a store does not know what was asked of it.
func notImplemented(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && (answer.Code == "NotImplemented" || answer.StatusCode == http.StatusNotImplemented)
}
