package competition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

type competitionLockOptions struct {
	folder       folderFlag
	data         app.DataFlags
	run, version string
	check, force bool
	// leaderboard locks the leaderboard instead of the data.
	leaderboard, accept bool
}

func newCompetitionLock(a *app.App) *cobra.Command {
	var o competitionLockOptions
	cmd := a.Command("lock ID...", "Pin a competition's prepared files or its leaderboard", app.Takes(1, -1),
		func(cmd *cobra.Command, args []string) error {
			if o.accept && !o.leaderboard {
				return app.Usagef("--accept is for --leaderboard")
			}
			return lockCompetitions(cmd.Context(), a, o, args)
		})
	cmd.Flags().StringVar(&o.folder.dir, "dir", "", "write to the competitions below `DIR` (default: --competitions, else the folder competitions)")
	cmd.Flags().StringVar(&o.data.Dir, "data-dir", "", "pin what is prepared below `DIR` (default: data in the cache folder)")
	cmd.Flags().StringVar(&o.run, "from-run", "", "pin what a checksum step of `RUN` passed, such as latest")
	cmd.Flags().StringVar(&o.version, "version", "v1", "pin the data of `VERSION` of the competitions")
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing; exit with 3 if something would change")
	cmd.Flags().BoolVar(&o.force, "force", false, "change pins of the reference too")
	cmd.Flags().BoolVar(&o.leaderboard, "leaderboard", false, "compare the leaderboard with Kaggle's")
	cmd.Flags().BoolVar(&o.accept, "accept", false, "with --leaderboard: pin Kaggle's")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "from-run", "leaderboard")
	cmd.MarkFlagsMutuallyExclusive("check", "accept")
	cmd.MarkFlagsMutuallyExclusive("version", "leaderboard")
	return cmd
}

// LockedJSON is one competition in competition lock --json.
type LockedJSON struct {
	Competition string        `json:"competition"`
	Version     string        `json:"version"`
	Path        string        `json:"path"`
	Changed     bool          `json:"changed"`
	Written     bool          `json:"written"`
	Pins        int           `json:"pins"`
	Changes     []pins.Change `json:"changes"`
}

func lockCompetitions(ctx context.Context, a *app.App, o competitionLockOptions, ids []string) error {
	if o.folder.dir == "" && len(a.OwnFolders()) == 0 {
		o.folder.dir = app.OwnCompetitions
		if shipped := filepath.Join(o.folder.dir, "shipped"); app.IsFolder(shipped) { // a checkout of mleflow
			o.folder.dir = shipped
		}
		if !app.IsFolder(o.folder.dir) {
			return app.Usagef("there is no folder competitions here, and shipped competitions are part of the program; name the folder to write to with --dir or --competitions")
		}
	}
	defs, err := definitions(a.Library, o.folder, ids)
	if err != nil {
		return err
	}
	for i, def := range defs {
		if def.Dir() == "" {
			return app.Usagef("competition %s ships with the program; name the folder to write to with --dir or --competitions", def.ID)
		}
		if defs[i], err = def.At(o.version); err != nil {
			return app.Usagef("%w", err)
		}
	}
	if o.leaderboard {
		return lockLeaderboards(ctx, a.Terminal, o, defs)
	}
	data, err := dataToLock(ctx, a, o)
	if err != nil {
		return err
	}
	defer data.close()
	work, stop := a.MeterWork("lock")
	defer stop()
	locks := make([]*pins.Lock, len(defs))
	for i, def := range defs {
		if locks[i], err = lockOne(ctx, o, def, data, work); err != nil {
			return err
		}
	}
	stop()
	var done []LockedJSON
	for i, def := range defs {
		one, err := o.write(def, locks[i])
		if err != nil {
			return err
		}
		done = append(done, one)
	}
	return showLockedCompetitions(a.Terminal, done, o.check)
}

