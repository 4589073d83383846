package kit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/compare"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// Against compares the blocks of a definition with its Python, which they replace: the
// files that both prepared, bit for bit, and what both say of submissions, to the last
// decimal of the score. Ours is the folder that the block prepare made, or "" if there is
// none; o.Prepared is the Python's, whose answers both graders get.
//
// Archives are compared by their members, and Parquet by its content: their bytes depend on
// times and on the versions of libraries.
func Against(ctx context.Context, def *competitions.Definition, ours string, o TestOptions) (checks []Check, err error) {
	if ours != "" {
		if checks, err = sameFiles(ctx, o.Prepared, ours); err != nil {
			return nil, fmt.Errorf("compare the prepared files of %s: %w", def.ID, err)
		}
	}
	if def.Grade.IsZero() || def.Python.Grade == "" {
		return checks, nil
	}
	work, err := os.MkdirTemp("", "competition-against-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	t := &tester{ctx: ctx, def: def, o: o, work: work, checks: checks}
	if t.gold, err = table.ReadCSVFile(t.path(def.Layout.Sample), table.ReadOptions{}); err != nil {
		return nil, fmt.Errorf("test %s: %w", def.ID, err)
	}
	given := map[string]string{"the sample submission": def.Layout.Sample, "the gold submission": def.Layout.Gold}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := t.both(name, t.path(given[name])); err != nil {
			return nil, err
		}
	}
	return t.checks, t.madeUp()
}

// maxShown bounds the files that are named.
const maxShown = 20

// sameFiles compares two folders.
func sameFiles(ctx context.Context, want, got string) (checks []Check, err error) {
	const name = "prepared files equal those of Python"
	theirs, err := sums(want)
	if err != nil {
		return nil, err
	}
	own, err := sums(got)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(theirs)
	maps.Copy(all, own)
	wrong := 0
	for _, file := range slices.Sorted(maps.Keys(all)) {
		detail := ""
		switch {
		case theirs[file] == own[file]:
			continue
		case own[file] == "":
			detail = "the block prepare does not write it"
		case theirs[file] == "":
			detail = "Python does not write it"
		default:
			if detail, err = difference(ctx, file, filepath.Join(want, file), filepath.Join(got, file)); err != nil {
				return nil, err
			}
		}
		if detail == "" {
			continue
		}
		if wrong++; wrong <= maxShown {
			checks = append(checks, Check{Name: name, Verdict: Failed, Detail: file + ": " + detail})
		}
	}
	switch {
	case wrong > maxShown:
		checks = append(checks, Check{Name: name, Verdict: Failed, Detail: fmt.Sprintf("%d further files differ", wrong-maxShown)})
	case wrong == 0:
		checks = append(checks, Check{Name: name, Verdict: Passed, Detail: fmt.Sprintf("%d files", len(all))})
	}
	return checks, nil
}

// sums returns the SHA-256 of the files of a folder.
func sums(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		all[filepath.ToSlash(rel)] = hex.EncodeToString(h.Sum(nil))
		return err
	})
	return all, err
}

// difference describes how a file of other bytes differs; "" if it means the same.
func difference(ctx context.Context, name, want, got string) (string, error) {
	theirs, err := meaning(ctx, name, want)
	if err != nil {
		return "", err
	}
	own, err := meaning(ctx, name, got)
	if err != nil {
		return "", err
	}
	if theirs != nil {
		for _, m := range slices.Sorted(maps.Keys(theirs)) {
			if own[m] != theirs[m] {
				return fmt.Sprintf("its part %q differs", m), nil
			}
		}
		if len(own) != len(theirs) {
			return fmt.Sprintf("it has %d parts, that of Python %d", len(own), len(theirs)), nil
		}
		return "", nil
	}
	open := func(path string) compare.Opener {
		return func(context.Context) (fs.File, error) { return os.Open(path) }
	}
	d, err := compare.Files(ctx, name, open(want), open(got))
	return cmp.Or(d.Text, "it has other bytes"), err
}

// meaning returns the parts of an archive or of a Parquet file with their sums; nil for any
// other file.
func meaning(ctx context.Context, name, file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if path.Ext(name) == ".parquet" {
		sum, err := table.ParquetContent(ctx, f, info.Size())
		return map[string]string{"content": sum}, err
	}
	if !slices.Contains([]string{".zip", ".7z", ".tar", ".gz", ".tgz"}, path.Ext(name)) {
		return nil, nil
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return nil, err
	}
	parts := map[string]string{}
	err = archive.Walk(ctx, archive.Source{ReaderAt: f, Size: info.Size()}, archive.Sniff(head[:n]), archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		h := sha256.New()
		if !e.Folder {
			if _, err := io.Copy(h, r); err != nil {
				return err
			}
		}
		parts[e.Name] = hex.EncodeToString(h.Sum(nil))
		return nil
	})
	return parts, err
}

