package step

import (
	"context"

	"github.com/mleflow/mleflow/cache"
)

// Estimate is the space that a step expects to need before it runs. It may be
// too high; it should not be too low.
type Estimate struct {
	// CacheBytes is what the step adds to the cache permanently.
	CacheBytes int64
	// PeakBytes is the most that it holds at once in addition: temporary files and
	// unfinished downloads.
	PeakBytes int64
	// Files is the number of objects it adds, 0 if unknown.
	Files int64
	// Known is false if the step cannot estimate; the numbers are then 0.
	Known bool
	// Basis says in one phrase where the numbers come from.
	Basis string
}

// Bytes is all that the step may hold at once.
func (e Estimate) Bytes() int64 { return e.CacheBytes + e.PeakBytes }

// Estimator is implemented by steps that add much to the cache. Estimate is
// fast and uses no network: plan calls it. Inputs that other steps have yet to
// make have no digest or size.
type Estimator interface{ Estimate() Estimate }

// Copy is content that a step copies before it starts.
type Copy struct {
	// Ref is the content, zero if it is not known yet, and Name says where it
	// comes from.
	Ref  cache.Ref
	Name string
	// Shared says that steps with the same content use one copy, which may already
	// exist; see cache.Sharer.
	Shared bool
	// Why is the reason for copying it, as half a sentence.
	Why string
}

// Copier is implemented by steps that copy so much that it takes time and space
// which the step's inputs do not suggest. Copies is fast and uses no network:
// plan calls it.
type Copier interface {
	Copies(ctx context.Context, store cache.Store) []Copy
}

// Spending is what a step may spend on a model. Costs are billionths of a US
// dollar; 0 is no limit.
type Spending struct {
	// Model is the name of the model block, Models are those that may be asked for.
	Model    string   `json:"model"`
	Provider string   `json:"provider"`
	Models   []string `json:"models"`
	// Tools are the abilities of the provider that are granted, Uncounted those of
	// them whose charges besides tokens are not part of Cost.
	Tools     []string `json:"tools,omitempty"`
	Uncounted []string `json:"uncounted_tools,omitempty"`
	// Cost, Tokens and Requests are the limits of the step.
	Cost     int64 `json:"cost_nanodollars,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	Requests int64 `json:"requests,omitempty"`
	// OneRequest is the most that a request without a limit of its output may cost,
	// if that is more than Cost or RunCost: no such request passes. It is 0 otherwise.
	OneRequest int64 `json:"one_request_nanodollars,omitempty"`
	// RunCost is the limit of all steps of a run that use the block.
	RunCost int64 `json:"run_cost_nanodollars,omitempty"`
	// Replayed says that recordings answer, and nothing is spent.
	Replayed bool `json:"replayed,omitempty"`
}

// Spender is implemented by steps that spend money. Spending is fast and uses no
// network: plan calls it.
type Spender interface{ Spending() []Spending }

// Finding is the answer to one question of a preflight.
type Finding string

// The findings. The empty one means that the question does not apply.
const (
	FindingOK      Finding = "ok"
	FindingMissing Finding = "missing"
	FindingUnknown Finding = "unknown"
)

// Preflight is what a step found out about its input before any work.
type Preflight struct {
	// Subject is what would be fetched, such as a competition.
	Subject string
	// Place is where it would come from, empty if it is on this machine and there
	// is nothing to ask.
	Place string
	// Bytes and Files are the size of the transfer, 0 when not known.
	Bytes int64
	Files int
	// Credential and Rules say whether there is a credential that the place
	// accepts and whether its rules were accepted; Link is where to get what is
	// missing.
	Credential, Rules Finding
	Link              string
	// Note is an additional phrase for people.
	Note string
	// Estimate is the estimate, given what is known now.
	Estimate Estimate
}

// Preflighter is implemented by steps that fetch something. Preflight asks
// whether it is available, without fetching it, before the first step runs. An
// error means that Run would fail; one marked by Retryable, that it may.
type Preflighter interface {
	Preflight(ctx context.Context) (Preflight, error)
}
