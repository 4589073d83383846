package rungroup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// Stamp writes a time as the reference does in names and metadata.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15-04-05") + "-GMT" }

// GroupName returns a name for an agent's run group of a run of ours below dir. The
// reference's has a resolution of one second: if the group of another run took it,
// the time gets a number, from _0002.
func GroupName(dir string, started time.Time, agent, run string) string {
	stamp, agent := Stamp(started), strings.NewReplacer("/", "_", "\\", "_").Replace(agent)
	for n := 2; ; n++ {
		name := stamp + "_run-group_" + agent
		meta, err := readMetadata(filepath.Join(dir, name, metadataName))
		if err != nil || meta.Mleflow == nil || meta.Mleflow.Run == run {
			return name
		}
		stamp = fmt.Sprintf("%s_%04d", Stamp(started), n)
	}
}

// RunName returns the name of a run: its competition and a part unique to it,
// in the form of a UUID, the same for the same text.
func RunName(competition, unique string) string {
	id := digest.Of([]byte(unique)).String()
	return fmt.Sprintf("%s_%s-%s-%s-%s-%s", competition, id[:8], id[8:12], id[12:16], id[16:20], id[20:32])
}

// WriteMetadata writes the metadata of the group in dir.
func WriteMetadata(dir string, m Metadata) error {
	text, err := json.MarshalIndent(m, "", "    ")
	if err == nil {
		err = wholefile.Replace(filepath.Join(dir, metadataName), wholefile.Bytes(append(text, '\n')))
	}
	if err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	return nil
}

// Export is a run group to write.
type Export struct {
	Dir      string
	Metadata Metadata
	// Outputs are the outputs of the attempts, in the order of the metadata's runs.
	Outputs []cache.Outputs
}

// leftByAgent are the outputs with what an agent left.
var leftByAgent = []string{"submission", "logs", "code"}

// Write writes the group, all of it or nothing.
func (g Export) Write(ctx context.Context, c cache.Files, work *progress.Work) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(g.Dir), ".run-group-*")
	if err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	group := filepath.Join(tmp, "group")
	for i, run := range g.Metadata.Runs {
		if err := writeRun(ctx, c, g.Outputs[i], filepath.Join(group, run.ID), work); err != nil {
			return fmt.Errorf("write run group: %s: %w", run.Address, err)
		}
	}
	if err := WriteMetadata(group, g.Metadata); err != nil {
		return err
	}
	if err := os.Rename(group, g.Dir); err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	return nil
}

// writeRun lays out what an agent left, as the reference takes it out of a
// container, and what it printed.
func writeRun(ctx context.Context, c cache.Files, outputs cache.Outputs, dir string, work *progress.Work) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, name := range leftByAgent {
		ref := outputs[name].Ref
		if ref.IsZero() {
			continue
		}
		if _, err := tree.Materialise(ctx, c, ref, filepath.Join(dir, name), tree.Options{Mode: tree.Copy, Writable: true, Progress: tree.Count(work)}); err != nil {
			return err
		}
	}
	_, err := copyFile(filepath.Join(dir, "logs", "output.log"), filepath.Join(dir, "run.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

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
		name, errName := json.Marshal(run.ID)
		value, err := json.Marshal(run)
		if err := errors.Join(errName, err); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
