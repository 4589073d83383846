package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/cluster"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/competition"
	exportcmd "github.com/mleflow/mleflow/cmd/mleflow/internal/cli/export"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/pipeline"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/proof"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/serve"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dev/atif"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/boards"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/harbor"
	"github.com/mleflow/mleflow/competitions/importer"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/rehearsal"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// printed are what commands print with --json, by command: a value of each type
// that it can be. Several types are alternatives.
func printed() map[string][]any {
	type path struct {
		Path string `json:"path"`
	}
	events := []any{
		event.RunStarted{}, event.Evaluated{}, event.StepStarted{}, event.StepJob{}, event.StepProgress{}, event.StepPhase{}, event.Waiting{}, event.ExpectedEnd{}, event.StepLog{}, event.StepWaiting{},
		event.Preflight{}, event.PreflightFinished{}, event.StepRetry{}, event.StepFinished{}, event.RunFinished{}, event.OutputValue{}, event.Publishing{}, event.Published{}, event.Steered{}, event.Stalled{}, event.Warning{},
	}
	return map[string][]any{
		"apply":       append(events, pipeline.DetachedJSON{}, pipeline.SubmittedJSON{}),
		"board build": {proof.BuiltJSON{}},
		"audit":       {[]leaderboard.AuditedJSON{}},
		"bundle":      {bundle.Written{}},
		"cache gc":    {cache.CollectedJSON{}},
		"cache info":  {disk.Info{}},
		"cache ls": {struct {
			Records []disk.Item `json:"records"`
		}{}},
		"cache pin": {disk.Pin{}, struct {
			Pins []disk.Pin `json:"pins"`
		}{}},
		"cache pull":   {cache.TransferredJSON{}},
		"cache push":   {cache.TransferredJSON{}},
		"cache verify": {cache.VerifiedJSON{}},
		"cache repair": {index.Rebuilt{}},
		"competition leaderboard": {struct {
			Leaderboards []competition.BoardLock `json:"leaderboards"`
		}{}},
		"competition import": {importer.Result{}},
		"competition lint": {struct {
			Findings []competition.FindingJSON `json:"findings"`
		}{}},
		"competition list": {struct {
			Competitions []competition.CompetitionJSON `json:"competitions"`
		}{}},
		"competition lock": {struct {
			Competitions []competition.LockedJSON `json:"competitions"`
		}{}},
		"competition new":       {competition.NewJSON{}},
		"competition rank":      {competition.RankJSON{}},
		"competition rehearsal": {rehearsal.Set{}},
		"competition show":      {competition.DetailJSON{}},
		"competition test":      {competition.TestJSON{}},
		"diff":                  {outputs.Difference{}},
		"doctor":                {cluster.FoundJSON{}},
		"explain":               {pipeline.ExplanationJSON{}},
		"export":                {exportcmd.ExportedJSON{}, rowsOf(func(r []*results.Attempt) (*table.Table, error) { return export.Attempts(r) }), rowsOf(export.Snapshots)},
		"export atif": {atif.Trajectory{}, struct {
			Path      string `json:"path"`
			Steps     int    `json:"steps"`
			Subagents int    `json:"subagents"`
		}{}},
		"export harbor": {struct {
			Tasks []harbor.Task `json:"tasks"`
		}{}},
		"import atif":    {exportcmd.ImportedRun{}},
		"import inspect": {exportcmd.ImportedRun{}},
		"export otel":    {exportcmd.ExportedSpans{}},
		"export inspect": {struct {
			Logs []exportcmd.WrittenLog `json:"logs"`
		}{}},
		"export trajectories": {exportcmd.TrajectoriesJSON{}, exportcmd.TrajectoryJSON{}},
		"export run-group": {struct {
			RunGroups []rungroup.Written `json:"run_groups"`
		}{}},
		"fingerprint build":   {proof.BuiltFingerprints{}},
		"fingerprint compare": {proof.Comparison{}},
		"mask salt":           {competition.SaltCommitment{}},
		"mask data":           {competition.MaskedData{}},
		"get": {outputs.Written{}, struct {
			Paths []string `json:"paths"`
		}{}},
		"grade": {grading.Summary{}, struct {
			RunGroups []competition.GradedGroup `json:"run_groups"`
		}{}},
		"grade-sample": {grading.Report{}},
		"init":         {path{}},
		"leaderboard":  {boards.JSON{}, boards.AllJSON{}},
		"graph":        {pipeline.GraphJSON{}},
		"lock":         {pipeline.LockJSON{}},
		"logs":         {runs.ShownTurn{}},
		"notify test":  {pipeline.NotifiedJSON{}},
		"output":       {new(any)},
		"plan": {struct {
			*plan.Plan
			Preflight []event.Preflight `json:"preflight,omitempty"`
		}{}, pipeline.PowerPlan{}, pipeline.CommitmentJSON{}},
		"prepare": {struct {
			Competitions []competition.Prepared `json:"competitions"`
		}{}},
		"rehearse": {rehearse.Report{}},
		"report": {struct {
			Run  string `json:"run"`
			Path string `json:"path"`
		}{}},
		"runs": {struct {
			Runs []runs.RunEntry `json:"runs"`
		}{}},
		"attempts list":    {runs.AttemptsJSON{}},
		"attempts cancel":  {runs.AnswersJSON{}},
		"attempts extend":  {runs.AnswersJSON{}},
		"attempts requeue": {runs.AnswersJSON{}},
		"attempts stop":    {runs.AnswersJSON{}},
		"runs drain":       {runs.AnswersJSON{}},
		"runs pause":       {runs.PausedRun{}},
		"runs remove":      {runs.RemovalJSON{}},
		"runs set":         {runs.AnswersJSON{}},
		"serve token":      {serve.TokenJSON{}},
		"show":             {runs.RunJSON{}, bundle.Disclosure{}, runs.AttemptsJSON{}},
		"wait":             {runs.WaitedJSON{}},
		"runs continue":    append(events, pipeline.DetachedJSON{}),
		"validate": {struct {
			Valid       bool        `json:"valid"`
			Diagnostics []diag.JSON `json:"diagnostics"`
		}{}},
		"verify":  {proof.VerifyJSON{}, proof.VerdictJSON{}},
		"version": {app.Version{}},
	}
}

