package event

import "github.com/mleflow/mleflow/engine/step"

// StepPhase says in which phase an attempt is, and the state of that phase. It
// replaces the previous one.
type StepPhase struct {
	At
	Address string `json:"address"`
	step.Phase
}

// EventType implements Event.
func (StepPhase) EventType() string { return "step_phase" }
