package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/step"
)

// Recorder records the executed instances.
type Recorder struct {
	mu  sync.Mutex
	ran []string
	// Fail makes the named instances fail with the given error.
	Fail map[string]error
}

// Ran returns the instances executed since the last call, in order.
func (r *Recorder) Ran() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ran := r.ran
	r.ran = nil
	return ran
}

func (r *Recorder) record(address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, address)
	return r.Fail[address]
}

// Mix is a kind whose content output is a function of its version, its inputs,
// and its text up to '#'. Its value output is a prefix of the content. A change
// after '#' changes the key but not the result.
func Mix(name, version string, rec *Recorder) step.Kind {
	return step.Kind{
		Name: name, Version: version,
		Args: []step.Attr{
			{Name: "text", Type: cty.String, Required: true},
			{Name: "inputs", Type: cty.List(step.ArtifactType)},
		},
		Outputs: []step.Output{
			{Name: "content", Type: step.ArtifactType},
			{Name: "value", Type: cty.String},
		},
		New: func(args step.Args) (step.Step, error) {
			m := &mix{version: version, rec: rec}
			return m, args.Decode(&m.args)
		},
	}
}

type mix struct {
	version string
	rec     *Recorder
	args    struct {
		Text   string           `cty:"text"`
		Inputs []*step.Artifact `cty:"inputs"`
	}
}

// Run implements step.Step.
func (m *mix) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if err := m.rec.record(env.Address); err != nil {
		return nil, err
	}
	parts := []string{m.version, effective(m.args.Text)}
	for _, in := range m.args.Inputs {
		r, err := env.Store.Open(ctx, in.Ref.ID)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return nil, err
		}
		parts = append(parts, string(text))
	}
	content := Content(parts)
	ref, err := cache.PutBytes(ctx, env.Store, []byte(content))
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(Value(content))
	return cache.Outputs{"content": {Ref: ref}, "value": {JSON: value}}, err
}

// effective returns the part of a text that affects the result of a Mix.
func effective(text string) string {
	head, _, _ := strings.Cut(text, "#")
	return head
}

// Content returns the content that a Mix makes of its parts.
func Content(parts []string) string {
	return fmt.Sprintf("%x", cacheID(strings.Join(parts, "\x00")))
}

// Value returns the value output that belongs to a content.
func Value(content string) string { return content[:4] }
