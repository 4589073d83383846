package engine

import (
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// Read returns the digests of the files that the pipeline was read from, and of what they
// name, by paths relative to the pipeline's folder.
func (p *Program) Read() (map[string]string, error) {
	own := filepath.Base(p.Pipeline.Path)
	by := map[string][]local.Answer{}
	for _, a := range p.Pipeline.LocalFiles().Answers() {
		name := path.Clean(filepath.ToSlash(a.Path))
		if name == own {
			name += " as content"
		}
		by[name] = append(by[name], a)
	}
	sums := map[string]string{own: digest.Of(p.Pipeline.Source).String()}
	for name, list := range by { // each file may be read in several ways, in any order
		texts := make([]string, len(list))
		for i, a := range list {
			text, err := local.Encode([]local.Answer{a})
			if err != nil {
				return nil, err
			}
			texts[i] = string(text)
		}
		slices.Sort(texts)
		sums[name] = digest.Of([]byte(strings.Join(texts, ""))).String()
	}
	return sums, nil
}

// settled is the digest of what is known of the key of a step whose content is not: the
// machine's choices and the step's own fields, such as the definition of its competition
// and the digest of its image. What cannot be found out is left out.
func settled(k *step.Kind, c constructed) string {
	h := digest.NewHasher(k.Name, k.Version)
	for _, choice := range c.choices {
		h.String(choice.Arg, choice.Value)
	}
	if f, ok := c.Step.(step.Fingerprinter); ok {
		_ = f.Fingerprint(h)
	}
	return h.Sum().String()
}

// forgo makes a step that is to run again use its result, if a run that did a part of the
// same plan made it.
func (e *Engine) forgo(ctx context.Context, p *Program, n *node, done func(run string) bool) {
	if done == nil || !n.forced && !n.retried {
		return
	}
	d, diags := e.decide(ctx, p, n.index, false)
	if !diags.HasErrors() && d.record != nil && done(d.record.Run) {
		n.forced, n.retried = false, false
	}
}

// Sensitive returns the names of the sensitive variables.
func (p *Program) Sensitive() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Pipeline.Variables)) {
		if p.Pipeline.Variables[name].Sensitive {
			names = append(names, name)
		}
	}
	return names
}
