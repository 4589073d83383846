package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

// Examined is a bundle's own account, checked.
type Examined struct {
	account
	Manifest digest.ContentID `json:"manifest"`
	Files    int              `json:"files"`
	// Signatures is how many it has. Trusted is the id of the key that one of
	// them was checked with; no other id is told, since anyone can make one.
	Signatures int    `json:"signatures"`
	Trusted    string `json:"trusted,omitempty"`
	// Omitted is the number of things that are not in it.
	Omitted int `json:"omitted"`
	// Masked are steps whose key cannot be computed again, since folders
	// of the machine or private values were in it.
	Masked []string `json:"masked"`
	// Actions are the steps whose key was computed again from its inputs.
	Actions int `json:"actions"`
	// Isolation says how the attempts were isolated, by their keys.
	Isolation string `json:"isolation"`
	// Untrusted says that an attempt was not isolated; see conditions.Untrusted.
	Untrusted bool `json:"untrusted"`
	// Chain counts the attempts that were made; nil if there are none.
	Chain *Chain `json:"chain,omitempty"`
	// Acts are the answers to what people asked of the run and its attempts while it ran.
	Acts []event.Steered `json:"acts,omitempty"`

	// Summary is the run as the run history would tell it.
	Summary *history.Summary `json:"-"`
	// Sources are the text of the pipeline and the files it read, by name.
	Sources map[string][]byte `json:"-"`
	// Competitions are those that were graded.
	Competitions []string `json:"-"`
	// Signer is the id of the key of the first signature, if that key is beside it. It
	// tells signers apart, and does not say who they are.
	Signer string `json:"-"`
	// Kinds are the versions of the step kinds that made the records.
	Kinds map[string]string `json:"-"`
}

// readRecords reads records.jsonl.
func (b *Bundle) readRecords() (list []record, err error) {
	text, err := b.Read(recordsFile)
	if err != nil || b.records != nil {
		return b.records, err
	}
	for line := range bytes.Lines(text) {
		var r record
		if err := damaged(recordsFile, parseForm(line, &r, oneLine)); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	b.records = list
	return list, nil
}

// load reads a document of the bundle.
func (b *Bundle) load(path string, into any) error {
	text, err := b.Read(path)
	if err != nil {
		return err
	}
	return damaged(path, parseForm(text, into, document))
}

// OpenExamined opens a bundle and examines it. Work, if set, counts the bytes read.
func OpenExamined(ctx context.Context, path string, key *PublicKey, work *progress.Work) (*Bundle, *Examined, error) {
	b, err := Open(ctx, path, work)
	if err != nil {
		return nil, nil, err
	}
	x, err := b.Examine(ctx, key)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("check bundle %s: %w", path, err), b.Close())
	}
	return b, x, nil
}

// Examine checks the files of the bundle against each other. With a key, the bundle
// must be signed by it.
func (b *Bundle) Examine(ctx context.Context, key *PublicKey) (*Examined, error) {
	x := &Examined{Manifest: b.Manifest, Files: len(b.Files), Masked: []string{}}
	var omitted []Omission
	err := inOrder(
		func() error { return b.load(runFile, &x.Run) },
		func() error { return b.load(environmentFile, &x.environment) },
		func() (err error) { x.records, err = b.readRecords(); return err },
		func() error { return b.load(omittedFile, &omitted) },
		func() error { return x.checkFiles(b) },
		func() error { return x.checkPipeline(b) },
		x.checkRecords,
		func() error { return b.derives(competitionsFile, recordsFile, x.definitions()) },
		func() error { return x.checkEvents(b) },
		func() error { return x.checkChain(b) },
		x.checkActs,
		func() error { return x.checkContent(ctx, b, omitted) },
		func() error { return b.derives(statementFile, "the bundle's content", x.statement(b.listing)) },
		func() error { return x.checkSignature(b, key) },
	)
	if err != nil {
		return nil, err
	}
	x.Omitted = len(omitted)
	return x, nil
}

// written are the files that mleflow writes, and the folders.
var (
	written = []string{
		runFile, environmentFile, lockFile, planFile, eventsFile, recordsFile, competitionsFile, disclosureFile, disclosurePage,
		omittedFile, statementFile, envelopeFile, readmeFile, chainFile,
	}
	writtenFolders = []string{"logs", "outputs", "packs", "pipeline", "trees"}
)

// checkFiles refuses files that mleflow does not write, which could tell a
// reader anything, and a text for readers that is not ours.
func (x *Examined) checkFiles(b *Bundle) error {
	for _, f := range b.Files {
		top, _, below := strings.Cut(f.Path, "/")
		if !slices.Contains(written, f.Path) && !(below && slices.Contains(writtenFolders, top)) {
			return damage(f.Path, "mleflow does not write such a file")
		}
	}
	if f := b.byPath[readmeFile]; f.Digest != digest.Of([]byte(readmeText)) {
		return damage(readmeFile, "mleflow would write it differently")
	}
	return nil
}

