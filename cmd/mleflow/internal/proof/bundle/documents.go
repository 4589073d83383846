package bundle

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// The files of a bundle that mleflow writes itself.
const (
	runFile          = "run.json"
	environmentFile  = "environment.json"
	lockFile         = "lock.hcl"
	planFile         = "plan.json"
	eventsFile       = "events.jsonl"
	recordsFile      = "records.jsonl"
	competitionsFile = "competitions.json"
	disclosureFile   = "disclosure.json"
	disclosurePage   = "disclosure.md"
	omittedFile      = "omitted.json"
	statementFile    = "provenance.json"
	envelopeFile     = "provenance.dsse.json"
)

// Run is the file run.json.
type Run struct {
	ID string `json:"id"`
	// Pipeline is the base name of its file, Text the digest of that.
	Pipeline  string                     `json:"pipeline"`
	Text      digest.ContentID           `json:"text_sha256"`
	Variables map[string]json.RawMessage `json:"variables"`
	Argv      []string                   `json:"argv"`
	Version   string                     `json:"mleflow"`
	State     history.State              `json:"state"`
	Started   time.Time                  `json:"started"`
	Last      time.Time                  `json:"last_event"`
	Resumed   string                     `json:"resumed,omitempty"`
	history.About
}

// Environment is the file environment.json.
type Environment struct {
	OS          string   `json:"os"`
	CPUs        float64  `json:"cpus"`
	MemoryBytes int64    `json:"memory_bytes"`
	GPUs        []string `json:"gpus"`
	// Facts are further ones by name: kernel, processor, Go, binary.
	Facts map[string]string `json:"facts"`
}

// Omission is something that is not in the bundle.
type Omission struct {
	What   string `json:"what"`
	Digest string `json:"sha256,omitempty"`
	// Files is how many files of a packed output it speaks of.
	Files int64  `json:"files,omitempty"`
	Why   string `json:"why"`
}

// record is a line of records.jsonl: a step's outputs.
type record struct {
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Action  string `json:"action"`
	// Run is the run that did it, which may be an earlier one.
	Run     string            `json:"run"`
	Started time.Time         `json:"started"`
	Seconds float64           `json:"seconds"`
	Fields  []digest.Field    `json:"fields"`
	Outputs map[string]output `json:"outputs"`
	// Masked are the fields that were masked, by their place, so that the
	// action cannot be computed from them.
	Masked []int `json:"masked,omitempty"`
	cache.Tries
}

// output is one output of a step: content by digest, or a small value.
type output struct {
	Kind   cache.Kind        `json:"kind,omitempty"`
	Digest *digest.ContentID `json:"sha256,omitempty"`
	Size   int64             `json:"size,omitempty"`
	Files  int64             `json:"files,omitempty"`
	Value  json.RawMessage   `json:"value,omitempty"`
	// Masked says that the value is not the one that the step gave.
	Masked bool `json:"masked,omitempty"`
}

func newOutput(v cache.Value) output {
	if v.Ref.IsZero() {
		return output{Value: v.JSON}
	}
	return output{Kind: v.Ref.Kind, Digest: &v.Ref.ID, Size: v.Ref.Size, Files: v.Ref.Files}
}

// cached is the output as the cache holds it.
func (o output) cached() cache.Value {
	if o.Digest == nil {
		return cache.Value{JSON: o.Value}
	}
	return cache.Value{Ref: cache.Ref{Kind: o.Kind, ID: *o.Digest, Size: o.Size, Files: o.Files}}
}

// bareRecord is a record in which nothing is masked or withheld.
func bareRecord(address string, rec *cache.Record) record {
	r := record{Address: address, Kind: rec.Kind, Action: rec.Action.String(), Run: rec.Run, Fields: rec.Fields, Outputs: map[string]output{}, Tries: rec.Tries}
	for name, v := range rec.Outputs {
		r.Outputs[name] = newOutput(v)
	}
	return r
}

func newRecord(address string, rec *cache.Record, r rule, m *masker) record {
	out := bareRecord(address, rec)
	out.Started, out.Seconds, out.Fields = time.UnixMilli(rec.StartedUnixMilli).UTC(), float64(rec.DurationMillis)/1000, []digest.Field{}
	out.Why = m.text(out.Why)
	for i, f := range r.fields(rec.Fields) {
		if f.Value = m.text(f.Value); f.Value != rec.Fields[i].Value {
			out.Masked = append(out.Masked, i)
		}
		out.Fields = append(out.Fields, f)
	}
	for name, was := range rec.Outputs {
		v := r.value(name, was)
		if len(v.JSON) > 0 {
			v.JSON = m.bytes(v.JSON)
		}
		o := newOutput(v)
		o.Masked = !bytes.Equal(v.JSON, was.JSON)
		out.Outputs[name] = o
	}
	return out
}

