package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/named"
)

// Spec says where data are. Each kind of source reads its own fields.
type Spec struct {
	// Path is a file or folder (file).
	Path string
	// Base is the file system that a relative Path refers to; nil is the working
	// directory.
	Base fs.FS
	// URL is a web address (http).
	URL string
	// Slug is a competition's name on Kaggle (kaggle, mirror).
	Slug string
	// Name is a file's path below a mirror's URL, if it is not the archive
	// <slug>.zip (mirror).
	Name string
	// MD5 and SHA256 are pins in lower-case hexadecimal, or empty.
	MD5, SHA256 string
}

// pinned reports whether the spec pins the bytes.
func (s Spec) pinned() bool { return s.MD5 != "" || s.SHA256 != "" }

// Data is the result of a fetch.
type Data struct {
	// Name is the name of the file or folder at its source.
	Name string
	// Ref is a blob, or the tree of a folder.
	Ref cache.Ref
	// MD5 is the MD5 of a blob in hexadecimal.
	MD5 string
	// File is the fetched file if Request.Unpublished asked for it and the source
	// supports it; Ref then names bytes that may not be in the store. The caller
	// ends it with one of its methods.
	File Fetched
}

// Fetched is a fetched file that is not an object of the store, so that an
// archive can be unpacked without storing it as well as its entries. It is the
// keyed ingest of a download, or a local file in place. A file that does not
// match a pin is never returned.
type Fetched interface {
	io.ReaderAt
	// Publish makes the file an object of the store, and ends it.
	Publish(context.Context) error
	// Drop deletes the fetched bytes, and ends it. A local file is not deleted.
	Drop() error
	// Close ends it and keeps the bytes: the next fetch of the same Spec finds
	// them and requests only the bytes that validate them.
	Close() error
}

// Request is one fetch.
type Request struct {
	Spec  Spec
	Store cache.Building
	// Unpublished asks for Data.File instead of an object of the store. A source
	// that does not support it, or that fetched a folder, stores the data as
	// usual.
	Unpublished bool
	// Progress, if set, is called with the bytes so far; total is 0 if unknown.
	Progress func(done, total int64)
	// Imported, if set, is called instead while a folder is stored, with its files and
	// bytes so far; total is the number of files once it is known, at the end.
	Imported func(files, total, bytes int64)
	// Waiting, if set, is called now and then while the server wants a pause, by
	// several goroutines.
	Waiting func(until time.Time)
	// Log, if set, is called with messages for people.
	Log func(format string, args ...any)
}

func (r Request) progress(done, total int64) {
	if r.Progress != nil {
		r.Progress(done, total)
	}
}

func (r Request) imported(files, total, bytes int64) {
	if r.Imported != nil {
		r.Imported(files, total, bytes)
	}
}

func (r Request) waiting(until time.Time) {
	if r.Waiting != nil {
		r.Waiting(until)
	}
}

func (r Request) logf(format string, args ...any) {
	if r.Log != nil {
		r.Log(format, args...)
	}
}

// Source is a kind of place that data come from.
type Source interface {
	// Check reports the mistakes in a spec, as far as they can be seen without
	// I/O. The error is shown to its author.
	Check(Spec) error
	// Fingerprint hashes the facts that decide the bytes: pins if there are any, otherwise
	// those that can be found out without the network.
	Fingerprint(Spec, *digest.Hasher) error
	// Fetch stores the data. A TemporaryError may pass.
	Fetch(context.Context, Request) (Data, error)
}

// ErrMismatch means that data do not match a pin.
var ErrMismatch = errors.New("checksum mismatch")

// TemporaryError is a failure that may go away on a retry.
type TemporaryError struct {
	Err error
	// After is how long the source asked to wait; 0 if it did not.
	After time.Duration
	// brief says that it passes soon or never, such as an unknown host name, and
	// later that the step may be tried again nevertheless.
	brief, later bool
}

// Error implements error.
func (e *TemporaryError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TemporaryError) Unwrap() error { return e.Err }

// verify compares a stored blob with the pins.
func verify(spec Spec, what string, data Data) error {
	for _, pin := range []struct{ name, want, got string }{
		{"SHA-256", spec.SHA256, data.Ref.ID.String()}, {"MD5", spec.MD5, data.MD5},
	} {
		if pin.want != "" && pin.want != pin.got {
			return fmt.Errorf("%w: %s has %s %s, expected %s (%d bytes)", ErrMismatch, what, pin.name, pin.got, pin.want, data.Ref.Size)
		}
	}
	return nil
}

// fingerprintPins hashes the pins and reports whether there were any.
func fingerprintPins(spec Spec, h *digest.Hasher) bool {
	if spec.SHA256 != "" {
		h.String("source SHA-256", spec.SHA256)
	}
	if spec.MD5 != "" {
		h.String("source MD5", spec.MD5)
	}
	return spec.pinned()
}

// Registry is the set of sources a process knows.
type Registry struct{ set *named.Set[Entry] }

// Entry is a source with its name in the language.
type Entry struct {
	Name   string
	Source Source
}

// NewRegistry returns a registry of the given sources. It panics on a
// duplicate, which is a programming error.
func NewRegistry(entries ...Entry) *Registry {
	return &Registry{named.New("source", func(e Entry) string { return e.Name }, entries...)}
}

// Names lists the sources, sorted.
func (r *Registry) Names() []string { return r.set.Names() }

// Get returns the source of that name.
func (r *Registry) Get(name string) (Source, error) {
	e, err := r.set.Get(name)
	return e.Source, err
}

// Inspector is a Source that can look at its data without fetching them.
// Inspect stores nothing.
//
// Its error gives the obstacle to a fetch. ErrCredential, ErrRules and ErrGone
// need a person; a TemporaryError may pass by itself. The message says what to
// do and contains no credential.
type Inspector interface {
	Inspect(context.Context, Spec) (Availability, error)
}

// Availability is the result of inspecting a source.
type Availability struct {
	// Bytes is the size of the download; 0 when unknown.
	Bytes int64
	// Files and Unpacked are the number and the total size of the files in the
	// download as reported by the source; 0 when unknown. Archives among them
	// count as one file each.
	Files    int
	Unpacked int64
	// Note is additional information for people, or empty.
	Note string
}

// Permanent reasons why a fetch fails; compare with errors.Is.
var (
	// ErrCredential says that there is no credential, or that the source does
	// not accept it.
	ErrCredential = errors.New("credential missing or not accepted")
	// ErrRules says that rules must be accepted first; the error's message
	// contains the URL of the page.
	ErrRules = errors.New("rules not accepted")
	// ErrGone says that the data do not exist, or no longer.
	ErrGone = errors.New("not found or withdrawn")
)

// inspect asks a source. One that is not an Inspector returns nothing, which is not an error.
func inspect(ctx context.Context, s Source, spec Spec) (Availability, error) {
	if i, ok := s.(Inspector); ok {
		return i.Inspect(ctx, spec)
	}
	return Availability{Note: "cannot be asked before the download"}, nil
}
