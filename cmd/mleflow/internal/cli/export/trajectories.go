package export

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

func newExportTrajectories(a *app.App) *cobra.Command {
	var output, format string
	cmd := a.RunCommand("trajectories [RUN [KEY]...] -o FILE",
		"Write token ids, log-probabilities and rewards of attempts for training", app.Needs(app.Takes(0, -1), "output"),
		func(cmd *cobra.Command, past *history.Past, args []string) error {
			if format == "" {
				format = map[string]string{".jsonl": "jsonl", ".parquet": "parquet"}[filepath.Ext(output)]
			}
			if format != "jsonl" && format != "parquet" {
				return app.Usagef("choose a format with --format: jsonl or parquet")
			}
			if err := a.UseRun(past); err != nil {
				return err
			}
			return a.WithResults(past, func(c app.ResultCache) error {
				return exportTrajectories(cmd.Context(), a, past, c, args[min(1, len(args)):], TrajectoriesJSON{Path: output, Format: format})
			})
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	cmd.Flags().StringVar(&format, "format", "", "`FORMAT`: jsonl or parquet (default: as the name of FILE ends)")
	return cmd
}

// TrajectoriesJSON is what export trajectories --json prints.
type TrajectoriesJSON struct {
	Path         string `json:"path"`
	Format       string `json:"format"`
	Attempts     int    `json:"attempts"`
	Trajectories int    `json:"trajectories"`
	// Sampled is the number of tokens under the masks.
	Sampled int           `json:"sampled_tokens"`
	Skipped []SkippedJSON `json:"skipped"`
}

// SkippedJSON is an exchange that is in no trajectory.
type SkippedJSON struct {
	Address  string `json:"address"`
	Sequence int    `json:"sequence"`
	Problem  string `json:"problem"`
}

// TrajectoryJSON is a line of export trajectories: a segment of the tokens of an attempt.
// Attempt is its row of the table attempts, with the rewards.
type TrajectoryJSON struct {
	Attempt            json.RawMessage          `json:"attempt"`
	ModelBlock         string                   `json:"model_block"`
	Segment            int                      `json:"segment"`
	Break              *transcript.Break        `json:"break"`
	Calls              []transcript.SegmentCall `json:"calls"`
	Tools              []message.Tool           `json:"tools"`
	Messages           []message.Message        `json:"messages"`
	PromptIDs          []uint32                 `json:"prompt_ids"`
	CompletionIDs      []uint32                 `json:"completion_ids"`
	CompletionMask     []int                    `json:"completion_mask"`
	CompletionLogprobs []*float64               `json:"completion_logprobs"`
}

// trajectoryExport writes the trajectories of some attempts.
type trajectoryExport struct {
	c     app.ResultCache
	of    []*results.Attempt
	rows  *table.Table
	said  TrajectoriesJSON
	write func(row int, one *TrajectoryJSON) error
}

func exportTrajectories(ctx context.Context, a *app.App, past *history.Past, c app.ResultCache, keys []string, said TrajectoriesJSON) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	run, err := leaderboard.TidyRun(past, c, catalog)
	if err != nil {
		return err
	}
	records, left, err := attempts.Collect(ctx, run)
	if err != nil {
		return err
	}
	x := trajectoryExport{c: c, of: records, said: said}
	if len(keys) > 0 {
		x.of = nil
	}
	for _, key := range keys {
		found, err := attempts.Find(key, records)
		if err != nil {
			return app.Usagef("%w", err)
		}
		x.of = append(x.of, lists.Where(found, func(r *results.Attempt) bool { return !slices.Contains(x.of, r) })...)
	}
	if len(keys) == 0 {
		leaderboard.TellLeft(a, left)
	}
	if x.rows, err = export.Attempts(x.of); err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	err = wholefile.Create(said.Path, 0o666, func(w io.Writer) error { return x.writeAll(ctx, w) })
	if errors.Is(err, os.ErrExist) {
		return app.Usagef("%s already exists; move it away, or write elsewhere", said.Path)
	}
	if err != nil {
		return err
	}
	return a.Show(x.said, func() { x.tell(a) })
}

// ErrNoTokens means that attempts have no trajectories.
var ErrNoTokens = errors.New("there are no token ids to write")

// Trajectories writes the trajectories of attempts, one per line.
func Trajectories(ctx context.Context, c app.ResultCache, of []*results.Attempt, w io.Writer) error {
	rows, err := export.Attempts(of)
	if err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	return (&trajectoryExport{c: c, of: of, rows: rows}).writeAll(ctx, w)
}

// tell says what was written and what was not.
func (x *trajectoryExport) tell(a *app.App) {
	number := view.Either(x.said.Trajectories == 1, "1 trajectory", view.Count(int64(x.said.Trajectories))+" trajectories")
	fmt.Fprintf(a.Stdout, "%s holds %s of %s, with %s.\n", x.said.Path, number, view.Plural(x.said.Attempts, "attempt"), view.Plural(x.said.Sampled, "sampled token"))
	for _, text := range x.problems() {
		a.Warn(text)
	}
}

// problems counts the exchanges that were skipped by why.
func (x *trajectoryExport) problems() []string {
	by := lists.By(x.said.Skipped, func(s SkippedJSON) string { return s.Problem })
	return lists.Of(slices.Sorted(maps.Keys(by)), func(problem string) string {
		first := by[problem][0]
		return fmt.Sprintf("%s left out, such as %d of %s: %s", view.Verb(len(by[problem]), "exchange", "is", "are"), first.Sequence, first.Address, problem)
	})
}

// writer sets how a trajectory is written, and returns what ends the file.
func (x *trajectoryExport) writer(w io.Writer) (end func() error) {
	if x.said.Format == "parquet" {
		p := &trajectoryTable{to: w, rows: x.rows}
		x.write = p.add
		return p.close
	}
	x.write = x.lines(w)
	return func() error { return nil }
}

func (x *trajectoryExport) writeAll(ctx context.Context, w io.Writer) error {
	end := x.writer(w)
	for i, of := range x.of {
		if err := x.attempt(ctx, i, of); err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(of.Address, attempts.Name(of)), err)
		}
	}
	if x.said.Trajectories == 0 {
		why := "no exchange with a model was recorded"
		if list := x.problems(); len(list) > 0 {
			why = list[0]
		}
		return app.Usagef("%w: %s; set record_tokens in the model block before the attempt (docs/training.md)", ErrNoTokens, why)
	}
	return end()
}