// lockable gives the prepared data of competitions.
type lockable struct {
	of    func(ctx context.Context, def *competitions.Definition) (*pins.Data, error)
	close func()
}

func dataToLock(ctx context.Context, a *app.App, o competitionLockOptions) (lockable, error) {
	if o.run != "" {
		return checkedByRun(ctx, a.Store, o.run, o.version)
	}
	layout, err := o.data.Layout(a)
	return lockable{close: func() {}, of: func(_ context.Context, def *competitions.Definition) (*pins.Data, error) {
		id, layout := def.ID, layout
		if below := layout.At(def); app.IsFolder(below.Competition(id)) {
			layout = below
		}
		dir := layout.Prepared(id)
		version, err := competitions.VersionOf(layout.Competition(id))
		switch {
		case err != nil:
			return nil, err
		case competitions.IsRehearsal(layout.Competition(id)):
			return nil, app.Usagef("%s has the data of a rehearsal, which are never pinned", dir)
		case version != def.PinsVersion() && app.IsFolder(dir):
			return nil, app.Usagef("%s has the data of version %s, not of %s; see mleflow prepare --version %s", dir, version, def.PinsVersion(), def.PinsVersion())
		}
		for _, half := range []string{"public", "private"} {
			if !app.IsFolder(filepath.Join(dir, half)) {
				return nil, app.Usagef("nothing is prepared in %s; see mleflow prepare -c %s, or name a run with --from-run", dir, id)
			}
		}
		return pins.OnDisk(os.DirFS(dir), def), nil
	}}, err
}

// checkedByRun returns what the checksum steps of a run let through, checking
// against the pins of a version.
func checkedByRun(ctx context.Context, s *app.Store, run, version string) (lockable, error) {
	past, err := s.FindRun([]string{run})
	if err != nil {
		return lockable{}, err
	}
	store, err := s.OpenCache()
	if err != nil {
		return lockable{}, err
	}
	found := map[string]cache.Outputs{}
	for e, err := range past.Events() {
		if err != nil {
			return lockable{}, errors.Join(err, store.Close())
		}
		done, ok := e.(event.StepFinished)
		if !ok || done.Kind != conditions.ChecksumKind || done.Action == "" {
			continue
		}
		if rec, err := outputs.Lookup(ctx, store, done.Action); err == nil && rec.Field("version") == version && rec.Outputs["private"].Ref.Kind == cache.Tree && rec.Outputs["public"].Ref.Kind == cache.Tree {
			found[rec.Field("competition")] = rec.Outputs
		}
	}
	return lockable{close: func() { _ = store.Close() }, of: func(ctx context.Context, def *competitions.Definition) (*pins.Data, error) {
		id := def.ID
		out, ok := found[id]
		if !ok {
			return nil, app.Usagef("no checksum step of run %s passed data of version %s of %s that are still in the cache", past.Info.ID, version, id)
		}
		return pins.InStore(ctx, store, out["public"].Ref, out["private"].Ref)
	}}, nil
}

// lockOne makes a competition's lock without writing it.
func lockOne(ctx context.Context, o competitionLockOptions, def *competitions.Definition, data lockable, work *progress.Work) (*pins.Lock, error) {
	prepared, errPrepared := data.of(ctx, def)
	reference, err := referencePins(def)
	if err := cmp.Or(errPrepared, err); err != nil {
		return nil, err
	}
	lock, err := pins.NewLock(ctx, def, prepared, pins.LockOptions{Reference: reference, Force: o.force, Work: work})
	if _, ok := errors.AsType[*pins.ReferenceError](err); ok {
		err = step.Mismatch(fmt.Errorf("%w\nNothing was written; --force changes them anyway", err))
	}
	return lock, err
}

