package source

import (
	"context"
	"errors"
	"fmt"
)

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

// Inspect asks the source of that name. A source that is not an Inspector
// returns nothing, which is not an error.
func (r *Registry) Inspect(ctx context.Context, name string, spec Spec) (Availability, error) {
	s, err := r.Get(name)
	if err != nil {
		return Availability{}, err
	}
	if err := s.Check(spec); err != nil {
		return Availability{}, fmt.Errorf("inspect source: %w", err)
	}
	if i, ok := s.(Inspector); ok {
		return i.Inspect(ctx, spec)
	}
	return Availability{Note: "cannot be asked before the download"}, nil
}
