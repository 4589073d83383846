package cache

import (
	"context"

	"github.com/mleflow/mleflow/cache/digest"
)

// Drafter is a Store from which content that was superseded can be removed before the
// next collection.
type Drafter interface {
	// Prune removes the drafts of the context's owner that no record and no pin leads
	// to, and that keep does not contain, and returns them. A draft is an object that was stored first with a context of
	// WithDrafts, and that nobody else has stored or looked for since. An error
	// means that something may be left, which a collection removes.
	Prune(ctx context.Context, keep ...Ref) (gone map[digest.ContentID]bool, err error)
}

type draftsKey struct{}

// WithDrafts returns a context with which an owner stores drafts. Owners are compared
// by identity.
func WithDrafts(ctx context.Context, owner any) context.Context {
	return context.WithValue(ctx, draftsKey{}, owner)
}

// DraftsOf returns the owner of the drafts that are stored with a context, or nil.
func DraftsOf(ctx context.Context) any { return ctx.Value(draftsKey{}) }