// write writes a lock, unless that changes nothing or is not asked for.
func (o competitionLockOptions) write(def *competitions.Definition, lock *pins.Lock) (LockedJSON, error) {
	folder := filepath.Dir(def.FilePath())
	out := LockedJSON{Competition: def.ID, Version: def.Version, Path: filepath.Join(folder, competitions.LockName), Changed: lock.Changed(), Changes: lock.Changes, Pins: lock.Pins}
	if o.check || !lock.Changed() {
		return out, nil
	}
	// A manifest file of another digest than the pinned one is not used, so
	// that a crash between the two does no harm.
	if err := app.ReplaceFile(filepath.Join(folder, def.ManifestName()), lock.Manifest); err != nil {
		return out, err
	}
	out.Written = true
	return out, app.ReplaceFile(out.Path, lock.Pinned)
}

// referencePins returns the reference's own pins of a competition, nil if it
// is not one of its. It knows none of later versions than v1.
func referencePins(def *competitions.Definition) (map[string]string, error) {
	if def.Version != "v1" {
		return nil, nil
	}
	catalog, err := competitions.Shipped()
	if err != nil {
		return nil, err
	}
	if c := catalog.Complexity(def.ID); c == "" || c == competitions.Demo {
		return nil, nil
	}
	def, err = catalog.Get(def.ID)
	if err != nil {
		return nil, err
	}
	return def.Checksums.Pinned(), nil
}

func showLockedCompetitions(t *app.Terminal, done []LockedJSON, check bool) error {
	changed := len(lists.Where(done, func(d LockedJSON) bool { return d.Changed }))
	err := t.Show(map[string]any{"competitions": done}, func() {
		for _, d := range done {
			writeLocked(t, d, check)
		}
	})
	if err == nil && check && changed > 0 {
		err = step.Mismatch(fmt.Errorf("%s not locked as prepared", view.Plural(changed, "competition")))
	}
	return err
}

func writeLocked(t *app.Terminal, d LockedJSON, check bool) {
	switch {
	case !d.Changed:
		fmt.Fprintf(t.Stdout, "%s: %s, unchanged\n", d.Competition, view.Plural(d.Pins, "pin"))
	case check:
		fmt.Fprintf(t.Stdout, "%s: %s would change\n", d.Competition, d.Path)
	default:
		fmt.Fprintf(t.Stdout, "%s: wrote %s, %s\n", d.Competition, d.Path, view.Plural(d.Pins, "pin"))
	}
	for _, c := range d.Changes {
		fmt.Fprintf(t.Stdout, "  %s\n", view.OneLine(c.String()))
	}
}

// BoardLock is a competition's leaderboard and Kaggle's present one.
type BoardLock struct {
	Competition string `json:"competition"`
	Path        string `json:"path"`
	competitions.BoardChange
	Changed bool `json:"changed"`
	Written bool `json:"written"`
	// Private says that it is the leaderboard that decided; a competition that
	// goes on has a public one only.
	Private  bool       `json:"private"`
	Deadline *time.Time `json:"deadline"`
	// Unscored is how many teams have no score; they are on no leaderboard.
	Unscored int `json:"teams_without_score"`

	scores []float64
}

// lockLeaderboards compares leaderboards with Kaggle's, all before any is
// written, and writes those that differ if it is told to.
func lockLeaderboards(ctx context.Context, t *app.Terminal, o competitionLockOptions, defs []*competitions.Definition) error {
	kaggle := source.NewKaggle(source.NewHTTP(nil))
	locks := make([]*BoardLock, len(defs))
	for i, def := range defs {
		var err error
		if locks[i], err = lockBoard(ctx, o, kaggle, def); err != nil {
			return err
		}
	}
	changed := lists.Where(locks, func(l *BoardLock) bool { return l.Changed })
	for _, l := range changed {
		if !o.accept {
			break
		}
		if err := app.ReplaceFile(l.Path, competitions.FormatLeaderboard(l.scores)); err != nil {
			return err
		}
		l.Written = true
	}
	err := t.Show(map[string]any{"leaderboards": locks}, func() {
		for _, l := range locks {
			showBoardLock(t, l)
		}
	})
	if err != nil {
		return err
	}
	if len(changed) > 0 && !o.accept {
		return step.Mismatch(fmt.Errorf("%s a different leaderboard than Kaggle now; --accept takes Kaggle's", view.Verb(len(changed), "competition", "has", "have")))
	}
	return nil
}

