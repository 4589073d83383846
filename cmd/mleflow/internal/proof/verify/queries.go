package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// Queries are the validation scores that an attempt asked for.
type Queries struct {
	// Asked are those that the bundle has, Recomputed those of them that were graded again
	// here, against labels that were held out here.
	Asked      int `json:"asked"`
	Recomputed int `json:"recomputed"`
	// Unkept are those whose files are not in the bundle.
	Unkept int `json:"without_file,omitempty"`
	// Lost are lines of the log that cannot be read, each of which may be a query.
	Lost int `json:"lost,omitempty"`
	// Why gives the reason why none was graded again.
	Why string `json:"why,omitempty"`

	list []validity.Query
}

// Claims says which scores were not graded again; empty if all were.
func (q *Queries) Claims() string {
	if q == nil || q.Asked == q.Recomputed {
		return ""
	}
	text := fmt.Sprintf("%d of %d validation scores", q.Asked-q.Recomputed, q.Asked)
	if q.Why != "" {
		text += ": " + q.Why
	}
	return text
}

// cannot gives the reason why no query can be graded again; nil has none.
func (q *Queries) cannot(why error) {
	if q != nil {
		q.Why = why.Error()
	}
}

// String is the account in a sentence; empty if none was graded again.
func (q *Queries) String() string {
	if q == nil || q.Recomputed == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d validation scores", q.Recomputed, q.Asked)
	if q.Unkept > 0 {
		text += fmt.Sprintf("; the files of %d are not in the bundle", q.Unkept)
	}
	if q.Lost > 0 {
		text += fmt.Sprintf("; %d lines of their log are lost", q.Lost)
	}
	return text
}

// maxLog bounds a log of an attempt that is read here.
const maxLog = 16 << 20

// asked reads the queries of an attempt. Wrong is what contradicts itself, the attempt's
// arguments or its other outputs.
func (a *verifier) asked(ctx context.Context, l chain) (_ *Queries, wrong, err error) {
	q := &Queries{}
	text, err := a.log(ctx, l.agent, "queries", validity.QueriesFile)
	if err != nil {
		return q, fmt.Errorf("they cannot be read: %w", err), ctx.Err()
	}
	q.list, q.Lost = validity.ParseQueries(text)
	of, err := a.queryOptions(l)
	if err != nil {
		return q, nil, err
	}
	if err := of.CheckQueries(q.list, q.Lost); err != nil {
		return q, err, nil
	}
	if q.Lost == 0 {
		text, err := a.log(ctx, l.agent, "validation_log", "")
		if err != nil {
			return q, fmt.Errorf("the log of requests cannot be read: %w", err), ctx.Err()
		}
		if err := validity.CheckCalls(q.list, callsOf(text)); err != nil {
			return q, err, nil
		}
	}
	kept := map[string]validity.Query{}
	for _, one := range q.list {
		if one.Score != nil {
			q.Asked++
		}
		if one.Kept {
			kept[validity.KeptFile(one.SHA256)] = one
		}
	}
	return q, a.keptFiles(ctx, l, kept), ctx.Err()
}

// keptFiles compares the kept files with the queries that have them.
func (a *verifier) keptFiles(ctx context.Context, l chain, kept map[string]validity.Query) error {
	err := tree.Each(ctx, a.store, a.recorded(l.agent, "queries"), func(e tree.Entry) error {
		one, found := kept[e.Name]
		switch {
		case e.Name == validity.QueriesFile:
			return nil
		case !found:
			return fmt.Errorf("the file %.80q is of no query", e.Name)
		case e.IsDir(), e.ID.String() != one.SHA256, e.Size != one.Bytes:
			return fmt.Errorf("%s has another file than its digest says", one)
		}
		delete(kept, e.Name)
		return nil
	})
	for _, one := range kept {
		if err == nil {
			err = fmt.Errorf("the file of %s is missing", one)
		}
	}
	return err
}

// log reads a log among an attempt's outputs: a file of a tree, or the output itself.
func (a *verifier) log(ctx context.Context, agent int, output, name string) ([]byte, error) {
	ref := a.recorded(agent, output)
	if name != "" {
		e, err := tree.Find(ctx, a.store, ref, name)
		if err != nil {
			return nil, err
		}
		ref = e.Ref()
	}
	return cache.Get(ctx, a.store, ref.ID, maxLog)
}

func callsOf(text []byte) (calls []validity.Call) {
	for line := range bytes.Lines(text) {
		var c validity.Call
		if json.Unmarshal(line, &c) == nil { // the end of a process may cut a line off
			calls = append(calls, c)
		}
	}
	return calls
}

// queryOptions are the rules of an attempt's queries, by its key.
func (a *verifier) queryOptions(l chain) (o validity.QueryOptions, err error) {
	def, err := a.definition(l)
	if err != nil {
		return o, err
	}
	o.LowerIsBetter = def.Medals.LowerIsBetter
	if conditions.IsFork(a.Program.Conditions(l.agent)) { // it has those of its origin, too
		o.Most = math.MaxInt
		return o, nil
	}
	if o.Most, err = strconv.Atoi(a.records[l.agent].Field("queries")); err != nil {
		return o, err
	}
	if text := a.records[l.agent].Field("every"); text != "" {
		o.Every, err = time.ParseDuration(text)
	}
	return o, err
}