// field returns the value of a field, or "".
func (r record) field(label string) string { return (&cache.Record{Fields: r.Fields}).Field(label) }

// outputs are the record's outputs as the cache holds them.
func (r record) outputs() cache.Outputs {
	out := make(cache.Outputs, len(r.Outputs))
	for name, o := range r.Outputs {
		out[name] = o.cached()
	}
	return out
}

// cached is the record as the cache holds it.
func (r record) cached() (*cache.Record, error) {
	id, err := digest.ParseActionID(r.Action)
	return &cache.Record{
		Action: id, Address: r.Address, Kind: r.Kind, Fields: r.Fields, Outputs: r.outputs(), Run: r.Run,
		StartedUnixMilli: r.Started.UnixMilli(), DurationMillis: int64(r.Seconds * 1000), Tries: r.Tries,
	}, err
}

// folder is the name of an instance's folder: its address without quotes, with
// what a path cannot hold escaped.
func folder(address string) string {
	var b strings.Builder
	for i := range len(address) {
		switch c := address[i]; {
		case c == '"':
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.[]=+", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + strconv.FormatInt(int64(c)+256, 16)[1:])
		}
	}
	return b.String()
}

// runOf tells of the run without its machine.
func runOf(past *history.Past, sum *history.Summary, source []byte, m *masker) Run {
	r := Run{
		ID: past.Info.ID, Pipeline: filepath.Base(past.Info.Pipeline), Text: digest.Of(source), Version: past.Info.Version, State: sum.State,
		Started: past.Info.Started.UTC(), Last: sum.Last.UTC(), Resumed: past.Info.Resumed, Variables: map[string]json.RawMessage{}, Argv: []string{},
	}
	for name, v := range past.Info.Variables {
		r.Variables[name] = m.bytes(v)
	}
	for i, a := range past.Info.Argv {
		if i == 0 {
			a = path.Base(filepath.ToSlash(a))
		}
		r.Argv = append(r.Argv, m.argument(a))
	}
	r.About = history.About{RunName: m.text(sum.RunName), Tags: maps.Clone(sum.Tags), Note: m.text(sum.Note)}
	for k, v := range r.Tags {
		r.Tags[k] = m.text(v)
	}
	return r
}

func environmentOf(info history.Info) Environment {
	e := Environment{OS: info.OS, CPUs: info.CPUs, MemoryBytes: info.MemoryBytes, GPUs: append([]string{}, info.GPUs...), Facts: map[string]string{}}
	maps.Copy(e.Facts, info.Environment)
	return e
}

// nobody stands for the author of an act.
const nobody = "(withheld)"

// redacted returns an event as it may be published; nil leaves it out.
func redacted(e event.Event, by map[string]rule, open bool) event.Event {
	switch e := e.(type) {
	case event.RunStarted:
		e.Pipeline = filepath.Base(e.Pipeline)
		return e
	case event.StepLog:
		return nil
	case event.StepFinished:
		return finished(e, by[e.Address])
	case event.StepRetry:
		if !by[e.Address].logs() {
			e.Error = withheld
		}
		return e
	case event.Warning:
		if r := by[e.Address]; e.Address != "" && !r.logs() {
			e.Message = withheld
		}
		return e
	case event.Steered:
		e.Request.Author = nobody // a user of a machine
		return e
	case event.StepProgress:
		if !by[e.Address].logs() {
			e.What = ""
		}
		return e
	case event.StepPhase:
		if !by[e.Address].logs() {
			e.Reason = ""
		}
		return e
	case event.OutputValue:
		if !open {
			e.Value, e.IsString, e.Content = withheld, true, nil
		}
		return e
	}
	return e
}

func finished(e event.StepFinished, r rule) event.Event {
	if e.Error != "" && e.Status != event.Skipped && !r.logs() {
		e.Error = withheld
	}
	outputs := map[string]string{}
	for name, text := range e.Outputs {
		outputs[name] = text
		if !strings.HasPrefix(text, "tree:") && !strings.HasPrefix(text, "blob:") {
			outputs[name] = shown(r.value(name, cache.Value{JSON: []byte(text)}))
		}
	}
	if e.Outputs != nil {
		e.Outputs = outputs
	}
	return e
}

// shown is a value as the journal writes it.
func shown(v cache.Value) string {
	if v.Ref.IsZero() {
		return string(v.JSON)
	}
	return string(v.Ref.Kind) + ":" + v.Ref.ID.String()
}
