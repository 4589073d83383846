package aggregate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
)

// attempt are the outputs of an agent-run step that are used.
type attempt struct {
	Logs    *step.Artifact `cty:"logs"`
	Outcome string         `cty:"outcome"`
	Stats   stats          `cty:"stats"`
}

type stats struct {
	WallSeconds float64                     `cty:"wall_seconds"`
	CPUSeconds  float64                     `cty:"cpu_seconds"`
	Validations int                         `cty:"validations"`
	Models      map[string]results.ModelUse `cty:"models" optional:"true"`
}

// checkAttempts checks that there is one attempt per report and, as far as the
// keys of their addresses show, that each belongs to its report.
func (a *aggregation) checkAttempts() error {
	if len(a.args.Attempts) == 0 {
		return nil
	}
	if len(a.args.Attempts) != len(a.args.Reports) {
		return fmt.Errorf("there are %d attempts and %d reports; list both in the same order, as values(step.agent-run.NAME) and values(step.grade.NAME)[*].report do",
			len(a.args.Attempts), len(a.args.Reports))
	}
	for i, r := range a.args.Reports {
		report, attempt := instanceKey(r), instanceKey(a.args.Attempts[i].Logs)
		if report != "" && attempt != "" && report != attempt {
			return fmt.Errorf("attempt %d is of %s and report %d of %s; list both in the same order", i+1, a.args.Attempts[i].Logs.From, i+1, r.From)
		}
	}
	return nil
}

// instanceKey returns the ["key"] of the address that made an artifact.
func instanceKey(a *step.Artifact) string {
	if a == nil {
		return ""
	}
	_, key, _ := strings.Cut(a.From, "[")
	return key
}

// known returns the known facts about an attempt. The model gateway's measurements
// override the agent's own figures. Usage that cannot be read is omitted with a
// warning, because the agent wrote it.
func (t attempt) known(ctx context.Context, env *step.Env) (out *results.Made, err error) {
	out = &results.Made{Outcome: outcome.End(t.Outcome), WallSeconds: &t.Stats.WallSeconds, CPUSeconds: &t.Stats.CPUSeconds, Validations: &t.Stats.Validations}
	if out.Usage = results.Measured(t.Stats.Models); out.Usage != nil || t.Logs == nil {
		return out, nil
	}
	out.Usage, err = results.Claimed(ctx, env.Store, t.Logs.Ref)
	switch {
	case errors.Is(err, results.ErrUsage):
		env.Warn(fmt.Sprintf("%s: %v", t.Logs.From, err))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t.Logs.From, err)
	}
	return out, nil
}
