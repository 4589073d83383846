package step_test

import (
	"context"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
)

// own is a step whose field "definition" a person wrote.
type own struct{}

func (own) Run(context.Context, *step.Env) (cache.Outputs, error) { return nil, nil }
func (own) Authored() []string                                    { return []string{"definition"} }

func looking() *step.Kind {
	return &step.Kind{
		Name: "look", Version: "3", LimitsInKey: true,
		Args: []step.Attr{{Name: "agent", Type: cty.String}}, Blocks: []step.Block{{Name: "network"}},
		Observation: &step.Observation{
			Earlier: []step.Earlier{{Version: "2", Lacks: []string{"moon"}}, {Version: "1", Lacks: []string{"sun", "moon"}}},
			Program: func(label string) bool { return label == "agent.price" },
		},
	}
}

// TestWritten tells what a person wrote from what the program and the machine give.
func TestWritten(t *testing.T) {
	for label, want := range map[string]bool{
		"agent": true, "agent.files[\"x\"]": true, "length of agent.files": true, "network.allow": true, "timeout": true, "resources.cpus": true, "definition": true,
		"agent.price": false, "kind version": false, "image digest": false, "condition.network": false, "agents": false,
	} {
		if got := looking().Written(own{}, label); got != want {
			t.Errorf("%s: %v", label, got)
		}
	}
}

// TestAs writes a key as older versions had it.
func TestAs(t *testing.T) {
	fields := []digest.Field{{Label: "kind version", Value: "3"}, {Label: "sun", Value: "s"}, {Label: "moon", Value: "m"}}
	for version, want := range map[string][2][]string{"1": {{"kind version"}, {"sun", "moon"}}, "2": {{"kind version", "sun"}, {"moon"}}, "0": {{"kind version", "sun", "moon"}, nil}} {
		then, lacked := looking().As(version, fields)
		var labels []string
		for _, f := range then {
			labels = append(labels, f.Label)
		}
		if !slices.Equal(labels, want[0]) || !slices.Equal(lacked, want[1]) || version != "0" && then[0].Value != version || fields[0].Value != "3" {
			t.Errorf("version %s: %v, lacks %v", version, then, lacked)
		}
		if reads := looking().Reads(version); reads != (version != "0") {
			t.Errorf("version %s is read: %v", version, reads)
		}
	}
}
