package verify

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// again repeats the chosen steps and returns the verdicts by address.
func (a *verifier) again(ctx context.Context, chosen func(address string) bool) (map[string]engine.Verified, error) {
	return a.againIn(ctx, a.store, chosen)
}

// againIn repeats steps that write into a cache.
func (a *verifier) againIn(ctx context.Context, c cache.Cache, chosen func(address string) bool) (map[string]engine.Verified, error) {
	opts := a.Options
	opts.Cache = c
	list, diags := engine.New(opts).Verify(ctx, a.Program, a.Summary, engine.VerifyOptions{Chosen: chosen, Done: a.Done})
	if diags.HasErrors() {
		if err := diag.Cause(diags); err != nil {
			return nil, err
		}
		return nil, diags
	}
	by := make(map[string]engine.Verified, len(list))
	for _, v := range list {
		by[v.Address] = v
	}
	return by, nil
}

// regrade grades again every row for which the verifier has answers. Their digest is the
// one that the bundle names, so the engine finds their content.
func (a *verifier) regrade(ctx context.Context) error {
	able := map[string]int{}
	for i := range a.trusted {
		able[a.address(i)] = i
	}
	if len(able) == 0 {
		return nil
	}
	by, err := a.again(ctx, func(address string) bool { _, found := able[address]; return found })
	if err != nil {
		return err
	}
	perfect := map[int]*grading.Report{}
	for n := range a.report.Rows {
		row := &a.report.Rows[n]
		i, found := able[row.Address]
		if !found {
			continue
		}
		switch v := by[row.Address]; v.Verdict {
		case engine.Same:
			row.Standing = Recomputed
			if err := a.flag(ctx, i, row, perfect); err != nil {
				return err
			}
		case engine.Missing:
			row.Why = v.Error
		case engine.Differs:
			row.Standing, row.Why = Refused, "grading it again gives a different report"
		default:
			return fmt.Errorf("grade %s again: %s", row.Address, v.Error)
		}
	}
	return nil
}

// reboard makes the boards again from the reports. Reports that were graded again have
// the same bytes as the bundle's.
func (a *verifier) reboard(ctx context.Context) error {
	boards := map[string]bool{}
	for _, b := range a.report.Boards {
		boards[b.Address] = b.Standing != Refused
	}
	by, err := a.again(ctx, func(address string) bool { return boards[address] })
	if err != nil {
		return err
	}
	standing := map[string]Standing{}
	for _, r := range a.report.Rows {
		standing[r.Address] = r.Standing
	}
	for n := range a.report.Boards {
		b := &a.report.Boards[n]
		if b.Standing == Refused {
			continue
		}
		v := by[b.Address]
		if v.Verdict != engine.Same && v.Verdict != engine.Differs {
			return fmt.Errorf("make %s again: %s", b.Address, v.Error)
		}
		if b.Standing, b.Why = a.boardOf(b.Address, standing); b.Standing == Refused || !differs(v) {
			continue
		}
		same, err := sameFigures(ctx, a.store, v)
		switch {
		case err != nil:
			return fmt.Errorf("compare %s: %w", b.Address, err)
		case same:
			b.Standing, b.Why = Claimed, OtherWords
		default:
			b.Standing, b.Why = Refused, "building it again from its reports gives a different board"
		}
	}
	return nil
}

// OtherWords is the reason why a board is claimed that another version of mleflow wrote.
const OtherWords = "its figures are those of its reports, but its classes, places and texts are not what this version of mleflow writes"

// differs reports whether a step gave other outputs than those of the run.
func differs(v engine.Verified) bool {
	return slices.ContainsFunc(v.Deviations, func(d lockfile.Deviation) bool { return strings.HasPrefix(d.Field, "output ") })
}

// sameFigures reports whether a board and the one that was made again have the same figures,
// although the boards differ. Where the texts alone differ, no version wrote them.
func sameFigures(ctx context.Context, store cache.Store, v engine.Verified) (bool, error) {
	i := slices.IndexFunc(v.Deviations, func(d lockfile.Deviation) bool { return d.Field == "output board" })
	if i < 0 {
		return false, nil
	}
	var both [2]aggregate.Board
	for n, pin := range []string{v.Deviations[i].Was, v.Deviations[i].Is} {
		_, text, _ := strings.Cut(pin, " ")
		id, err := digest.ParseContentID(text)
		if err != nil {
			return false, err
		}
		if both[n], err = outputs.Document[aggregate.Board](ctx, store, id); err != nil {
			return false, err
		}
	}
	return aggregate.SameFigures(&both[0], &both[1])
}

