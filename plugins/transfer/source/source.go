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
	"github.com/mleflow/mleflow/engine/named"
)

// Spec says where data lie. Each kind of source reads its own field.
type Spec struct {
	// Path is a file or folder (file).
	Path string
	// Base is what a relative Path is relative to; nil is the working
	// directory.
	Base fs.FS
	// URL is an address (http).
	URL string
	// Slug is a competition's name on Kaggle (kaggle, mirror).
	Slug string
	// Name is a file's path below a mirror's address, where it is not the
	// archive <slug>.zip (mirror).
	Name string
	// MD5 and SHA256 are pins in lower-case hexadecimal, or empty.
	MD5, SHA256 string
}

// pinned reports whether the spec says what the bytes must be.
func (s Spec) pinned() bool { return s.MD5 != "" || s.SHA256 != "" }

// Data is what a source gave.
type Data struct {
	// Name is what the file or folder is called at its source.
	Name string
	// Ref is a blob, or the tree of a folder.
	Ref cache.Ref
	// MD5 is the MD5 of a blob in hexadecimal.
	MD5 string
	// File is the fetched file where Request.Unpublished asked for it and the
	// source can give it; Ref then names bytes that the store need not have.
	// The caller ends it by one of its methods.
	File Fetched
}

// Fetched is a fetched file that is no object of the store, so that an archive
// can be unpacked without being stored beside its entries: the keyed ingest
// of a download, or a local file where it lies. What does not match a pin is
// never handed over.
type Fetched interface {
	io.ReaderAt
	// Publish makes the file an object of the store, and ends it.
	Publish(context.Context) error
	// Drop forgets the bytes that were fetched, and ends it. A local file
	// stays.
	Drop() error
	// Close ends it and keeps the bytes: the next fetch of the same Spec
	// finds them and asks for no more than it needs to be sure of them.
	Close() error
}

// Request is one fetch.
type Request struct {
	Spec  Spec
	Store cache.Building
	// Unpublished asks for Data.File instead of an object of the store. A
	// source that cannot, or that fetched a folder, stores as ever.
	Unpublished bool
	// Progress, when set, is told the bytes so far; total is 0 when unknown.
	Progress func(done, total int64)
	// Log, when set, is told what a person may want to know.
	Log func(format string, args ...any)
}

func (r Request) progress(done, total int64) {
	if r.Progress != nil {
		r.Progress(done, total)
	}
}

func (r Request) logf(format string, args ...any) {
	if r.Log != nil {
		r.Log(format, args...)
	}
}

// Source is a kind of place that data come from.
type Source interface {
	// Check reports what is wrong with a spec as far as that shows without
	// looking. The error is shown to the person who wrote it.
	Check(Spec) error
	// Fingerprint hashes what decides the bytes: pins where there are any,
	// else what can be told without the network.
	Fingerprint(Spec, *digest.Hasher) error
	// Fetch stores the data. A TemporaryError may pass.
	Fetch(context.Context, Request) (Data, error)
}

// ErrMismatch says that data are not what a pin says.
var ErrMismatch = errors.New("checksum mismatch")

// TemporaryError is a failure that may pass by itself.
type TemporaryError struct {
	Err error
	// After is how long the source asked to wait; 0 when it did not.
	After time.Duration
	// brief says that it passes soon or never, such as a name that is not
	// known.
	brief bool
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
			return fmt.Errorf("%w: %s has %s %s, want %s (%d bytes)", ErrMismatch, what, pin.name, pin.got, pin.want, data.Ref.Size)
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

// NewRegistry returns the registry of the given sources. It panics on a
// duplicate: the list is written by programmers.
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
