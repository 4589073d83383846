package transcript

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Segment is a run of exchanges with a model block in which each prompt begins with all
// tokens before it, so that they are one sequence of tokens.
type Segment struct {
	Model string
	// IDs are the tokens. The first Prompt of them are the prompt of the first exchange.
	IDs    []uint32
	Prompt int
	// Mask and Logprobs are of the tokens after the first prompt. Mask is 1 for one that the
	// model sampled. Logprobs is NaN for any other, and where it is not known.
	Mask     []uint8
	Logprobs []float64
	Calls    []SegmentCall
	// Break says why the segment continues no other. It is nil for the first of its block.
	Break *Break
	// Last is the last exchange.
	Last *Event
}

// SegmentCall is an exchange of a segment. What it sampled begins at Start among the IDs.
type SegmentCall struct {
	Sequence int `json:"sequence"`
	Choice   int `json:"choice"`
	Start    int `json:"start"`
	Sampled  int `json:"sampled"`
}

// Break is a place where the tokens of a block are no longer one sequence.
type Break struct {
	// Reason is "prompt" if the prompt does not begin with the tokens before it, "missing"
	// if an exchange before it has no ids that count, and "choice" for a further choice of
	// the same exchange.
	Reason string `json:"reason"`
	// After is the last exchange of the segment that has the longest beginning in common,
	// and Common the length of that.
	After  int `json:"after,omitempty"`
	Common int `json:"common"`
	// Missing is the exchange without ids, and Problem why.
	Missing int    `json:"missing,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// mostOpen is the number of segments that may still be continued.
const mostOpen = 16

// segmenter assembles segments.
type segmenter struct {
	open    []*Segment
	missing map[string]*Break
	seen    map[string]bool
}

// Segments returns the tokens of the exchanges as segments, in the order in which they can
// no longer be continued. Each sampled token is in one of them, once. Exchanges whose ids do
// not count are given to skip, with the reason, in their order.
func (r *Reader) Segments(skip func(sequence int, problem string)) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		list, err := r.generated()
		s := segmenter{missing: map[string]*Break{}, seen: map[string]bool{}}
		for _, e := range list {
			var t *dialect.Tokens
			if t, err = r.Sampled(e); err != nil {
				break
			}
			if problem := problemOf(e, t); problem != "" {
				skip(e.Sequence, problem)
				s.missing[e.Model] = &Break{Reason: "missing", Missing: e.Sequence, Problem: problem}
				continue
			}
			s.add(e, t)
			for len(s.open) > mostOpen {
				if !yield(s.open[0], nil) {
					return
				}
				s.open = s.open[1:]
			}
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for _, one := range s.open {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// generated returns the exchanges in which a model wrote something, in the order of their
// requests.
func (r *Reader) generated() (list []*Event, err error) {
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		wrote := e.Sampling != nil || e.Usage != nil && e.Usage.Output > 0
		if wrote && e.Refused == "" && e.Status < http.StatusMultipleChoices {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b *Event) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return list, nil
}

// problemOf says why the tokens of an exchange do not count, or "".
func problemOf(e *Event, t *dialect.Tokens) string {
	switch {
	case t == nil:
		return fmt.Sprintf("the server was not asked for token ids in the operation %s", e.Operation)
	case t.Problem != "":
		return t.Problem
	case len(t.Prompt) == 0 || len(t.Choices) == 0:
		return "the transcript has no token ids"
	}
	return ""
}

// add adds an exchange. Its first choice continues the longest segment that it can.
func (s *segmenter) add(e *Event, t *dialect.Tokens) {
	var best *Segment
	broken := Break{Reason: "prompt"}
	for _, o := range s.open {
		if o.Model != e.Model {
			continue
		}
		n := commonIDs(o.IDs, t.Prompt)
		if n == len(o.IDs) && (best == nil || n >= len(best.IDs)) {
			best = o
		}
		if n >= broken.Common {
			broken.Common, broken.After = n, o.Last.Sequence
		}
	}
	if missing := s.missing[e.Model]; missing != nil {
		best, broken.Reason, broken.Missing, broken.Problem = nil, missing.Reason, missing.Missing, missing.Problem
		delete(s.missing, e.Model)
	}
	for i, c := range t.Choices {
		if len(c.IDs) == 0 {
			continue
		}
		to := best
		if best = nil; to == nil {
			to = &Segment{Model: e.Model, IDs: slices.Clone(t.Prompt), Prompt: len(t.Prompt)}
			if s.seen[e.Model] || broken.Reason != "prompt" {
				why := broken
				to.Break = &why
			}
		}
		to.append(t.Prompt[len(to.IDs):], nil, 0)
		to.Calls = append(to.Calls, SegmentCall{e.Sequence, i, len(to.IDs), len(c.IDs)})
		to.append(c.IDs, c.Logprobs, 1)
		to.Last = e
		s.open = append(slices.DeleteFunc(s.open, func(o *Segment) bool { return o == to }), to)
		s.seen[e.Model], broken = true, Break{Reason: "choice", After: e.Sequence, Common: len(t.Prompt)}
	}
}

// append adds tokens after the first prompt.
func (s *Segment) append(ids []uint32, logprobs []float64, mask uint8) {
	s.IDs = append(s.IDs, ids...)
	for i := range ids {
		value := math.NaN()
		if i < len(logprobs) {
			value = logprobs[i]
		}
		s.Mask, s.Logprobs = append(s.Mask, mask), append(s.Logprobs, value)
	}
}
