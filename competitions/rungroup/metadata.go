package rungroup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// metadataName is the file that makes a folder a run group.
const metadataName = "metadata.json"

// Metadata is the file metadata.json.
type Metadata struct {
	RunGroup  string  `json:"run_group"`
	CreatedAt string  `json:"created_at"`
	Runs      Records `json:"runs"`
	// Mleflow says which run was written out; others leave it out.
	Mleflow *Writer `json:"mleflow,omitempty"`
}

// Writer is the run of mleflow that a group was written from.
type Writer struct {
	Version string `json:"version"`
	Run     string `json:"run"`
}

// Records are the runs in the order of the file.
type Records []Record

// Record is the entry of a run in the metadata. The reference writes Success only:
// that nothing went wrong around the agent, whatever the agent did.
type Record struct {
	ID      string `json:"-"`
	Success *bool  `json:"success,omitempty"`

	// What mleflow adds; Conditions are those that the attempt was made under, and
	// Evidence is the trajectory that Agent and Usage are from, if it was imported.
	Agent       string         `json:"agent,omitempty"`
	Usage       *grading.Usage `json:"usage,omitempty"`
	Evidence    string         `json:"evidence,omitempty"`
	Address     string         `json:"address,omitempty"`
	Seed        string         `json:"seed,omitempty"`
	Outcome     outcome.End    `json:"outcome,omitempty"`
	WallSeconds *float64       `json:"wall_seconds,omitempty"`
	Conditions  []string       `json:"conditions,omitempty"`
}

// check refuses amounts that no attempt can have used, and says that what is left is claimed.
func (r *Record) check() error {
	if r.Usage != nil {
		r.Usage.Source = grading.FromClaim
		if err := r.Usage.Check(); err != nil {
			return err
		}
	}
	return checkSeconds(r.WallSeconds)
}

// UnmarshalJSON reads an object of runs, in its order, or a list of their
// names.
func (r *Records) UnmarshalJSON(data []byte) error {
	var names []string
	if json.Unmarshal(data, &names) == nil {
		for _, name := range names {
			*r = append(*r, Record{ID: name})
		}
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return errors.New("runs is neither an object nor a list of names")
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		run := Record{ID: name.(string)}
		if seen[run.ID] {
			return fmt.Errorf("run %q is there twice", run.ID)
		}
		seen[run.ID] = true
		// What others write of a run may have any form.
		if json.Unmarshal(raw, &run) != nil {
			run = Record{ID: run.ID}
		}
		*r = append(*r, run)
	}
	return nil
}

// MarshalJSON writes an object in the order of the runs.
func (r Records) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, run := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(run.ID)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(run)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
