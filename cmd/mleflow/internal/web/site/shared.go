package site

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// Sketch is a sample of a submission: the rows whose ids have the lowest hashes, which
// are the same rows in every submission with these ids.
type Sketch struct {
	// File is the digest of the graded file.
	File string
	Rows []Sampled
}

// Sampled is a row of a sketch without its id.
type Sampled struct {
	ID    uint64
	Cells []string
}

// The bounds of sketches, and of comparing them.
const (
	sketchRows  = 256
	sketchCells = 16
	cellBytes   = 24
	sampleBytes = 256 << 20
	fewestRows  = 20
	mostPairs   = 200_000
	// commandRunes is how much of a command an agent's page has; its bundle has all.
	commandRunes = 1000
)

// inspect reads the attempt's inputs from outside its competition from the records of a
// bundle, and samples the graded file. It knows less of a file that the bundle lacks or
// that is no table.
func (r *Row) inspect(ctx context.Context, store *bundle.Store) error {
	grade, err := record(ctx, store, r.GradeAction)
	if err != nil {
		return err
	}
	if r.AttemptAction != "" {
		made, err := record(ctx, store, r.AttemptAction)
		if err != nil {
			return err
		}
		a := bundle.AttemptOf(r.Address, made)
		r.Outside, r.Command = a.Outside(), strings.Join(a.Command, " ")
		if len(a.Resume) > 0 {
			r.Command += "; after a loss: " + strings.Join(a.Resume, " ")
		}
		r.Command = view.Cut(r.Command, commandRunes)
	}
	id, err := digest.ParseContentID(r.Submission)
	if err != nil {
		return nil //nolint:nilerr // there is no submission
	}
	e, err := tree.Find(ctx, store, cache.Ref{Kind: cache.Tree, ID: id}, grade.Field("file"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil { // else it is a file itself
		id = e.ID
	}
	r.Sketch = &Sketch{File: id.String()}
	in, err := store.Open(ctx, id)
	if errors.Is(err, cache.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Sketch.Rows = sample(io.LimitReader(in, sampleBytes))
	return in.Close()
}

func record(ctx context.Context, store *bundle.Store, action string) (*cache.Record, error) {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return nil, err
	}
	return store.Lookup(ctx, id)
}

// sample reads rows as far as they are CSV.
func sample(from io.Reader) []Sampled {
	in := csv.NewReader(from)
	in.FieldsPerRecord, in.LazyQuotes, in.ReuseRecord = -1, true, true
	var list []Sampled
	most, last, again := uint64(math.MaxUint64), "", 0
	for n := 0; ; n++ {
		cells, err := in.Read()
		if err != nil {
			return lowest(list)
		}
		if again++; cells[0] != last {
			last, again = cells[0], 0
		}
		if n == 0 || len(cells) < 2 { // the header
			continue
		}
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d,%s", again, cells[0])
		id := h.Sum64()
		if id > most {
			continue
		}
		row := Sampled{ID: id}
		for _, c := range cells[1:min(len(cells), sketchCells+1)] {
			if len(c) > cellBytes {
				c = digest.Of([]byte(c)).String()[:cellBytes]
			}
			row.Cells = append(row.Cells, strings.Clone(c))
		}
		if list = append(list, row); len(list) == 2*sketchRows {
			list = lowest(list)
			most = list[len(list)-1].ID
		}
	}
}

func lowest(list []Sampled) []Sampled {
	slices.SortFunc(list, func(a, b Sampled) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Clone(list[:min(len(list), sketchRows)])
}

// near reports whether two sketches are of nearly equal submissions, and the share of
// their common rows in which they agree. For values that few rows share, half is more
// than chance. Where all rows have one of few values, good agents agree in nearly all.
func near(a, b *Sketch) (agree, both int, is bool) {
	values := map[string]bool{}
	for i, j := 0, 0; i < len(a.Rows) && j < len(b.Rows); {
		x, y := a.Rows[i], b.Rows[j]
		switch {
		case x.ID < y.ID:
			i++
		case x.ID > y.ID:
			j++
		default:
			i, j, both = i+1, j+1, both+1
			values[fmt.Sprintf("%q", x.Cells)] = true
			if slices.EqualFunc(x.Cells, y.Cells, nearCell) {
				agree++
			}
		}
	}
	share := view.Either(len(values)*2 > both, 0.5, 0.995)
	return agree, both, both >= fewestRows && len(values) > 1 && float64(agree) >= share*float64(both)
}

// nearCell reports whether two cells are equal, numbers to a thousandth.
func nearCell(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= max(math.Abs(x), math.Abs(y))/1000
}

// common describes the equal submissions of two agents.
type common struct {
	pairs   int
	first   string // how the first of them are alike
	bundles []*Bundle
}

// shared adds findings on different agents whose submissions are equal or nearly equal.
func (c *checker) shared() {
	pairs, found := 0, map[[2]string]*common{}
	sampled := slices.DeleteFunc(slices.Clone(c.rows), func(r *Row) bool { return r.Sketch == nil || !r.Report.SubmissionExists })
	by := lists.By(sampled, func(r *Row) [2]string { return [2]string{r.Report.CompetitionID, r.Report.CompetitionVersion} })
	for _, at := range slices.SortedFunc(maps.Keys(by), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		rows := by[at]
		slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Seed, b.Seed)) })
		for i, b := range rows {
			for _, a := range rows[:i] {
				if a.Agent == b.Agent {
					break // and so are the following
				}
				if pairs++; pairs > mostPairs {
					continue
				}
				if how := a.shares(b); how != "" {
					both := [2]string{a.Agent, b.Agent}
					if found[both] == nil {
						found[both] = &common{first: fmt.Sprintf("seed %s of %s and seed %s of %s at %s: %s", cmp.Or(a.Seed, "?"), a.Agent, cmp.Or(b.Seed, "?"), b.Agent, at[0], how)}
					}
					found[both].pairs++
					found[both].bundles = append(found[both].bundles, a.Bundle, b.Bundle)
				}
			}
		}
	}
	for both, f := range found {
		c.find(Shared, both[1], f.bundles, "%s of equal submissions with %s; %s", view.Plural(f.pairs, "pair"), both[0], f.first)
	}
	if pairs > mostPairs {
		c.find(Shared, "the board", nil, "there are %d pairs of submissions, of which %d were compared", pairs, mostPairs)
	}
}

// shares describes the similarity of two submissions; "" if there is none.
func (r *Row) shares(other *Row) string {
	if r.Sketch.File == other.Sketch.File {
		return "the same file, byte for byte"
	}
	if agree, both, is := near(r.Sketch, other.Sketch); is {
		return fmt.Sprintf("the same values, to a thousandth, in %d of %d rows that were compared", agree, both)
	}
	return ""
}