func (x *Examined) checkPipeline(b *Bundle) (err error) {
	path := "pipeline/" + x.Run.Pipeline
	if x.Run.ID != b.Run {
		return damage(runFile, "it is about run %q, not %q", x.Run.ID, b.Run)
	}
	if err := x.Run.About.Check(); err != nil {
		return damage(runFile, "%w", err)
	}
	if !b.Has(path) {
		return damage(path, "it is missing")
	}
	x.Sources = map[string][]byte{}
	total := int64(0)
	for _, f := range b.Files {
		name, below := strings.CutPrefix(f.Path, "pipeline/")
		if !below {
			continue
		}
		if total += f.Size; total > maxFile {
			return damage(f.Path, "the files of the pipeline are larger than %d MiB", maxFile>>20)
		}
		if x.Sources[name], err = b.Read(f.Path); err != nil {
			return err
		}
	}
	if digest.Of(x.Sources[x.Run.Pipeline]) != x.Run.Text {
		return damage(path, "it does not match its digest in %s", runFile)
	}
	return nil
}

// checkRecords computes the keys of the actions from their inputs.
func (x *Examined) checkRecords() error {
	last := ""
	x.Kinds = map[string]string{}
	var attempts conditions.Tally
	for _, r := range x.records {
		attempts.Add(r.Kind, step.RecordedConditions(r.Fields, r.Tries))
		x.Kinds[r.Kind] = r.field("kind version")
		if last != "" && compareAddresses(last, r.Address) >= 0 {
			return damage(recordsFile, "%s is not in its place", r.Address)
		}
		last = r.Address
		switch {
		case len(r.Masked) > 0:
			x.Masked = append(x.Masked, r.Address)
		case digest.KeyOf(r.Fields).String() != r.Action:
			return damage(recordsFile, "the action of %s does not follow from its inputs", r.Address)
		default:
			x.Actions++
		}
		if c := r.field("competition"); r.Kind == conditions.GradeKind && !slices.Contains(x.Competitions, c) {
			x.Competitions = append(x.Competitions, c)
		}
	}
	slices.Sort(x.Competitions)
	x.Isolation, x.Untrusted = attempts.String(), attempts.Untrusted()
	return nil
}

// checkEvents compares the outputs in the journal with the records.
func (x *Examined) checkEvents(b *Bundle) error {
	text, err := b.Read(eventsFile)
	if err != nil {
		return err
	}
	x.Summary = &history.Summary{Entry: history.Entry{Info: history.Info{ID: x.Run.ID, Pipeline: x.Run.Pipeline, Version: x.Run.Version}, About: x.Run.About, State: x.Run.State}}
	by := map[string]record{}
	for _, r := range x.records {
		by[r.Address] = r
	}
	finished := map[string]bool{}
	for line := range bytes.Lines(text) {
		e, err := event.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return damage(eventsFile, "%w", err)
		}
		switch e := e.(type) {
		case event.Evaluated:
			x.Summary.Evaluation = &e.Evaluation
		case event.Steered:
			x.Acts = append(x.Acts, e)
		}
		f, ok := e.(event.StepFinished)
		if ok && f.Status == event.Unneeded {
			x.Summary.Steps = append(x.Summary.Steps, history.StepSummary{StepFinished: event.StepFinished{Address: f.Address, Kind: f.Kind, Status: f.Status}})
		}
		if !ok || f.Action == "" {
			continue
		}
		if err := agree(f, by[f.Address]); err != nil {
			return damage(eventsFile, "%w", err)
		}
		finished[f.Address] = true
		counts := event.StepFinished{Address: f.Address, Kind: f.Kind, Status: f.Status, Action: f.Action, Outputs: f.Outputs}
		x.Summary.Steps = append(x.Summary.Steps, history.StepSummary{StepFinished: counts})
	}
	for _, r := range x.records {
		if !finished[r.Address] {
			return damage(recordsFile, "the run did not run %s", r.Address)
		}
	}
	return nil
}

// checkActs refuses a journal that lacks an act by which an attempt of the run was steered.
func (x *Examined) checkActs() error {
	done := map[string]bool{}
	for _, e := range x.Acts {
		if e.Refused == "" {
			done[history.Mark(e.Request.Address)+string(e.Request.Act)] = true
		}
	}
	steered := lists.Of(x.records, func(r record) history.Link {
		return history.Link{Run: r.Run, Step: history.Mark(r.Address), Steered: r.Steered}
	})
	for _, l := range append(steered, x.Chain.Links()...) {
		for word := range strings.FieldsSeq(l.Steered) {
			if act := step.ActOf(word); l.Run == x.Run.ID && !done[l.Step+string(act)] {
				return damage(eventsFile, "it lacks the request to %s an attempt that was steered: %s", act, word)
			}
		}
	}
	return nil
}

// agree compares a step's outputs in an event with those in a record.
func agree(f event.StepFinished, r record) error {
	if f.Action != r.Action || f.Kind != r.Kind {
		return fmt.Errorf("%s ran action %.12s, which has no record", f.Address, f.Action)
	}
	for name, was := range f.Outputs {
		o, found := r.Outputs[name]
		if !found || shown(o.cached()) != was {
			return fmt.Errorf("%s made a different %s than its record says", f.Address, name)
		}
	}
	return nil
}

// errUnsigned says that a signature was asked for and there is none.
var errUnsigned = errors.New("the bundle is not signed")

func (x *Examined) checkSignature(b *Bundle, key *PublicKey) error {
	if !b.Has(envelopeFile) {
		if key != nil {
			return &Damage{envelopeFile, errUnsigned}
		}
		return nil
	}
	statement, errStatement := b.Read(statementFile)
	text, err := b.Read(envelopeFile)
	if err := cmp.Or(errStatement, err); err != nil {
		return err
	}
	x.Signatures, x.Signer, err = checkEnvelope(text, statement, key)
	if key != nil {
		x.Trusted = key.ID
	}
	return damaged(envelopeFile, err)
}
