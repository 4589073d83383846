package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/mleflow/mleflow/cache/digest"
)

// Errors to compare with errors.Is.
var (
	// ErrNotFound means that an object or record is not in the cache.
	ErrNotFound = errors.New("not in the cache")
	// ErrCorrupt means that an object's bytes do not match its name. The store has set
	// the object aside; the action that produced it must run again.
	ErrCorrupt = errors.New("corrupt object")
	// ErrQuota means that the size limit of the cache would be exceeded even after
	// everything that may be evicted was evicted.
	ErrQuota = errors.New("cache quota exceeded")
	// ErrReadOnly means that the cache folder cannot be written to.
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
	// Offset returns the number of bytes that the ingest holds.
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

// Refs returns the content in the outputs, in no order.
func (o Outputs) Refs() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for _, v := range o {
			if !v.Ref.IsZero() && !yield(v.Ref) {
				return
			}
		}
	}
}

// Encode adds values to the outputs, in JSON.
func (o Outputs) Encode(values map[string]any) error {
	for name, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		o[name] = Value{JSON: text}
	}
	return nil
}

// Content returns the number and total size of the files in the named outputs.
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

// Record is the entry of a finished action in the index.
type Record struct {
	Action  digest.ActionID `json:"action"`
	Address string          `json:"address"`
	Kind    string          `json:"kind"`
	Fields  []digest.Field  `json:"fields"`
	Outputs Outputs         `json:"outputs"`
	// Run is the run that produced the record.
	Run string `json:"run"`
	// StartedUnixMilli and DurationMillis are the start and the duration of the run.
	StartedUnixMilli int64 `json:"started_unix_ms"`
	DurationMillis   int64 `json:"duration_ms"`
	Tries
}

// Tries describes the attempts at a record's action. The zero value means a final
// result at the first attempt.
type Tries struct {
	// Provisional is the reason, in one word, why the result is not final, and Why the
	// same in a sentence. If it is set, the next run executes the action again.
	Provisional string `json:"provisional,omitempty"`
	Why         string `json:"why,omitempty"`
	// Spoilt is the number of provisional results in a row before this one. Earlier is
	// that of all other results that it replaced.
	Earlier int `json:"earlier,omitempty"`
	Spoilt  int `json:"spoilt,omitempty"`
	// GPU names the models of the GPUs that the result was made with.
	GPU string `json:"gpu,omitempty"`
	// Resumes is how often the attempt went on from a checkpoint.
	Resumes int `json:"resumes,omitempty"`
	// SecretIn are the names of the outputs that have the value of a secret, sorted and
	// separated by spaces.
	SecretIn string `json:"secret_in,omitempty"`
	// Steered is how people steered the attempt while it ran, in words separated by spaces.
	Steered string `json:"steered,omitempty"`
	// Begun is how many attempts of the same agent, or whatever else the kind counts, the
	// cache that made the result had begun by then, with this one. It travels with the
	// record where the chain that counts them does not.
	Begun int `json:"begun,omitempty"`
}

// MaxSpoilt is the number of provisional results in a row that an action may have. The
// next result is final whatever its cause: bad luck must not be a way to try for ever.
const MaxSpoilt = 2

// Count is the number of results of the action so far, with this one.
func (t Tries) Count() int { return t.Earlier + t.Spoilt + 1 }

// End marks the result as not final, because of a cause outside the action. It returns
// false if it is final nevertheless, as too many in a row were not.
func (t *Tries) End(cause, why string) (again bool) {
	if t.Why = why; t.Spoilt < MaxSpoilt {
		t.Provisional = cause
		return true
	}
	t.Why = fmt.Sprintf("%s; it is final, since the %d results before it were not", why, t.Spoilt)
	return false
}

// Final returns r if it is a final result, otherwise nil.
func (r *Record) Final() *Record {
	if r == nil || r.Provisional != "" {
		return nil
	}
	return r
}

// IsOf reports whether it is the record of an action: its fields give the key.
func (r *Record) IsOf(id digest.ActionID) bool { return r.Action == id && digest.KeyOf(r.Fields) == id }

// Field returns the value that the action hashed under a label, or "".
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

// Tombstone is the trace of an action whose outputs were evicted.
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