// lockBoard compares one leaderboard.
func lockBoard(ctx context.Context, o competitionLockOptions, kaggle *source.Kaggle, def *competitions.Definition) (*BoardLock, error) {
	at := slices.IndexFunc(def.Sources, func(s competitions.Source) bool { return s.Kind == "kaggle" })
	switch {
	case at < 0:
		return nil, app.Usagef("%s is not a Kaggle competition: it has no source \"kaggle\"", def.ID)
	case def.Medals.File == "":
		return nil, app.Usagef("%s has no leaderboard file: its medals block lists the scores itself", def.ID)
	}
	board, err := kaggle.Leaderboard(ctx, def.Sources[at].Slug)
	if err != nil {
		return nil, err
	}
	medals, err := competitions.NewMedals(board.Scores)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", def.ID, err)
	}
	l := &BoardLock{
		Competition: def.ID, Path: filepath.Join(filepath.Dir(def.FilePath()), filepath.FromSlash(def.Medals.File)),
		BoardChange: competitions.CompareBoards(def.Medals, medals), Private: board.Private(time.Now()), Unscored: board.Unscored, scores: board.Scores,
	}
	l.Changed = l.BoardChange.Changed()
	if !board.Deadline.IsZero() {
		l.Deadline = &board.Deadline
	}
	switch {
	case medals.LowerIsBetter != def.Medals.LowerIsBetter:
		return nil, fmt.Errorf("%s: the leaderboard that Kaggle has now is in the opposite order, from %v to %v: what is better would be the other way round",
			def.ID, board.Scores[0], board.Scores[len(board.Scores)-1])
	case o.accept && !l.Private && !o.force:
		return nil, step.Mismatch(fmt.Errorf("%s ends on %s; until then Kaggle returns the public leaderboard, but MLE-bench uses the private one. Nothing was written; --force takes it anyway",
			def.ID, board.Deadline.Format(time.DateOnly)))
	}
	return l, nil
}

func showBoardLock(term *app.Terminal, l *BoardLock) {
	kind := "the private leaderboard"
	if !l.Private {
		kind = "the public leaderboard, since it ends on " + l.Deadline.Format(time.DateOnly)
	}
	if !l.Changed {
		fmt.Fprintf(term.Stdout, "%s: %s, unchanged (%s)\n", l.Competition, view.Plural(l.Teams, "team"), kind)
		return
	}
	fmt.Fprintf(term.Stdout, "%s: %d teams before, %d now (%s)\n", l.Competition, l.TeamsBefore, l.Teams, kind)
	fmt.Fprintf(term.Stdout, "  scores added: %d, removed: %d; places with another score: %d", l.Added, l.Removed, l.Places)
	if l.First > 0 {
		fmt.Fprintf(term.Stdout, ", the first is %d", l.First)
	}
	fmt.Fprintf(term.Stdout, "; teams without a score: %d\n", l.Unscored)
	t := view.NewTable("  Threshold", ">Before", ">Now", "")
	for _, row := range []struct {
		name     string
		was, now float64
	}{
		{"gold", l.Before.Gold, l.After.Gold}, {"silver", l.Before.Silver, l.After.Silver},
		{"bronze", l.Before.Bronze, l.After.Bronze}, {"median", l.Before.Median, l.After.Median},
	} {
		t.Row("  "+row.name, fmt.Sprint(row.was), fmt.Sprint(row.now), view.When(row.was != row.now, "changed"))
	}
	term.Table(t)
	if l.Written {
		fmt.Fprintf(term.Stdout, "  wrote %s; scores are no longer compared with the leaderboard that was published before\n", l.Path)
	}
}
