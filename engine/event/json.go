package event

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the event as one line of JSON without a newline: an object
// whose first field is "type".
func Encode(e Event) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.EventType(), err)
	}
	line := make([]byte, 0, len(body)+32)
	line = append(line, `{"type":"`...)
	line = append(line, e.EventType()...)
	line = append(line, `",`...)
	return append(line, body[1:]...), nil
}

// Decode parses a line written by Encode, or any object with a "type".
func Decode(line []byte) (Event, error) {
	kind, err := typeOf(line)
	if err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	decode, ok := decoders[kind]
	if !ok {
		return nil, fmt.Errorf("decode event: unknown type %q", kind)
	}
	return decode(line)
}

// typeOf returns the type. If the line begins as Encode's do, it does not parse
// the rest.
func typeOf(line []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte(`"`)); ok && decoders[string(name)] != nil {
			return string(name), nil
		}
	}
	var head struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(line, &head)
	return head.Type, err
}

var decoders = map[string]func([]byte) (Event, error){
	RunStarted{}.EventType():        decodeAs[RunStarted],
	StepStarted{}.EventType():       decodeAs[StepStarted],
	StepJob{}.EventType():           decodeAs[StepJob],
	StepProgress{}.EventType():      decodeAs[StepProgress],
	StepPhase{}.EventType():         decodeAs[StepPhase],
	Waiting{}.EventType():           decodeAs[Waiting],
	ExpectedEnd{}.EventType():       decodeAs[ExpectedEnd],
	StepLog{}.EventType():           decodeAs[StepLog],
	StepWaiting{}.EventType():       decodeAs[StepWaiting],
	Preflight{}.EventType():         decodeAs[Preflight],
	PreflightFinished{}.EventType(): decodeAs[PreflightFinished],
	StepRetry{}.EventType():         decodeAs[StepRetry],
	StepFinished{}.EventType():      decodeAs[StepFinished],
	RunFinished{}.EventType():       decodeAs[RunFinished],
	Evaluated{}.EventType():         decodeAs[Evaluated],
	OutputValue{}.EventType():       decodeAs[OutputValue],
	Publishing{}.EventType():        decodeAs[Publishing],
	Published{}.EventType():         decodeAs[Published],
	Warning{}.EventType():           decodeAs[Warning],
}

func decodeAs[E Event](line []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", e.EventType(), err)
	}
	return e, nil
}