// both grades a submission by the block and by Python.
func (t *tester) both(name, submission string) error {
	check := "score of " + name + " equals that of Python"
	own, err := t.grade(submission)
	if err != nil {
		return err
	}
	theirs, err := grading.Grade(t.ctx, t.def.AsPython(), t.o.Metrics, grading.Request{
		Submission: submission, Answers: t.path(t.def.Layout.Answers), Executor: t.o.Executor, Packages: t.o.Packages,
	})
	switch {
	case err != nil:
		return err
	case (own.Score == nil) != (theirs.Score == nil):
		t.note(check, Failed, "Python: %s; the block: %s", told(theirs), told(own))
	case own.Score == nil:
		t.note(check, Passed, "none: %s", own.Reason)
	case spell(own.Score) != spell(theirs.Score):
		t.note(check, Failed, "Python: %s; the block: %s", told(theirs), told(own))
	case spell(own.ExactScore) != spell(theirs.ExactScore):
		t.note(check, Passed, "%s, exactly %s, of Python %s", spell(own.Score), spell(own.ExactScore), spell(theirs.ExactScore))
	default:
		t.note(check, Passed, "%s", spell(own.Score))
	}
	return nil
}

func told(r grading.Report) string {
	if r.Score == nil {
		return "no score, " + r.Reason
	}
	return spell(r.Score)
}

// madeUp grades submissions that are made of the sample: good ones in another order or with
// other values, and broken ones.
func (t *tester) madeUp() error {
	s := t.gold
	names, rows := s.Names(), s.Len()
	if len(names) == 0 || rows == 0 {
		t.note("made-up submissions", Skipped, "the sample submission has no rows")
		return nil
	}
	rest := names[1:]
	reversed := table.Collect(rows, func(i int) int { return rows - 1 - i })
	rolled := table.Collect(rows, func(i int) int { return (i + 1) % rows })
	moved := func(order []int) func() (*table.Table, error) {
		return func() (*table.Table, error) {
			targets, err := s.Select(rest...)
			if err != nil {
				return nil, err
			}
			return s.With(targets.Take(order).Columns()...)
		}
	}
	filled := func(column string, v table.Value) func() (*table.Table, error) {
		return func() (*table.Table, error) {
			c, err := s.Column(column)
			if err != nil {
				return nil, err
			}
			cells := c.Values()
			for i := 0; i < len(cells); i += 2 {
				cells[i] = v
			}
			return s.With(table.FromValues(column, cells))
		}
	}
	last := names[len(names)-1]
	type made struct {
		name string
		make func() (*table.Table, error)
	}
	cases := []made{
		{"the sample in reverse order", func() (*table.Table, error) { return s.Take(reversed), nil }},
		{"the sample with values moved by a row", moved(rolled)},
		{"the sample with values in reverse order", moved(reversed)},
		{"the sample without rows", func() (*table.Table, error) { return s.Slice(0, 0), nil }},
		{"the sample without the last row", func() (*table.Table, error) { return s.Slice(0, rows-1), nil }},
		{"the sample with a row twice", func() (*table.Table, error) {
			return s.Take(append(table.Collect(rows, func(i int) int { return i }), min(0, rows-1))), nil
		}},
		{"the sample with missing values", filled(last, table.Value{})},
		{"the sample with ones", filled(last, table.IntValue(1))},
		{"the sample with halves", filled(last, table.FloatValue(0.5))},
		{"the sample with large numbers", filled(last, table.FloatValue(1e6))},
		{"the sample with texts", filled(last, table.TextValue("some text"))},
		{"the sample with ids that do not exist", filled(names[0], table.TextValue("no such id"))},
	}
	for _, column := range names[:min(len(names), 4)] {
		cases = append(cases, made{"the sample without " + column, func() (*table.Table, error) { return s.Drop(column) }})
	}
	for _, c := range cases {
		made, err := c.make()
		if err != nil {
			t.note(c.name, Skipped, "%v", err)
			continue
		}
		var text bytes.Buffer
		if err := table.WriteCSV(&text, made, table.WriteOptions{}); err != nil {
			return err
		}
		file := filepath.Join(t.work, "submission.csv")
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			return err
		}
		if err := t.both(c.name, file); err != nil {
			return err
		}
	}
	return nil
}
