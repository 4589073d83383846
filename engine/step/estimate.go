package step

import (
	"context"

	"github.com/mleflow/mleflow/cache"
)

// Estimate is the space that a step expects to need. It may be too high, but it
// should not be too low.
type Estimate struct {
	// CacheBytes is the amount that the step adds to the cache permanently.
	CacheBytes int64
	// PeakBytes is the maximum that it holds in addition: temporary files and
	// unfinished downloads.
	PeakBytes int64
	// Files is the number of objects that it adds, or 0 if unknown.
	Files int64
	// Known is false if the step cannot estimate. The numbers are then 0.
	Known bool
	// Basis describes the source of the numbers in one phrase.
	Basis string
}

// Bytes returns the maximum that the step holds at once.
func (e Estimate) Bytes() int64 { return e.CacheBytes + e.PeakBytes }

// Estimator is implemented by steps that add much to the cache. Estimate is
// fast and uses no network: plan calls it. Inputs that other steps have yet to
// make have no digest or size.
type Estimator interface{ Estimate() Estimate }

// Copy is content that a step copies before it starts.
type Copy struct {
	// Ref is the content, or zero if it is not known yet. Name describes its
	// origin.
	Ref  cache.Ref
	Name string
	// Shared means that steps with the same content use one copy, which may
	// already exist; see cache.Sharer.
	Shared bool
	// Why is the reason for the copy, as half a sentence.
	Why string
}

// Copier is implemented by steps whose copies take more time and space than
// their inputs suggest. Copies is fast and uses no network: plan calls it.
type Copier interface {
	Copies(ctx context.Context, store cache.Store) []Copy
}

// Spending is the possible spending of a step on a model. Costs are in
// billionths of a US dollar. 0 means no limit.
type Spending struct {
	// Model is the name of the model block. Models are the allowed models.
	Model    string   `json:"model"`
	Provider string   `json:"provider"`
	Models   []string `json:"models"`
	// Tools are the granted provider-side abilities. Uncounted are those whose
	// charges besides tokens are not part of Cost.
	Tools     []string `json:"tools,omitempty"`
	Uncounted []string `json:"uncounted_tools,omitempty"`
	// OwnPrices are the pipeline's prices that Cost counts with and that are not
	// those of mleflow's list.
	OwnPrices []string `json:"own_prices,omitempty"`
	// Cost, Tokens and Requests are the limits of the step.
	Cost     int64 `json:"cost_nanodollars,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	Requests int64 `json:"requests,omitempty"`
	// OneRequest is the maximum cost of a request without an output limit, if
	// it exceeds Cost or RunCost, so that no such request passes. Otherwise it
	// is 0.
	OneRequest int64 `json:"one_request_nanodollars,omitempty"`
	// RunCost is the limit of all steps of a run that use the block.
	RunCost int64 `json:"run_cost_nanodollars,omitempty"`
	// Replayed means that recordings answer and nothing is spent.
	Replayed bool `json:"replayed,omitempty"`
}

// Spender is implemented by steps that spend money. Spending is fast and uses
// no network: plan calls it.
type Spender interface{ Spending() []Spending }

// Finding is the answer to one question of a preflight.
type Finding string

// The findings. The empty one means that the question does not apply.
const (
	FindingOK      Finding = "ok"
	FindingMissing Finding = "missing"
	FindingUnknown Finding = "unknown"
)

// Preflight is a step's finding about its input before any work.
type Preflight struct {
	// Subject names the thing to fetch, such as a competition.
	Subject string
	// Place is its source, or "" if it is on this machine and there is nothing
	// to ask.
	Place string
	// Bytes and Files are the size of the transfer, or 0 if unknown.
	Bytes int64
	Files int
	// Credential reports whether there is a credential that the place accepts.
	// Rules reports whether the place's rules were accepted. Link is the
	// address for getting a missing one.
	Credential, Rules Finding
	Link              string
	// Note is an additional phrase for people.
	Note string
	// Estimate is the estimate in view of the finding.
	Estimate Estimate
}

// Preflighter is implemented by steps that fetch something. Preflight asks,
// before the first step runs, whether it is available, without fetching it. An
// error means that Run would fail. An error marked by Retryable means that it
// might.
type Preflighter interface {
	Preflight(ctx context.Context) (Preflight, error)
}
