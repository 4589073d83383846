// Package crash turns panics into errors. Every root of the program uses it: commands,
// pages, steps, views, and the processes that mleflow starts itself with.
//
// A panic is a bug in mleflow, and its value may have a part of what it was working on.
// So the error has a number and, where the runtime made it, the reason; the rest is in a
// report, a file that only the user can read. Panics at the same place have the same
// number, and one report.
package crash

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
)

// Folder is the folder of the reports in the folder of the cache.
const Folder = "crashes"

// Error is a panic.
type Error struct {
	// Number is that of the report; File is the report, or "" if it could not be written.
	Number, File string
	// Reason is the runtime's, or "".
	Reason string
	// Stack has the functions, without their arguments, and their places.
	Stack string
}

// Error says what happened and where the report is.
func (e *Error) Error() string {
	text := "internal error " + e.Number
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	where := "-v shows where"
	if e.File != "" {
		where = "the report is " + e.File
	}
	return text + " (this is a bug in mleflow; " + where + ")"
}

var folder atomic.Pointer[string]

// ReportIn makes reports go to Folder in the folder of a cache.
func ReportIn(cache string) { folder.Store(&cache) }

// Catch, deferred, turns a panic into an error.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = New(v)
	}
}

// Do calls a function and turns a panic into an error.
func Do(f func() error) (err error) {
	defer Catch(&err)
	return f()
}

// Handler answers a request whose handler panics with the error.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			if v != nil {
				http.Error(w, New(v).Error(), http.StatusInternalServerError)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// New makes the error of a panic that was recovered, and writes its report.
func New(value any) *Error {
	var already *Error
	if err, ok := value.(error); ok && errors.As(err, &already) {
		return already
	}
	e := &Error{Stack: stack()}
	if err, ok := value.(runtime.Error); ok {
		e.Reason = strings.TrimPrefix(err.Error(), "runtime error: ")
	}
	sum := sha256.Sum256([]byte(e.Stack))
	e.Number = fmt.Sprintf("%x", sum[:4])
	if dir := folder.Load(); dir != nil {
		e.File = write(*dir, e.Number, fmt.Sprintf("panic: %v\n\n%s", value, e.Stack))
	}
	return e
}

// stack returns the functions from the one that panicked.
func stack() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "runtime.") && strings.Contains(f.Function, "panic") {
			b.Reset() // the deferred functions, and the runtime
		} else if f.Function != "" {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// write writes a report, unless there is one of that number, and returns its path. It
// follows no link out of the folder.
func write(dir, number, text string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	if err := root.Mkdir(Folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return ""
	}
	name := filepath.Join(Folder, number+".txt")
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return ""
	}
	return filepath.Join(dir, name)
}
