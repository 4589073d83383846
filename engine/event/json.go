package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Encode returns the event as one line of JSON without a newline: an object
// whose first field is "type".
func Encode(e Event) ([]byte, error) {
	name := TypeOf(e)
	if name == "" {
		return nil, fmt.Errorf("encode event: %T has no type", e)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", name, err)
	}
	line := make([]byte, 0, len(body)+32)
	line = append(line, `{"type":"`...)
	line = append(line, name...)
	line = append(line, `",`...)
	return append(line, body[1:]...), nil
}

// Decode parses a line written by Encode, or any object with a "type".
func Decode(line []byte) (Event, error) {
	kind, err := lineType(line)
	if err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	if types[kind] == nil {
		return nil, fmt.Errorf("decode event: unknown type %q", kind)
	}
	e := reflect.New(reflect.TypeOf(types[kind]))
	if err := json.Unmarshal(line, e.Interface()); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", kind, err)
	}
	return e.Elem().Interface().(Event), nil
}

// lineType returns the type of a line. If the line begins as Encode's do, it does not parse
// the rest.
func lineType(line []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte(`"`)); ok && types[string(name)] != nil {
			return string(name), nil
		}
	}
	var head struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(line, &head)
	return head.Type, err
}

// types has an event of each type by its "type" in JSON.
var types = map[string]Event{
	"run_started":        RunStarted{},
	"step_started":       StepStarted{},
	"step_job":           StepJob{},
	"step_progress":      StepProgress{},
	"step_phase":         StepPhase{},
	"waiting":            Waiting{},
	"expected_end":       ExpectedEnd{},
	"step_log":           StepLog{},
	"step_waiting":       StepWaiting{},
	"preflight":          Preflight{},
	"preflight_finished": PreflightFinished{},
	"step_retry":         StepRetry{},
	"step_finished":      StepFinished{},
	"run_finished":       RunFinished{},
	"evaluated":          Evaluated{},
	"output":             OutputValue{},
	"publishing":         Publishing{},
	"published":          Published{},
	"steered":            Steered{},
	"stalled":            Stalled{},
	"warning":            Warning{},
}

// names are the keys of types.
var names = func() map[reflect.Type]string {
	all := make(map[reflect.Type]string, len(types))
	for name, e := range types {
		all[reflect.TypeOf(e)] = name
	}
	return all
}()

// Readdressed returns an event that has an address with another one.
func Readdressed(e Event, other func(address string) string) Event {
	own := reflect.New(reflect.TypeOf(e)).Elem()
	own.Set(reflect.ValueOf(e))
	at := own.FieldByName("Address")
	at.SetString(other(at.String()))
	return own.Interface().(Event)
}

// TypeOf returns the value of "type" in JSON, or "" if it is not among the types.
func TypeOf(e Event) string { return names[reflect.TypeOf(e)] }
