package agentrun

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/steps/agentrun/modelblock"
)

// transcript is the conversation of the agent and its models, as content, and what was
// used of each; empty without models. The gateway serves no more.
func (s *session) transcript(ctx context.Context) (map[string]export.ModelUse, cache.Ref, error) {
	use := map[string]export.ModelUse{}
	if s.models == nil || s.models.gateway == nil {
		ref, err := new(tree.Builder).Build(ctx, s.env.Store)
		return use, ref, err
	}
	for i, sum := range s.models.gateway.Summary() {
		use[sum.Model] = modelblock.UseOf(s.args.Agent.Models[i].Provider, sum)
	}
	if n, why := s.models.writer.Dropped(); n > 0 {
		s.env.Note("not in the transcript: %d bodies or exchanges, beyond its limit of %d bytes (%v)", n, int64(transcriptBytes), why)
	}
	if err := s.models.close(); err != nil {
		return nil, cache.Ref{}, fmt.Errorf("keep transcript: %w", err)
	}
	at := filepath.Join(s.models.dir, transcriptFolder)
	r, err := s.models.open(at)
	if err == nil {
		s.health, err = modelblock.AddExchanges(use, r)
		s.models.close() //nolint:errcheck // it was read
	}
	if err != nil {
		return nil, cache.Ref{}, fmt.Errorf("read transcript: %w", err)
	}
	ref, err := tree.Import(ctx, s.env.Store, at, tree.ImportOptions{})
	if err != nil {
		return nil, cache.Ref{}, fmt.Errorf("keep transcript: %w", err)
	}
	return use, ref, nil
}
