package cache

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/cache/digest"
)

// Errors to compare with errors.Is.
var (
	// ErrNotFound says that an object or record is not in the cache.
	ErrNotFound = errors.New("not in the cache")
	// ErrCorrupt says that an object's bytes do not match its name. The store
	// has set the object aside; what produced it must run again.
	ErrCorrupt = errors.New("corrupt object")
	// ErrQuota says that the cache's hard size limit would be exceeded, after
	// everything that may be evicted was evicted.
	ErrQuota = errors.New("cache quota exceeded")
	// ErrReadOnly says that the cache folder cannot be written.
	ErrReadOnly = errors.New("cache is read-only")
)

// Kind is the type of an object.
type Kind string

// The kinds of objects.
const (
	Blob Kind = "blob"
	Tree Kind = "tree"
)

// Ref names an object. For a tree, Size is the total size in bytes of the
// files below it and Files their number; for a blob Size is its length and
// Files is 0.
type Ref struct {
	Kind  Kind             `json:"kind"`
	ID    digest.ContentID `json:"id"`
	Size  int64            `json:"size"`
	Files int64            `json:"files,omitempty"`
}

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r.ID.IsZero() }

// Store keeps objects by content.
type Store interface {
	// Open returns the bytes of a blob, or of a tree's encoding. The reader
	// verifies: a final Read that would complete wrong content returns
	// ErrCorrupt instead of io.EOF. A missing object is ErrNotFound.
	Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error)
	// Ingest starts writing a blob. With a non-empty key, an earlier
	// unfinished Ingest of the same key is continued at its Offset.
	Ingest(ctx context.Context, key string) (Ingest, error)
	// Has returns the size of an object's bytes without reading them, or
	// ErrNotFound.
	Has(ctx context.Context, id digest.ContentID) (int64, error)
}

// Ingest is a blob being written. Close without Commit keeps a keyed ingest
// for later and drops an unkeyed one; a keyed one that holds nothing, such as
// after Reset, is dropped too.
type Ingest interface {
	io.Writer
	// ReaderAt reads the bytes written so far, until Commit or Close, so that a
	// keyed ingest can serve as a work file that is resumed. Reads are not
	// verified. Several goroutines may read at once, but not while another method
	// runs.
	io.ReaderAt
	// Offset returns how many bytes the ingest holds.
	Offset() int64
	// Reset drops the bytes written so far.
	Reset() error
	// Commit publishes the bytes, all or nothing. A non-zero want must match
	// (its ID, and its Size when not zero); otherwise nothing is published
	// and the error is ErrCorrupt.
	Commit(ctx context.Context, want Ref) (Ref, error)
	io.Closer
}

// Value is one output of an action: content in the store, or a small value
// kept in the record itself.
type Value struct {
	// Ref is the content, when the output is a blob or a tree.
	Ref Ref `json:"ref,omitzero"`
	// JSON is the value in JSON, when the output is not content.
	JSON []byte `json:"json,omitempty"`
}

// Outputs are an action's results by output name.
type Outputs map[string]Value

// Content returns how many files are in the outputs of these names, and their size.
func (o Outputs) Content(names ...string) (files, bytes int64) {
	for _, name := range names {
		switch ref := o[name].Ref; {
		case ref.IsZero():
			continue
		case ref.Kind == Tree:
			files += ref.Files
		default:
			files++
		}
		bytes += o[name].Ref.Size
	}
	return files, bytes
}

// Record is what the index keeps about a finished action.
type Record struct {
	Action  digest.ActionID `json:"action"`
	Address string          `json:"address"`
	Kind    string          `json:"kind"`
	Fields  []digest.Field  `json:"fields"`
	Outputs Outputs         `json:"outputs"`
	// Run is the run that produced the record.
	Run string `json:"run"`
	// StartedUnixMilli and DurationMillis say when and how long it ran.
	StartedUnixMilli int64 `json:"started_unix_ms"`
	DurationMillis   int64 `json:"duration_ms"`
	Tries
}

// Tries is what a record says of the tries at its action. The zero Tries is a
// final result at the first try.
type Tries struct {
	// Provisional is the cause, in a word, for which the result is not final, and
	// Why the same in a sentence: the next run executes the action again.
	Provisional string `json:"provisional,omitempty"`
	Why         string `json:"why,omitempty"`
	// Earlier counts the final results that this one replaced, Spoilt the
	// provisional ones.
	Earlier int `json:"earlier,omitempty"`
	Spoilt  int `json:"spoilt,omitempty"`
}

// Final returns a record that is a final result, else nil.
func (r *Record) Final() *Record {
	if r == nil || r.Provisional != "" {
		return nil
	}
	return r
}

// Field returns what the action hashed under a label, or "".
func (r *Record) Field(label string) string {
	if r == nil {
		return ""
	}
	for _, f := range r.Fields {
		if f.Label == label {
			return f.Value
		}
	}
	return ""
}

// Tombstone says that an action's outputs were evicted.
type Tombstone struct {
	Action           digest.ActionID `json:"action"`
	EvictedUnixMilli int64           `json:"evicted_unix_ms"`
	// Reason is "quota", "gc" or "corrupt".
	Reason string `json:"reason"`
}

// Index remembers the outputs of actions.
type Index interface {
	// Lookup returns the record of an action whose outputs are all present,
	// or ErrNotFound. The caller must not change the record.
	Lookup(ctx context.Context, id digest.ActionID) (*Record, error)
	// Record remembers a finished action. All content it names must be in
	// the store already. Recording the same action again replaces the record.
	Record(ctx context.Context, rec *Record) error
	// Evicted returns the tombstone of an action that was evicted, or
	// ErrNotFound.
	Evicted(ctx context.Context, id digest.ActionID) (Tombstone, error)
}