// boardOf returns the standing of a board: the worst among its reports.
func (a *verifier) boardOf(address string, standing map[string]Standing) (Standing, string) {
	i := slices.IndexFunc(a.Program.Instances, func(inst *config.Instance) bool { return inst.Addr.String() == address })
	rows, err := a.chains.rows(i)
	if err != nil {
		return Refused, err.Error()
	}
	count := map[Standing]int{}
	for _, r := range rows {
		count[standing[a.address(r)]]++
	}
	switch {
	case count[Refused] > 0:
		return Refused, fmt.Sprintf("%d of its %d rows are refused", count[Refused], len(rows))
	case count[Recomputed] < len(rows):
		return Claimed, fmt.Sprintf("%d of its %d rows are only claimed", len(rows)-count[Recomputed], len(rows))
	}
	return Recomputed, ""
}

// flag marks a submission that equals the answers, and a score that only the answers get.
func (a *verifier) flag(ctx context.Context, i int, row *Row, perfect map[int]*grading.Report) error {
	l, err := a.of(i)
	if err != nil {
		return err
	}
	def, err := a.definition(l)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(def.Layout.Answers, "private/")
	answers, err := tree.Find(ctx, a.store, a.trusted[i].private, name)
	if err != nil {
		return fmt.Errorf("answers of %s: %w", def.ID, err)
	}
	if a.submits(ctx, i, answers) {
		row.Flags = append(row.Flags, "the submission is the answers, byte for byte")
		return nil
	}
	if _, done := perfect[l.prepare]; !done {
		if perfect[l.prepare], err = a.perfect(ctx, def, answers); err != nil {
			return err
		}
	}
	best := perfect[l.prepare]
	report, err := outputs.Document[grading.Graded](ctx, a.store, a.recorded(i, "report").ID)
	if err != nil || best == nil || best.Score == nil || report.Score == nil || *report.Score != *best.Score {
		return err
	}
	if teams := def.Medals.Scores; len(teams) == 0 || teams[0] != float64(*best.Score) {
		row.Flags = append(row.Flags, "the score is perfect, which no team on the human leaderboard reached")
	}
	return nil
}

// submits reports whether a grade's submission is a file.
func (a *verifier) submits(ctx context.Context, i int, file tree.Entry) bool {
	ref := a.argument(i, "submission").EncapsulatedValue().(*step.Artifact).Ref
	if ref.Kind != cache.Tree {
		return ref.ID == file.ID
	}
	e, err := tree.Find(ctx, a.store, ref, filepath.ToSlash(filepath.Clean(a.text(i, "file"))))
	return err == nil && e.ID == file.ID // without the file it is not the answers, and the report says so
}

// perfect grades the answers as a submission; nil if they are no submission.
func (a *verifier) perfect(ctx context.Context, def *competitions.Definition, answers tree.Entry) (_ *grading.Report, err error) {
	dir, err := os.MkdirTemp("", "mleflow-verify-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Remove(dir) }()
	path := filepath.Join(dir, filepath.Base(answers.Name))
	if _, err := tree.Materialise(ctx, a.store, answers.Ref(), path, tree.Options{Mode: tree.Copy}); err != nil {
		return nil, err
	}
	report, err := grading.Grade(ctx, def, a.Metrics, grading.Request{Submission: path, Answers: path, Created: time.Unix(0, 0)})
	if err != nil {
		return nil, ctx.Err() //nolint:nilerr // answers need not be a submission
	}
	return &report, nil
}

// OtherVersion means that a bundle was made by step kinds of other versions than this
// program's, so that neither its keys nor anything derived from them can be compared. The
// bundle may be correct.
type OtherVersion struct {
	// Mleflow is the version that wrote the bundle, Kinds are the differences.
	Mleflow string
	Kinds   []string
}

// Error implements error.
func (o *OtherVersion) Error() string {
	return fmt.Sprintf("it is of another version of mleflow, not necessarily wrong: %s; verify it with mleflow %s", strings.Join(o.Kinds, ", "), o.Mleflow)
}

// Is makes it a mismatch.
func (o *OtherVersion) Is(err error) bool { return err == step.ErrMismatch }

// CheckVersions returns an OtherVersion if scores of the bundle rest on steps of
// kinds whose versions are not this program's.
func CheckVersions(x *bundle.Examined, kinds *step.Registry) error {
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(x.Kinds)) {
		if !basis(name) {
			continue
		}
		if here := kinds.Kind(name); here != nil && !here.Reads(x.Kinds[name]) {
			differ = append(differ, fmt.Sprintf("its %s steps have version %s, and here %s", name, x.Kinds[name], here.Version))
		}
	}
	if len(differ) > 0 {
		return &OtherVersion{x.Run.Version, differ}
	}
	return nil
}

// basis reports whether scores rest on steps of a kind.
func basis(kind string) bool {
	return slices.Contains([]string{conditions.AttemptKind, conditions.AggregateKind, conditions.ChecksumKind, conditions.DownloadKind, conditions.GradeKind, conditions.HoldoutKind, conditions.PrepareKind}, kind)
}