// attempt writes the trajectories of an attempt.
func (x *trajectoryExport) attempt(ctx context.Context, row int, of *results.Attempt) error {
	if of.AttemptAction == "" {
		return nil
	}
	rec, err := outputs.Lookup(ctx, x.c, of.AttemptAction)
	if err != nil {
		return err
	}
	ref := rec.Outputs["transcript"].Ref
	if ref.Kind != cache.Tree || ref.Files == 0 { // without models it is empty
		return nil
	}
	r, err := transcript.OpenReader(tree.NewFS(ctx, x.c, ref))
	if err != nil {
		return err
	}
	return errors.Join(x.segments(r, row, of.Address), r.Close())
}

// segments writes the trajectories of a transcript.
func (x *trajectoryExport) segments(r *transcript.Reader, row int, address string) error {
	n := 0
	for s, err := range r.Segments(func(sequence int, problem string) {
		x.said.Skipped = append(x.said.Skipped, SkippedJSON{address, sequence, problem})
	}) {
		var one *TrajectoryJSON
		if err == nil {
			one, err = trajectoryOf(r, s, n)
		}
		if err == nil {
			err = x.write(row, one)
		}
		if err != nil {
			return err
		}
		n++
		for _, m := range one.CompletionMask {
			x.said.Sampled += m
		}
	}
	x.said.Trajectories += n
	x.said.Attempts += min(n, 1)
	return nil
}

