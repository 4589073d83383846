package lockfile

import (
	"slices"
	"strconv"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
)

// format is the version of the format.
const format = 1

// File is a lock file.
type File struct {
	// Version is the version of the program that wrote the file.
	Version string
	// Pipeline is the base name of the pipeline file.
	Pipeline string
	// Steps are sorted by address.
	Steps []Step
}

// Step holds the pins of one instance.
type Step struct {
	Addr addr.Instance
	// Action is the instance's key, or zero if an input varies.
	Action digest.ActionID
	// Inputs are the fields of the key by label; see Inputs.
	Inputs map[string]string
	// Outputs are the outputs by name, or nil if none are pinned. See Outputs.
	Outputs map[string]string
}

// Inputs converts the fields of a key for a Step.
func Inputs(fields []digest.Field) map[string]string {
	inputs := make(map[string]string, len(fields))
	for _, f := range fields {
		label := f.Label
		for n := 2; ; n++ {
			if _, taken := inputs[label]; !taken {
				break
			}
			label = f.Label + " (" + strconv.Itoa(n) + ")"
		}
		inputs[label] = f.Value
	}
	return inputs
}

// Outputs converts an action's outputs for a Step.
func Outputs(outputs cache.Outputs) map[string]string {
	pins := make(map[string]string, len(outputs))
	for name, v := range outputs {
		if v.Ref.IsZero() {
			pins[name] = string(v.JSON)
			continue
		}
		pins[name] = string(v.Ref.Kind) + " " + v.Ref.ID.String()
	}
	return pins
}

// Find returns the step at an address.
func (f *File) Find(a addr.Instance) (Step, bool) {
	i, found := slices.BinarySearchFunc(f.Steps, a, func(s Step, a addr.Instance) int { return s.Addr.Compare(a) })
	if !found {
		return Step{}, false
	}
	return f.Steps[i], true
}

// sort puts the steps in order.
func (f *File) sort() {
	slices.SortFunc(f.Steps, func(a, b Step) int { return a.Addr.Compare(b.Addr) })
}

// New returns the lock of the given steps.
func New(version, pipeline string, steps []Step) *File {
	f := &File{Version: version, Pipeline: pipeline, Steps: slices.Clone(steps)}
	f.sort()
	return f
}

// Update returns f with the selected steps replaced by those of newer, or
// removed if newer does not have them. Other steps stay unchanged.
func (f *File) Update(newer *File, selected func(addr.Instance) bool) *File {
	steps := make([]Step, 0, len(newer.Steps))
	for _, s := range f.Steps {
		if !selected(s.Addr) {
			steps = append(steps, s)
		}
	}
	for _, s := range newer.Steps {
		if selected(s.Addr) {
			steps = append(steps, s)
		}
	}
	return New(newer.Version, newer.Pipeline, steps)
}
