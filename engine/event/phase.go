package event

import "github.com/mleflow/mleflow/engine/step"

// StepPhase is the current phase of an attempt with its state. It replaces the
// previous one.
type StepPhase struct {
	At
	Address string `json:"address"`
	step.Phase
}

// EventType implements Event.
func (StepPhase) EventType() string { return "step_phase" }