// trajectoryOf returns a segment with the conversation at its end.
func trajectoryOf(r *transcript.Reader, s *transcript.Segment, n int) (*TrajectoryJSON, error) {
	turns, err := r.Among([]*transcript.Event{s.Last})
	if err != nil {
		return nil, err
	}
	one := &TrajectoryJSON{
		ModelBlock: s.Model, Segment: n, Break: s.Break, Calls: s.Calls, Tools: turns[0].Tools, Messages: turns[0].Said,
		PromptIDs: s.IDs[:s.Prompt], CompletionIDs: s.IDs[s.Prompt:],
	}
	if s.Calls[len(s.Calls)-1].Choice == 0 { // the reply is the first choice
		one.Messages = append(one.Messages, turns[0].Reply)
	}
	for i, m := range s.Mask {
		var p *float64
		if !math.IsNaN(s.Logprobs[i]) {
			p = &s.Logprobs[i]
		}
		one.CompletionMask, one.CompletionLogprobs = append(one.CompletionMask, int(m)), append(one.CompletionLogprobs, p)
	}
	return one, nil
}

// lines writes a trajectory per line.
func (x *trajectoryExport) lines(w io.Writer) func(int, *TrajectoryJSON) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(row int, one *TrajectoryJSON) error {
		text, err := rowsOf(x.rows.Slice(row, row+1), nil)
		if err != nil {
			return err
		}
		one.Attempt = bytes.Trim(text, "[] \n")
		return enc.Encode(one)
	}
}

// groupTokens is the number of tokens from which a row group is written.
const groupTokens = 1 << 22

// trajectoryTable writes trajectories as Parquet.
type trajectoryTable struct {
	to      io.Writer
	rows    *table.Table
	out     *table.ListWriter
	pending []*TrajectoryJSON
	at      []int
	tokens  int
}

func (t *trajectoryTable) add(row int, one *TrajectoryJSON) error {
	t.pending, t.at = append(t.pending, one), append(t.at, row)
	if t.tokens += len(one.PromptIDs) + len(one.CompletionIDs); t.tokens < groupTokens {
		return nil
	}
	return t.flush()
}

// flush writes a row group.
func (t *trajectoryTable) flush() error {
	ints := func(name string, of func(*TrajectoryJSON) []int64) table.List {
		return table.List{Name: name, Ints: lists.Of(t.pending, of)}
	}
	columns := []table.List{
		ints("prompt_ids", func(one *TrajectoryJSON) []int64 { return lists.Of(one.PromptIDs, wide) }),
		ints("completion_ids", func(one *TrajectoryJSON) []int64 { return lists.Of(one.CompletionIDs, wide) }),
		ints("completion_mask", func(one *TrajectoryJSON) []int64 {
			return lists.Of(one.CompletionMask, func(m int) int64 { return int64(m) })
		}),
		{Name: "completion_logprobs", Floats: lists.Of(t.pending, func(one *TrajectoryJSON) []float64 {
			none := math.NaN()
			return lists.Of(one.CompletionLogprobs, func(p *float64) float64 { return *cmp.Or(p, &none) })
		})},
	}
	text := func(name string, of func(*TrajectoryJSON) any) *table.Column {
		return table.FromTexts(name, lists.Of(t.pending, func(one *TrajectoryJSON) string {
			data, _ := json.Marshal(of(one)) // it was read as JSON
			return string(data)
		}), lists.Of(t.pending, func(*TrajectoryJSON) bool { return true }))
	}
	rows, err := t.rows.Take(t.at).With(
		table.FromTexts("model_block", lists.Of(t.pending, func(one *TrajectoryJSON) string { return one.ModelBlock }), lists.Of(t.pending, func(*TrajectoryJSON) bool { return true })),
		table.FromInts("segment", lists.Of(t.pending, func(one *TrajectoryJSON) int64 { return int64(one.Segment) })),
		text("break", func(one *TrajectoryJSON) any { return one.Break }), text("calls", func(one *TrajectoryJSON) any { return one.Calls }),
		text("tools", func(one *TrajectoryJSON) any { return one.Tools }), text("messages", func(one *TrajectoryJSON) any { return one.Messages }),
	)
	if err == nil && t.out == nil {
		t.out, err = table.NewListWriter(t.to, rows, columns...)
	}
	if err == nil {
		err = t.out.Write(rows, columns...)
	}
	t.pending, t.at, t.tokens = nil, nil, 0
	return err
}

func wide(id uint32) int64 { return int64(id) }

func (t *trajectoryTable) close() error {
	if len(t.pending) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	return t.out.Close()
}
