package agentrun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// transcript stores the transcript of the agent and its models, and sets the use of
// each model. Both are empty without models. The gateway must not serve any more.
func (f *finished) transcript(ctx context.Context) (ref cache.Ref, err error) {
	f.use = map[string]results.ModelUse{}
	if f.models == nil {
		return new(tree.Builder).Build(ctx, f.env.Store)
	}
	at, err := f.models.settle(f.use, &f.health)
	if err != nil {
		return cache.Ref{}, err
	}
	if ref, err = tree.Import(ctx, f.env.Store, at, tree.ImportOptions{}); err != nil {
		return cache.Ref{}, fmt.Errorf("keep transcript: %w", err)
	}
	return ref, nil
}

// settle adds up the use of each model and the health of the providers. It returns the
// folder of the complete transcript.
func (m *modelGate) settle(use map[string]results.ModelUse, health *modelblock.Health) (at string, err error) {
	for i, sum := range m.gateway.Summary() {
		use[sum.Model] = modelblock.UseOf(m.args.Agent.Models[i].Provider, sum)
	}
	if n, why := m.writer.Dropped(); n > 0 {
		m.env.Note("not in the transcript: %d bodies or exchanges, beyond its limit of %d bytes (%v)", n, int64(transcriptBytes), why)
	}
	if err := m.close(); err != nil {
		return "", fmt.Errorf("keep transcript: %w", err)
	}
	at = filepath.Join(m.dir, transcriptFolder)
	r, err := m.read(at)
	if err == nil {
		*health, err = modelblock.AddExchanges(use, r)
		m.close() //nolint:errcheck // it was only read
	}
	if err != nil {
		return "", fmt.Errorf("read transcript: %w", err)
	}
	return at, nil
}

// paused returns the time given back to the agent so far.
func (m *modelGate) paused() time.Duration {
	if m == nil || m.gateway == nil {
		return 0
	}
	return m.gateway.Paused()
}

// clockPause is the interval at which the models and the agent's clock are checked.
const clockPause = 200 * time.Millisecond

var errBudget = errors.New("the agent repeats what its budget refuses")

// watch ends the attempt when a pausable clock is past its limit, or when the agent
// only repeats requests that its budget refuses.
func (m *modelGate) watch(ctx context.Context, end context.CancelCauseFunc) {
	if m == nil {
		return
	}
	for {
		if progress.Sleep(ctx, clockPause) != nil {
			return
		}
		if why := m.gateway.Futile(); why != "" {
			m.env.Note("stopped: %s", why)
			end(errBudget)
			return
		}
		if m.over() {
			limit := m.limit()
			m.env.Note("stopped: the time limit of %v, of which %v were given back", limit.Round(time.Second), (limit - m.given).Round(time.Second))
			end(errTime)
			return
		}
	}
}
