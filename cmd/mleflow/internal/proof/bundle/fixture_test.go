package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// model is a run made up for tests: one attempt, its grade and a leaderboard.
type model struct {
	run     Run
	env     Environment
	records []record
	events  []event.Event
	// files are further files by path.
	files map[string][]byte
	key   *Key
	// edit changes the files before they are listed and attested.
	edit func(files map[string][]byte)
	// tamper changes the finished list of files; nil does not.
	tamper func(files map[string][]byte)
}

func object(b []byte) output {
	id := digest.Of(b)
	return output{Kind: cache.Blob, Digest: &id, Size: int64(len(b))}
}

// newModel makes the run of which all tests are variations.
func newModel(t *testing.T) *model {
	t.Helper()
	source := []byte("# a pipeline\n")
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := &model{
		run: Run{
			ID: "20260102T030405Z-0000", Pipeline: "p.hcl", Text: digest.Of(source), Variables: map[string]json.RawMessage{"seeds": json.RawMessage(`"1"`)},
			Argv: []string{"mleflow", "apply", "p.hcl"}, Version: "1.2.3", State: history.Finished, Started: start, Last: start.Add(time.Minute),
		},
		env:   Environment{OS: "linux/amd64", CPUs: 2, MemoryBytes: 1 << 30, GPUs: []string{}, Facts: map[string]string{"go": "go1"}},
		files: map[string][]byte{"pipeline/p.hcl": source, readmeFile: []byte(readmeText), planFile: []byte("{}\n"), omittedFile: []byte("[]\n")},
	}
	submission := []byte("id,y\n1,2\n")
	dir, ref, err := tree.Encode([]tree.Entry{{Name: "submission.csv", ID: digest.Of(submission), Size: int64(len(submission)), Type: tree.File}})
	if err != nil {
		t.Fatal(err)
	}
	report, board := []byte(`{"competition_id":"x"}`+"\n"), []byte(`{"agents":[]}`+"\n")
	given := output{Kind: cache.Tree, Digest: &ref.ID, Size: ref.Size, Files: ref.Files}
	m.step("agent-run", "step.agent-run.solve", map[string]output{"submission": given, "outcome": {Value: json.RawMessage(`"finished"`)}}, "competition", "x")
	m.step("aggregate", "step.aggregate.board", map[string]output{"board": object(board)}, "group_by", "none")
	m.step("grade", "step.grade.score", map[string]output{"report": object(report)}, "competition", "x", "definition", digest.Of(nil).String())
	m.files["trees/"+ref.ID.String()] = dir
	m.files["outputs/step.agent-run.solve/submission/submission.csv"] = submission
	m.files["outputs/step.aggregate.board/board"] = board
	m.files["outputs/step.grade.score/report"] = report
	return m
}

// step adds a record and its event.
func (m *model) step(kind, address string, outputs map[string]output, fields ...string) {
	r := record{Address: address, Kind: kind, Run: m.run.ID, Started: m.run.Started, Outputs: outputs}
	r.Fields = []digest.Field{{Label: "kind", Value: kind}, {Label: "kind version", Value: "1"}}
	for i := 0; i < len(fields); i += 2 {
		r.Fields = append(r.Fields, digest.Field{Label: fields[i], Value: fields[i+1]})
	}
	r.Action = digest.KeyOf(r.Fields).String()
	m.records = append(m.records, r)
	said := map[string]string{}
	for name, o := range outputs {
		said[name] = shown(o.cached())
	}
	m.events = append(m.events, event.StepFinished{At: event.At{Time: m.run.Last}, Address: address, Kind: kind, Status: event.Ran, Action: r.Action, Outputs: said})
}

// write writes the bundle and returns its path.
func (m *model) write(t *testing.T) string {
	t.Helper()
	must := func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var records, events []byte
	for _, r := range m.records {
		records = append(records, must(oneLine(r))...)
	}
	for _, e := range m.events {
		events = append(append(events, must(event.Encode(e))...), '\n')
	}
	a := account{m.run, m.env, m.records}
	m.files[lockFile] = must(a.lock(&config.Graph{}))
	m.files[recordsFile], m.files[eventsFile] = records, events
	m.files[runFile], m.files[environmentFile] = must(document(m.run)), must(document(m.env))
	m.files[competitionsFile] = must(document(a.definitions()))
	b := &Bundle{blobs: map[digest.ContentID]span{}}
	d, err := a.disclosure(t.Context(), &Store{b: b})
	if err != nil {
		t.Fatal(err)
	}
	m.files[disclosureFile], m.files[disclosurePage] = must(document(d)), []byte(d.Markdown())
	if m.edit != nil {
		m.edit(m.files)
	}
	frame, err := seal(m.run.ID, m.list(m.files))
	if err != nil {
		t.Fatal(err)
	}
	m.files[statementFile] = must(document(a.statement(frame.contents)))
	if m.key != nil {
		env, err := m.key.sign(m.files[statementFile])
		if err != nil {
			t.Fatal(err)
		}
		m.files[envelopeFile] = must(document(env))
	}
	if m.tamper != nil {
		m.tamper(m.files)
	}
	return m.pack(t)
}

func (m *model) list(files map[string][]byte) []File {
	var list []File
	for path, b := range files {
		list = append(list, File{path, digest.Of(b), int64(len(b))})
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return list
}

func (m *model) pack(t *testing.T) string {
	t.Helper()
	var items []item
	for _, f := range m.list(m.files) {
		items = append(items, item{f, text(m.files[f.Path])})
	}
	var b bytes.Buffer
	if _, _, err := pack(&b, m.run.ID, items, nil); err != nil {
		t.Fatal(err)
	}
	return write(t, b.Bytes())
}

func write(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bundle")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// examine opens and examines a bundle.
func examine(path string, key *PublicKey) (*Examined, error) {
	b, err := Open(context.Background(), path, nil)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	x, err := b.Examine(context.Background(), key)
	if err != nil {
		return nil, err
	}
	return x, x.Derive(context.Background(), b, &config.Graph{})
}
