package event

import (
	"encoding/json"
	"fmt"
)

// Encode returns the event as one line of JSON, without newline: an object
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

// Decode reads a line that Encode wrote.
func Decode(line []byte) (Event, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	decode, ok := decoders[head.Type]
	if !ok {
		return nil, fmt.Errorf("decode event: unknown type %q", head.Type)
	}
	return decode(line)
}

var decoders = map[string]func([]byte) (Event, error){
	RunStarted{}.EventType():   decodeAs[RunStarted],
	StepStarted{}.EventType():  decodeAs[StepStarted],
	StepProgress{}.EventType(): decodeAs[StepProgress],
	StepLog{}.EventType():      decodeAs[StepLog],
	StepRetry{}.EventType():    decodeAs[StepRetry],
	StepFinished{}.EventType(): decodeAs[StepFinished],
	RunFinished{}.EventType():  decodeAs[RunFinished],
	OutputValue{}.EventType():  decodeAs[OutputValue],
	Warning{}.EventType():      decodeAs[Warning],
}

func decodeAs[E Event](line []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", e.EventType(), err)
	}
	return e, nil
}