// rows is a table as JSON.
type rows []struct {
	name string
	kind table.Kind
}

func rowsOf(build func([]*results.Attempt) (*table.Table, error)) rows {
	t, err := build(nil)
	if err != nil {
		panic(err)
	}
	var list rows
	for _, c := range t.Columns() {
		list = append(list, struct {
			name string
			kind table.Kind
		}{c.Name(), c.Kind()})
	}
	return list
}

func (r rows) schema() object {
	properties, required := object{}, []string{}
	for _, c := range r {
		required = append(required, c.name)
		properties[c.name] = map[table.Kind]object{
			table.Text: {"type": []string{"string", "null"}}, table.Bool: {"type": "boolean"}, table.Int64: {"type": "integer"},
			table.Float64: {"anyOf": []object{{"type": []string{"number", "null"}}, {"enum": []string{"inf", "-inf"}}}},
		}[c.kind]
	}
	words := object{"^(label|tag)_": object{"type": []string{"string", "null"}}, "_at_": object{}}
	return object{"type": "array", "items": object{"type": "object", "properties": properties, "patternProperties": words, "required": required}}
}

type object = map[string]any

// lines are the commands that print one document a line.
var lines = []string{"apply", "logs"}

// schemaOf is the JSON Schema of what a command prints.
func schemaOf(command string, values []any) object {
	g := &generator{defs: object{}}
	var all []object
	for _, v := range values {
		switch v := v.(type) {
		case rows:
			all = append(all, v.schema())
		case event.Event:
			one := g.fields(reflect.TypeOf(v))
			one["properties"].(object)["type"] = object{"const": event.TypeOf(v)}
			one["required"] = append([]string{"type"}, one["required"].([]string)...)
			all = append(all, one)
		case *any:
			all = append(all, object{})
		default:
			all = append(all, g.of(reflect.TypeOf(v)))
		}
	}
	s := object{"anyOf": all}
	if len(all) == 1 {
		s = all[0]
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "mleflow " + command + " --json"
	if slices.Contains(lines, command) {
		s["description"] = "One line of the output."
	}
	if len(g.defs) > 0 {
		s["$defs"] = g.defs
	}
	return s
}

// generator follows encoding/json from Go types to a schema.
type generator struct{ defs object }

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

// published are the names in schemas of types that have others now.
var published = map[string]string{
	"main.path": "cli.path", "harbor.Task": "cli.HarborJSON", "boards.JSON": "cli.BoardJSON", "boards.comparisonJSON": "cli.comparisonJSON",
	"board.Stopped": "cli.stoppedBoard", "board.RuleTally": "cli.ruleTally",
}

// packages are the names in schemas of packages that have others now.
var packages = map[string]string{"cmd/mleflow/internal/proof/verify": "audit", "competitions/pins": "verify"}

func (g *generator) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[outcome.End]():
		return object{"enum": outcome.Ends()}
	case t == reflect.TypeFor[grading.Number]():
		return object{"anyOf": []object{{"type": "number"}, {"enum": []string{"nan", "inf", "-inf"}}}}
	case t == reflect.TypeFor[grading.Cutoff]():
		return nullable(g.of(reflect.TypeFor[grading.Number]()))
	case t == reflect.TypeFor[json.RawMessage]():
		return object{}
	case t.Kind() == reflect.Pointer:
		return nullable(g.of(t.Elem()))
	case t.Implements(jsonMarshaler):
		return object{}
	case t.Implements(textMarshaler):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": []string{"string", "null"}, "contentEncoding": "base64"}
		}
		return object{"type": []string{"array", "null"}, "items": g.of(t.Elem())}
	case reflect.Array:
		return object{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		if t.Name() == "" {
			return g.fields(t)
		}
		name := strings.ReplaceAll(t.String(), "/", ".")
		if strings.Contains(t.PkgPath(), "/internal/cli/") {
			name = "cli." + t.Name() // of whichever room
		}
		if was := packages[strings.TrimPrefix(t.PkgPath(), "github.com/mleflow/mleflow/")]; was != "" {
			name = was + "." + t.Name()
		}
		if published[name] != "" {
			name = published[name]
		}
		if g.defs[name] == nil {
			g.defs[name] = object{} // one that holds itself
			g.defs[name] = g.fields(t)
		}
		return object{"$ref": "#/$defs/" + name}
	}
	return object{}
}

