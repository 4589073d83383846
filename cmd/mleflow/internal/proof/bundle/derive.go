package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
)

// Derive derives the lock, the disclosure, its page, the withheld content and the owners
// of logs again from the records and the pipeline, and compares them. g is the pipeline
// with its variables.
func (x *Examined) Derive(ctx context.Context, b *Bundle, g *config.Graph) error {
	by := rules(g)
	if err := checkWithheld(x.records, by); err != nil {
		return err
	}
	lock, err := x.lock(g)
	if err != nil {
		return damage(recordsFile, "%w", err)
	}
	if err := b.derives(lockFile, recordsFile, lock); err != nil {
		return err
	}
	if err := x.checkDisclosure(ctx, b, by); err != nil {
		return err
	}
	return checkLogs(b, g)
}

// derives checks that a document is the one that others give.
func (b *Bundle) derives(path, others string, want any) error {
	again, isText := want.([]byte)
	if !isText {
		var err error
		if again, err = document(want); err != nil {
			return err
		}
	}
	text, err := b.Read(path)
	if err != nil {
		return err
	}
	if at := differ(again, text); at >= 0 {
		return damage(path, "it differs from %s (%s)", others, lineAround(text, at))
	}
	return nil
}

// lineAround is the line of a text that holds byte at.
func lineAround(text []byte, at int) string {
	at = min(at, len(text))
	from := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(string(text[from:]), "\n")
	return fmt.Sprintf("line %d: %.100s", bytes.Count(text[:from], []byte("\n"))+1, strings.TrimSpace(line))
}

// checkWithheld checks that nothing is withheld that may be published: content by its
// digest, content whose digest is in a key, and values that reveal no private data.
func checkWithheld(records []record, by map[string]rule) error {
	for _, r := range records {
		for _, i := range r.Masked {
			if i < 0 || i >= len(r.Fields) || strings.HasPrefix(r.Fields[i].Label, "kind") || step.IsCondition(r.Fields[i].Label) {
				return damage(recordsFile, "a field of %s is masked that must not be", r.Address)
			}
			if _, err := digest.ParseContentID(r.Fields[i].Value); err == nil {
				return damage(recordsFile, "the %s of %s is masked, which is a digest", r.Fields[i].Label, r.Address)
			}
		}
		for name, o := range r.Outputs {
			found := by[r.Address].value(name, o.cached())
			if isWithheld(o.Value) && !isWithheld(found.JSON) {
				return damage(recordsFile, "the output %s of %s is withheld, although it discloses no private data", name, r.Address)
			}
		}
	}
	return nil
}

func isWithheld(value json.RawMessage) bool { return string(value) == `"`+withheld+`"` }

// checkDisclosure derives the disclosure again. The number of attempts is in no other
// file of the bundle and is taken from it unchecked.
func (x *Examined) checkDisclosure(ctx context.Context, b *Bundle, by map[string]rule) error {
	said, err := b.Disclosure()
	if err != nil {
		return err
	}
	store, err := b.Store(nil)
	if err != nil {
		return err
	}
	d, err := x.disclosure(ctx, store)
	if err != nil {
		return damage(disclosureFile, "%w", err)
	}
	if len(said.Attempts) != len(d.Attempts) {
		return damage(disclosureFile, "it names %d attempts, but there are %d", len(said.Attempts), len(d.Attempts))
	}
	d.Earlier, d.Elsewhere, d.Evaluation = said.Earlier, said.Elsewhere, x.Summary.Evaluation
	if x.Chain != nil && x.Chain.Lines > 0 {
		d.Counted = x.Chain.Agents
		x.Chain.lacks(slices.Concat(said.Earlier, said.Elsewhere))
	}
	for i := range d.Attempts {
		a, run := &d.Attempts[i], d.Attempts[i].History.Run
		a.Limits.DiskBytes = by[a.Address].diskBytes
		a.History = said.Attempts[i].History
		a.History.Run = run
	}
	if err := b.derives(disclosureFile, recordsFile, d); err != nil {
		return err
	}
	page, err := b.Read(disclosurePage)
	if err == nil && string(page) != said.Markdown() && string(page) != said.earlier().Markdown() {
		err = damage(disclosurePage, "it differs from %s", disclosureFile)
	}
	return err
}

// logName matches the path of a log; its group is the folder of the step.
var logName = pattern.New(`^logs/(.*)\.\d+\.log$`)

// checkLogs checks that each log belongs to a step of the pipeline.
func checkLogs(b *Bundle, g *config.Graph) error {
	known := map[string]bool{}
	for _, inst := range g.Instances {
		known[folder(inst.Addr.String())] = true
	}
	for _, f := range b.Files {
		if !strings.HasPrefix(f.Path, "logs/") {
			continue
		}
		m := logName.Regexp().FindStringSubmatch(f.Path)
		if m == nil || !known[m[1]] {
			return damage(f.Path, "it does not belong to a step")
		}
	}
	return nil
}
