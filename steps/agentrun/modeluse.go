package agentrun

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/model"
)

// transcript is what the agent and its models said, as content, and what was
// used of each; empty without models. The gateway serves no more.
func (s *session) transcript(ctx context.Context) (map[string]export.ModelUse, cache.Ref, error) {
	use := map[string]export.ModelUse{}
	if s.models == nil || s.models.gateway == nil {
		ref, err := new(tree.Builder).Build(ctx, s.env.Store)
		return use, ref, err
	}
	for i, sum := range s.models.gateway.Summary() {
		use[sum.Model] = useOf(s.args.Agent.Models[i].Provider, sum)
	}
	if n, why := s.models.writer.Dropped(); n > 0 {
		fmt.Fprintf(s.env.Log, "not in the transcript: %d bodies or exchanges, beyond its limit of %d bytes (%v)\n", n, int64(transcriptBytes), why)
	}
	if err := s.models.close(); err != nil {
		return nil, cache.Ref{}, fmt.Errorf("keep transcript: %w", err)
	}
	at := filepath.Join(s.models.dir, transcriptFolder)
	if err := s.readExchanges(at, use); err != nil {
		return nil, cache.Ref{}, fmt.Errorf("read transcript: %w", err)
	}
	ref, err := tree.Import(ctx, s.env.Store, at, tree.ImportOptions{})
	if err != nil {
		return nil, cache.Ref{}, fmt.Errorf("keep transcript: %w", err)
	}
	return use, ref, nil
}

func useOf(provider string, sum model.Summary) export.ModelUse {
	u := export.ModelUse{
		Provider: provider, Models: []string{}, Unreported: sum.Unreported,
		CostUSD: sum.Cost.String(), WaitedSeconds: sum.Waited, Exhausted: len(sum.Exhausted) > 0,
	}
	for _, n := range sum.Refused {
		u.Refused += n
	}
	if q := sum.FirstByte; q != nil {
		u.FirstByteMedian, u.FirstByteNinety, u.FirstByteLongest = q.Median, q.Slow, q.Most
	}
	return u
}

// readExchanges adds what the exchanges tell. They are those of the last try; the
// cost is that of all.
func (s *session) readExchanges(at string, use map[string]export.ModelUse) error {
	r, err := s.models.open(at)
	if err != nil {
		return err
	}
	defer s.models.close() //nolint:errcheck // it was read
	for e, err := range r.Events() {
		if err != nil {
			return err
		}
		u, ok := use[e.Model]
		if !ok || e.Refused != "" {
			continue
		}
		u.Requests++
		if e.Replayed {
			u.Replayed++
		}
		if t := e.Usage; t != nil {
			u.InputTokens, u.CachedInputTokens = u.InputTokens+t.Input, u.CachedInputTokens+t.CacheRead
			u.OutputTokens, u.ReasoningTokens = u.OutputTokens+t.Output, u.ReasoningTokens+t.Reasoning
		}
		u.Retries += int64(len(e.Attempts))
		if e.Failed != "" || e.Status >= 400 {
			u.Failed++
		} else if e.Asked != "" && !slices.Contains(u.Models, e.Asked) {
			u.Models = append(u.Models, e.Asked)
			slices.Sort(u.Models)
		}
		if e.Diverged != "" && (u.DivergedAt == 0 || int64(e.Sequence) < u.DivergedAt) {
			u.DivergedAt = int64(e.Sequence)
		}
		use[e.Model] = u
	}
	return nil
}

// exhausted reports whether a request was refused because a budget was
// exhausted.
func exhausted(use map[string]export.ModelUse) bool {
	for _, u := range use {
		if u.Exhausted {
			return true
		}
	}
	return false
}
