package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const (
	actionHeader = "mleflow action 1\n"
	// maxRecord is the largest size of a stored record.
	maxRecord = 64 << 20
)

// encodeRecord returns the bytes of a record's object.
func encodeRecord(rec *cache.Record) ([]byte, error) {
	text, err := json.Marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	if len(text) > maxRecord/2 {
		return nil, fmt.Errorf("encode record: it takes %d bytes, more than %d", len(text), maxRecord/2)
	}
	data := make([]byte, 0, len(actionHeader)+len(text)+128)
	data = append(append(append(data, actionHeader...), text...), '\n')
	return sealText(data), nil
}

// decodeRecord reads the record of an action. An incomplete one, that of another action,
// or one with fields that do not give its key is cache.ErrCorrupt.
func decodeRecord(id digest.ActionID, data []byte) (*cache.Record, error) {
	body, err := unseal(data, actionHeader)
	if err != nil {
		return nil, err
	}
	rec := new(cache.Record)
	dec := json.NewDecoder(bytes.NewReader(body))
	if err := dec.Decode(rec); err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrCorrupt, err)
	}
	if !rec.IsOf(id) {
		return nil, fmt.Errorf("%w: it is the record of another action", cache.ErrCorrupt)
	}
	for name, v := range rec.Outputs {
		if !v.Ref.IsZero() && v.Ref.Kind != cache.Blob && v.Ref.Kind != cache.Tree || v.Ref.Size < 0 || v.Ref.Files < 0 {
			return nil, fmt.Errorf("%w: output %q names no object", cache.ErrCorrupt, name)
		}
	}
	return rec, nil
}

// refsOf returns the content that a record names, each reference once, in a
// fixed order.
func refsOf(rec *cache.Record) []cache.Ref {
	var refs []cache.Ref
	for _, name := range slices.Sorted(maps.Keys(rec.Outputs)) {
		ref := rec.Outputs[name].Ref
		if !ref.IsZero() && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// copyRecord returns a deep copy, so that callers may change theirs.
func copyRecord(rec *cache.Record) *cache.Record {
	other := *rec
	other.Fields = slices.Clone(rec.Fields)
	other.Outputs = maps.Clone(rec.Outputs)
	return &other
}
