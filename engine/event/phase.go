package event

import "github.com/mleflow/mleflow/engine/step"

// StepPhase says what part of its work an attempt is in and how that stands.
// It replaces the phase before it.
type StepPhase struct {
	At
	Address string `json:"address"`
	step.Phase
}

// EventType implements Event.
func (StepPhase) EventType() string { return "step_phase" }
