package ui

import (
	"errors"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Results is the cache that results are read from.
type Results interface {
	cache.Files
	cache.Index
}

// Source provides the data of pages.
type Source struct {
	History *history.Store
	// Results gives use the cache of a run, with the remote cache of its pipeline
	// behind it; without a run, the local one.
	Results func(past *history.Past, use func(Results) error) error
	// Catalog are the competitions that are known for a run, or without one.
	Catalog func(past *history.Past) (*competitions.Catalog, error)
	// Kept is the folder of the local cache that is kept under a key.
	Kept    func(key string) (string, error)
	Version string
	// Base is the path below which the pages are, such as "/mleflow"; "" is the root.
	Base string
	// More are pages of the server besides these, to which every page leads; see UI.Page.
	More []page.Link
	// Now is the time; nil is time.Now.
	Now func() time.Time
}

// errNothing means that there is no such page, run, step or file.
var errNothing = errors.New("there is nothing at this address")

// outline is what is known of a transcript without its bodies: where its exchanges are,
// and their sums.
type outline struct {
	turns []exchange
	start time.Time
	// failed are the exchanges that did not succeed, by their numbers, in order.
	failed        []int
	input, output int64
	cost          int64
}

// exchange is where and when an exchange is.
type exchange struct {
	transcript.Span
	at time.Time
}

// maxOutlines is the number of remembered outlines.
const maxOutlines = 2

// outlineOf reads the events of a transcript.
func outlineOf(r *transcript.Reader) (*outline, error) {
	out := &outline{}
	for e, err := range r.Headlines() {
		if err != nil {
			return out, err
		}
		if len(out.turns) == 0 {
			out.start = e.Time
		}
		if e.Status != 200 {
			out.failed = append(out.failed, len(out.turns))
		}
		if e.Usage != nil {
			out.input, out.output = out.input+e.Usage.Input, out.output+e.Usage.Output
		}
		out.cost += e.Cost
		out.turns = append(out.turns, exchange{e.Span, e.Time})
	}
	return out, nil
}
