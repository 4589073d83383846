package grading

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// readObjects reads the named fields of a sequence of JSON objects as columns
// of texts: a string as it is, anything else as its JSON.
func readObjects(r io.Reader, names []string) (*table.Table, error) {
	cells := make([][]string, len(names))
	in := json.NewDecoder(r)
	for row := 1; ; row++ {
		var object map[string]json.RawMessage
		err := in.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", row, err)
		}
		for i, name := range names {
			text, err := fieldText(object[name])
			if err != nil {
				return nil, fmt.Errorf("object %d: field %q: %w", row, name, err)
			}
			cells[i] = append(cells[i], text)
		}
	}
	columns := make([]*table.Column, len(names))
	for i, name := range names {
		columns[i] = table.FromTexts(name, cells[i], nil)
	}
	return table.New(columns...)
}

func fieldText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", errors.New("is missing")
	}
	if raw[0] != '"' {
		return string(raw), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}
