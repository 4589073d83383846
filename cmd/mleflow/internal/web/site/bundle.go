package site

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// Bundle is a bundle that was checked.
type Bundle struct {
	// File is the name of the file, without its folder.
	File string `json:"file"`
	// Manifest is the digest that names the bundle; empty if it cannot be read.
	Manifest string `json:"manifest,omitempty"`
	// Refused explains why nothing of the bundle counts.
	Refused string `json:"refused,omitempty"`
	// OtherVersion reports whether the reason is another version of mleflow; the bundle
	// may be sound.
	OtherVersion bool `json:"other_version,omitempty"`

	Run        string    `json:"run,omitempty"`
	Pipeline   string    `json:"pipeline,omitempty"`
	Mleflow    string    `json:"mleflow,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Signatures int       `json:"signatures"`
	Omitted    int       `json:"omitted"`
	// Signer is the id of the key that signed it; empty without a signature whose key
	// is in the bundle.
	Signer string   `json:"signer,omitempty"`
	Pinned []string `json:"pinned,omitempty"`
	// Chain counts the attempts of the cache that made it; nil without attempts.
	Chain *bundle.Chain `json:"chain,omitempty"`

	// Evaluation is the answer of the pipeline's evaluation; nil without one.
	Evaluation *plan.Evaluation `json:"evaluation,omitempty"`
	// Benchmark is that of the pipeline; nil without one, or with several.
	Benchmark *board.Benchmark `json:"benchmark,omitempty"`

	// Unmade are attempts that the run planned and has no result of.
	Unmade []string `json:"unmade,omitempty"`
	// Ungraded are attempts of the run that no step graded.
	Ungraded []string `json:"ungraded,omitempty"`

	Disclosure *bundle.Disclosure `json:"-"`
	Rows       []*Row             `json:"-"`
	Boards     []verify.Board     `json:"boards,omitempty"`

	taken int // the build that took it
}

// Row is an attempt at a competition, or a submission that no attempt made.
type Row struct {
	*results.Attempt
	Bundle *Bundle `json:"-"`
	// Verdict is the audit's verdict on it.
	Verdict verify.Row
	// Aside explains why it does not count; empty if it does.
	Aside string
	// Outside lists the attempt's inputs from outside its competition.
	Outside []bundle.Channel
	// Command is the beginning of what the attempt was started with.
	Command string
	// Sketch is of the graded file; nil if it is not a table.
	Sketch *Sketch
}

// Matched is the standing of a claimed row whose grade is, by its key and report,
// one that was recomputed for another row.
const Matched verify.Standing = "matched"

// Take enters the findings of a bundle's audit. The records have the submissions; the
// audit, which follows the pipeline, judges them.
func (b *Bundle) Take(ctx context.Context, open *bundle.Bundle, x *bundle.Examined, report *verify.Report, catalog *competitions.Catalog) error {
	records, _, err := attempts.FromBundle(ctx, open, x, catalog, "")
	if err != nil {
		return err
	}
	if b.Disclosure, err = open.Disclosure(); err != nil {
		return err
	}
	planned, err := open.Plan()
	if err != nil {
		return err
	}
	b.Manifest, b.Run, b.Pipeline, b.Mleflow, b.Started = x.Manifest.String(), x.Run.ID, x.Run.Pipeline, x.Run.Version, x.Run.Started.UTC()
	b.Signatures, b.Signer, b.Omitted, b.Boards, b.Chain = x.Signatures, x.Signer, x.Omitted, report.Boards, x.Chain
	b.Evaluation = report.Evaluation
	if b.Benchmark, err = (results.Declared{Run: x.Run.ID, Benchmarks: report.Benchmarks}).Only(catalog); err != nil {
		return err
	}
	b.Pinned = slices.Compact(slices.Sorted(slices.Values(report.Pinned)))
	for _, s := range planned.Steps {
		if s.Kind == conditions.AttemptKind && x.Summary.Step(s.Name) == nil {
			b.Unmade = append(b.Unmade, s.Name)
		}
	}
	store, err := open.Store(nil)
	if err != nil {
		return err
	}
	audited := map[string]verify.Row{}
	for _, r := range report.Rows {
		audited[r.Address] = r
	}
	for _, rec := range records {
		row, found := audited[rec.GradeAddress]
		switch {
		case !rec.Graded:
			b.Ungraded = append(b.Ungraded, rec.Address)
			continue
		case !found:
			return fmt.Errorf("%s was graded, but is not in the pipeline", rec.GradeAddress)
		case row.Attempt != rec.Address && row.Standing != verify.Refused:
			return fmt.Errorf("%s is said to grade %q, but the pipeline says %q", rec.GradeAddress, rec.Address, row.Attempt)
		}
		rec.Standing = string(row.Standing)
		if u := rec.Made.Usage; u != nil && row.Money != nil {
			u.ListUSD = row.Money.ListUSD() // by the list of this mleflow
			if row.Money.Over {
				rec.Report.Conditions = step.UnionConditions(rec.Report.Conditions, []string{conditions.Prices + "=" + conditions.BeyondList})
			}
		}
		made := &Row{Attempt: rec, Bundle: b, Verdict: row, Aside: aside(row)}
		if err := made.inspect(ctx, store); err != nil {
			return fmt.Errorf("read the records of %s: %w", rec.GradeAddress, err)
		}
		b.Rows = append(b.Rows, made)
	}
	return nil
}

// aside returns the reason why a row does not count.
func aside(r verify.Row) string {
	switch {
	case r.Standing == verify.Refused:
		return "refused: " + r.Why
	case r.Attempt == "":
		return "no agent-run step made the submission"
	}
	return ""
}

// countedRows are the rows that are not set aside.
func countedRows(rows []*Row) []*Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return r.Aside != "" })
}

// counting returns the attempts of the rows that are not set aside.
func counting(rows []*Row) []*results.Attempt {
	return lists.Of(countedRows(rows), func(r *Row) *results.Attempt { return r.Attempt })
}

// identity identifies an attempt in any bundle: the run that executed it, its key and its
// submission.
func (r *Row) identity() string {
	return strings.Join([]string{r.MadeIn, r.AttemptAction, r.Submission, r.GradeAction}, "\n")
}

// setting is the attempt's setting.
func (r *Row) setting() Setting {
	s := Setting{Task: conditions.Told(r.Report.Conditions), Version: r.Report.CompetitionVersion, Unchecked: r.Verdict.Unchecked != ""}
	if b := r.benchmark(); b != nil {
		s.Benchmark = b.Identity()
	}
	return s
}

// benchmark is the one by which the row is ranked; nil for medals or mean ranks over what
// there is.
func (r *Row) benchmark() *board.Benchmark {
	if b := r.Bundle.Benchmark; b != nil && slices.Contains(b.Competitions, r.Competition()) {
		return b
	}
	return nil
}

// Setting is the set of facts that rows must share to be comparable.
type Setting struct {
	Task    string `json:"task"`
	Version string `json:"version"`
	// Benchmark is the rule, the set and the anchors of the benchmark of the run; "" without.
	Benchmark string `json:"benchmark,omitempty"`
	// Unchecked reports whether the agents' public data were compared with nothing. They
	// may hold the answers.
	Unchecked bool `json:"public_data_not_checked,omitempty"`
}

// sortBundles orders bundles by content, those that cannot be read last.
func sortBundles(list []*Bundle) {
	slices.SortStableFunc(list, func(a, b *Bundle) int {
		return cmp.Or(cmp.Compare(refusedLast(a), refusedLast(b)), cmp.Compare(a.Manifest, b.Manifest), cmp.Compare(a.File, b.File), cmp.Compare(a.Refused, b.Refused))
	})
}

// precedence orders two bundles with the same attempt or seed; the first one counts.
// Signed bundles precede unsigned ones, and bundles that the board took earlier precede
// later ones. 0 is no order.
func precedence(a, b *Bundle) int {
	unsigned := func(b *Bundle) int { return board.Count(b.Signer == "") }
	return cmp.Or(refusedLast(a)-refusedLast(b), unsigned(a)-unsigned(b), a.taken-b.taken)
}

func refusedLast(b *Bundle) int { return board.Count(b.Refused != "") }

// carried is a bundle on its way from the process that judged it.
type carried struct {
	Bundle     *Bundle
	Disclosure *bundle.Disclosure
	Rows       []*Row
}

// Carry writes a bundle that was judged for the process that builds the board.
func (b *Bundle) Carry(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(carried{b, b.Disclosure, b.Rows}); err != nil {
		return fmt.Errorf("write the bundle's rows: %w", err)
	}
	return nil
}

// Receive reads the output of Carry.
func Receive(text []byte) (*Bundle, error) {
	var c carried
	if err := json.Unmarshal(text, &c); err != nil || c.Bundle == nil {
		return nil, fmt.Errorf("read the bundle's rows: %w", err)
	}
	c.Bundle.Disclosure, c.Bundle.Rows = c.Disclosure, c.Rows
	for _, r := range c.Rows {
		r.Bundle = c.Bundle
	}
	return c.Bundle, nil
}

// Lock is the order in which a board took its bundles. A bundle's time and run are its
// maker's claims; this order is the board keeper's.
type Lock struct {
	Taken []Taken
	at    map[string]int // by manifest
}

// Taken is a bundle that the board took.
type Taken struct {
	// Build numbers from 1 the builds that took bundles: those of one build have no
	// order among them.
	Build    int    `json:"build"`
	Manifest string `json:"manifest"`
	// Key is the id of the key that signed it; empty without a signature.
	Key string `json:"key,omitempty"`
	// Agents are the names with rows that counted.
	Agents []string `json:"agents"`
}

// lockHead is the first line of a lock file.
const lockHead = "# Bundles in the order in which mleflow board build took them. Keep this file with them.\n"

// ReadLock reads a lock file; one that does not exist is empty.
func ReadLock(path string) (*Lock, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read lock of the board: %w", err)
	}
	l, n := &Lock{}, 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		var t Taken
		err := json.Unmarshal(line, &t)
		if err == nil && (t.Build < 1 || t.Manifest == "" || len(l.Taken) > 0 && t.Build < l.Taken[len(l.Taken)-1].Build) {
			err = errors.New("the line needs a manifest, and a build that is not lower than that of the line before")
		}
		if err != nil {
			return nil, fmt.Errorf("read lock of the board: %s:%d: %w", path, n, err)
		}
		l.Taken = append(l.Taken, t)
	}
	return l, nil
}

// Text is the lock file.
func (l *Lock) Text() []byte {
	out := bytes.NewBufferString(lockHead)
	enc := json.NewEncoder(out)
	for _, t := range l.Taken {
		_ = enc.Encode(t) // strings and numbers
	}
	return out.Bytes()
}

// with returns the lock after a build of bundles whose rows have normal names. What
// was taken before stays as it was.
func (l *Lock) with(bundles []*Bundle) *Lock {
	out := &Lock{at: map[string]int{}}
	build := 1
	if l != nil && len(l.Taken) > 0 {
		out.Taken = slices.Clone(l.Taken)
		build = out.Taken[len(out.Taken)-1].Build + 1
	}
	for i := len(out.Taken) - 1; i >= 0; i-- {
		out.at[out.Taken[i].Manifest] = out.Taken[i].Build
	}
	var fresh []Taken
	for _, b := range bundles {
		if b.Refused != "" || out.at[b.Manifest] > 0 {
			continue
		}
		names := lists.By(countedRows(b.Rows), func(r *Row) string { return r.Agent })
		out.at[b.Manifest] = build
		fresh = append(fresh, Taken{build, b.Manifest, b.Signer, slices.AppendSeq([]string{}, maps.Keys(names))})
		slices.Sort(fresh[len(fresh)-1].Agents)
	}
	slices.SortFunc(fresh, func(a, b Taken) int { return cmp.Compare(a.Manifest, b.Manifest) })
	out.Taken = append(out.Taken, fresh...)
	return out
}

// owners are the keys that signed a name first, by name: several if one build took
// them together.
func (l *Lock) owners() map[string][]string {
	first, by := map[string]int{}, map[string][]string{}
	for _, t := range l.Taken {
		for _, name := range t.Agents {
			if t.Key == "" || first[name] > 0 && first[name] < t.Build {
				continue
			}
			first[name] = t.Build
			if !slices.Contains(by[name], t.Key) {
				by[name] = append(by[name], t.Key)
			}
		}
	}
	return by
}
