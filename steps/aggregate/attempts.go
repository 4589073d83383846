package aggregate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
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
func (t attempt) known(ctx context.Context, env *step.Env) (*results.Made, error) {
	out := &results.Made{
		Outcome: outcome.End(t.Outcome), WallSeconds: &t.Stats.WallSeconds, CPUSeconds: &t.Stats.CPUSeconds, Validations: &t.Stats.Validations,
	}
	if out.Usage = results.Measured(t.Stats.Models); out.Usage != nil {
		return out, nil
	}
	if t.Logs == nil || t.Logs.Ref.Kind != cache.Tree {
		return out, nil
	}
	e, err := tree.Find(ctx, env.Store, t.Logs.Ref, results.UsageFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find %s of %s: %w", results.UsageFile, t.Logs.From, err)
	}
	if e.Ref().Size > results.MaxUsageBytes {
		env.Warn(fmt.Sprintf("%s of %s has %d bytes, which is too many; it is ignored", results.UsageFile, t.Logs.From, e.Ref().Size))
		return out, nil
	}
	data, err := cache.Get(ctx, env.Store, e.Ref().ID, results.MaxUsageBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", results.UsageFile, t.Logs.From, err)
	}
	if out.Usage, err = results.ReadUsage(data); err != nil {
		env.Warn(fmt.Sprintf("%s: %v", t.Logs.From, err))
	}
	return out, nil
}
