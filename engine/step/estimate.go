package step

import (
	"context"

	"github.com/mleflow/mleflow/cache"
)

// Estimate is the room a step needs, told before it runs. It may be too much;
// it should not be too little.
type Estimate struct {
	// CacheBytes is what the step adds to the cache for good.
	CacheBytes int64
	// PeakBytes is the most it holds at once beyond that: temporary files and
	// downloads that are not finished.
	PeakBytes int64
	// Files is how many objects it adds, 0 when it cannot tell.
	Files int64
	// Known is false when the step cannot tell; the numbers are then 0.
	Known bool
	// Basis says in one phrase where the numbers come from.
	Basis string
}

// Bytes is all that the step may hold at once.
func (e Estimate) Bytes() int64 { return e.CacheBytes + e.PeakBytes }

// Estimator is implemented by steps that add much to the cache. Estimate is
// fast and asks no network: plan calls it. Inputs that other steps have yet to
// make have no digest and no size then.
type Estimator interface{ Estimate() Estimate }

// Copy is content that a step copies before it works.
type Copy struct {
	// Ref is the content, zero while it is not known, and Name where it comes from.
	Ref  cache.Ref
	Name string
	// Shared says that steps with the same content use one copy, which may be
	// there; see cache.Sharer.
	Shared bool
	// Why is why it is copied, half a sentence.
	Why string
}

// Copier is implemented by steps that copy much, which takes time and space that a
// step's inputs do not let one expect. Copies is fast and asks no network: plan
// calls it.
type Copier interface {
	Copies(ctx context.Context, store cache.Store) []Copy
}

// Finding is the answer to one question of a preflight.
type Finding string

// The findings. The empty one means that the question does not arise.
const (
	FindingOK      Finding = "ok"
	FindingMissing Finding = "missing"
	FindingUnknown Finding = "unknown"
)

// Preflight is what a step found out about its input before any work.
type Preflight struct {
	// Subject is what is asked for, such as a competition.
	Subject string
	// Place is where it would come from, empty when it is on this machine and
	// there is nothing to ask.
	Place string
	// Bytes and Files are the size of the transfer, 0 when not known.
	Bytes int64
	Files int
	// Credential and Rules say whether there is a credential that the place
	// takes and whether its rules were accepted; Link is where to mend that.
	Credential, Rules Finding
	Link              string
	// Note is one phrase more, for people.
	Note string
	// Estimate is the estimate with what is known now.
	Estimate Estimate
}

// Preflighter is implemented by steps that fetch something. Preflight asks
// whether it can be had, without fetching it. It is called before the first
// step runs. An error means that Run would fail; one marked by Retryable that
// it may.
type Preflighter interface {
	Preflight(ctx context.Context) (Preflight, error)
}