func nullable(s object) object {
	if name, ok := s["type"].(string); ok && s["enum"] == nil {
		s["type"] = []string{name, "null"}
		return s
	}
	return object{"anyOf": []object{s, {"type": "null"}}}
}

// fields is a struct as an object.
func (g *generator) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	g.collect(t, properties, &required)
	slices.Sort(required)
	return object{"type": "object", "properties": properties, "required": required}
}

// collect adds the fields of a struct, and then those of embedded ones, which it
// hides.
func (g *generator) collect(t reflect.Type, properties object, required *[]string) {
	var embedded []reflect.Type
	for f := range fieldsOf(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "" && indirect(f.Type).Kind() == reflect.Struct:
			embedded = append(embedded, indirect(f.Type))
			continue
		case name == "":
			name = f.Name
		}
		if properties[name] != nil {
			continue
		}
		properties[name] = g.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
	for _, e := range embedded {
		g.collect(e, properties, required)
	}
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for field := range t.Fields() {
			if !yield(field) {
				return
			}
		}
	}
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// schemas returns the schemas of what commands print, by file name in docs.
func schemas() (map[string][]byte, error) {
	files := map[string][]byte{}
	for command, values := range printed() {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		if err := enc.Encode(schemaOf(command, values)); err != nil {
			return nil, err
		}
		files["schemas/"+strings.ReplaceAll(command, " ", "-")+".json"] = b.Bytes()
	}
	return files, nil
}