// splitting is the bundle as a cache in which data are made again: they go to the
// verifier's own cache, since they may not fit in memory.
type splitting struct {
	*bundle.Store
	own cache.Cache
}

// Ingest implements cache.Store.
func (s splitting) Ingest(ctx context.Context, key string) (cache.Ingest, error) {
	return s.own.Ingest(ctx, key)
}

// TempDir implements cache.Workspace.
func (s splitting) TempDir(name string) (string, error) { return s.own.TempDir(name) }

// resplit holds out rows of the verifier's own public data once more, and grades the
// queries again against their labels. Another split or score refuses the row.
func (a *verifier) resplit(ctx context.Context) error {
	splits, able := map[string]bool{}, map[string]chain{}
	for i := range a.trusted {
		l, err := a.of(i)
		if err == nil && l.split >= 0 {
			splits[a.address(l.split)], able[a.address(i)] = true, l
		}
	}
	if len(able) == 0 {
		return nil
	}
	by, err := a.againIn(ctx, splitting{a.store, a.Data.Cache}, func(address string) bool { return splits[address] })
	if err != nil {
		return err
	}
	for n := range a.report.Rows {
		row := &a.report.Rows[n]
		l, found := able[row.Address]
		if !found || row.Queries.Why != "" {
			continue
		}
		var err error
		switch v := by[a.address(l.split)]; v.Verdict {
		case engine.Same:
			err = a.requery(ctx, l, row.Queries)
		case engine.Differs:
			err = contradiction{fmt.Errorf("holding out rows of %s again gives another split than %s", row.Competition, a.address(l.split))}
		case engine.Missing:
			row.Queries.Why = v.Error
		default:
			return fmt.Errorf("make %s again: %s", a.address(l.split), v.Error)
		}
		var wrong contradiction
		if errors.As(err, &wrong) {
			row.Standing, row.Why = Refused, "its validation scores: "+wrong.Error()
			delete(a.trusted, l.grade)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// contradiction is what a bundle says, and what was found here.
type contradiction struct{ error }

// requery grades the queries of an attempt again.
func (a *verifier) requery(ctx context.Context, l chain, q *Queries) error {
	def, err := a.definition(l)
	if err != nil {
		return err
	}
	dir, err := a.Data.Cache.TempDir("verify-queries")
	if err != nil {
		return err
	}
	defer func() { _ = tree.Remove(dir) }()
	name := strings.TrimPrefix(def.Layout.Answers, "private/")
	labels, err := tree.Find(ctx, a.store, a.recorded(l.split, "private"), name)
	if err != nil {
		return fmt.Errorf("held-out labels of %s: %w", def.ID, err)
	}
	at := filepath.Join(dir, "labels"+filepath.Ext(name))
	if _, err := tree.Materialise(ctx, a.store, labels.Ref(), at, tree.Options{Mode: tree.Copy}); err != nil {
		return err
	}
	return lists.Each(q.list, func(one validity.Query) error { return a.ask(ctx, def, at, one, q) })
}

// ask grades a query again.
func (a *verifier) ask(ctx context.Context, def *competitions.Definition, labels string, one validity.Query, q *Queries) error {
	if one.Number == 0 || one.Outcome == "" {
		return nil
	}
	id, err := digest.ParseContentID(one.SHA256)
	if err != nil {
		return contradiction{fmt.Errorf("%s: %w", one, err)}
	}
	file := filepath.Join(filepath.Dir(labels), "submission.csv")
	_, err = tree.Materialise(ctx, a.store, cache.Ref{Kind: cache.Blob, ID: id, Size: one.Bytes}, file, tree.Options{Mode: tree.Copy})
	switch {
	case errors.Is(err, cache.ErrNotFound):
		q.Unkept++
		return nil
	case err != nil:
		return err
	}
	report, err := a.Grader.Grade(ctx, def, grading.Request{Name: "submission.csv", Submission: file, Answers: labels, Created: time.Unix(0, 0).UTC()})
	if err = errors.Join(err, os.Remove(file)); err != nil {
		return fmt.Errorf("grade %s again: %w", one, err)
	}
	is := report.FiniteScore()
	switch {
	case one.Score == nil && is != nil:
		return contradiction{fmt.Errorf("%s is %s in the bundle, and has the score %v here", one, one.Outcome, *is)}
	case one.Score != nil && (is == nil || math.Float64bits(*is) != math.Float64bits(*one.Score)):
		return contradiction{fmt.Errorf("%s has the score %v in the bundle, and %s with the labels that were held out here", one, *one.Score, shownScore(is))}
	case is != nil:
		q.Recomputed++
	}
	return nil
}

func shownScore(score *float64) string {
	if score == nil {
		return "none"
	}
	return fmt.Sprint(*score)
}
