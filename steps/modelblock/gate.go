package modelblock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// Check implements Kind.CheckModel for the kinds that use models.
func Check(m step.Model) error {
	_, err := Of(m)
	return err
}

// Key returns the provider's key of a model, or "" if it needs none.
func Key(ctx context.Context, m step.Model) (value string, err error) {
	if m.Key.Ref == "" || !Live(m) {
		return "", nil
	}
	ref, err := secret.ParseRef(m.Key.Ref)
	if err == nil {
		value, err = ref.Resolve(ctx)
	}
	if err == nil && value == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("key of model %q: %w", m.Name, err)
	}
	return value, nil
}

// Pools holds the budgets that all steps of a run share.
type Pools struct{ pools sync.Map }

// Of returns the budget of a model in a run, or nil if it has none.
func (p *Pools) Of(run string, m step.Model) *gateway.Pool {
	if m.RunBudget == (step.ModelBudget{}) {
		return nil
	}
	r := modelReader{m: m}
	pool, _ := p.pools.LoadOrStore(run+" "+m.Name, gateway.NewPool(r.limits("run_budget", m.RunBudget)))
	return pool.(*gateway.Pool)
}

// Canonical returns the canonical form of a request; see transcript.Canonical.
func Canonical(provider string, op dialect.Operation, body []byte) (dialect.Canonical, error) {
	d := dialect.Named(provider)
	if d == nil {
		return dialect.Canonical{}, fmt.Errorf("there is no provider %q", provider)
	}
	return d.Canonical(string(op), body)
}
