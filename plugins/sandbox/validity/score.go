package validity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
)

// What the reply to a query reports.
const (
	// ReportScore is the score, rounded to four significant digits, and the best so far.
	ReportScore = "score"
	// ReportRank is the place of the score among the attempt's own queries.
	ReportRank = "rank"
	// ReportBetter is whether the score is better than that of every query before.
	ReportBetter = "better"
)

// Reports lists them.
func Reports() []string { return []string{ReportScore, ReportRank, ReportBetter} }

// QueriesFile is the log of the queries in their folder. Kept files are beside it, named by
// KeptFile.
const QueriesFile = "queries.jsonl"

// KeptFile is the name of a submitted file that is kept.
func KeptFile(sha256 string) string { return sha256 + ".csv" }

// Files of queries are kept up to these sizes: of one, and of all of them.
const (
	maxKept = 64 << 20
	allKept = 512 << 20
)

// The outcomes of a query.
const (
	QueryScored  = "scored"
	QueryInvalid = "invalid"
)

// Query is one file that was sent to /score.
type Query struct {
	// Number counts the queries from 1. It is 0 for an invalid file that cost none.
	Number int       `json:"query"`
	Time   time.Time `json:"time"`
	// Elapsed is the attempt's time in seconds.
	Elapsed float64 `json:"elapsed_seconds"`
	Bytes   int64   `json:"bytes"`
	SHA256  string  `json:"sha256"`
	// Kept means that the file is kept.
	Kept bool `json:"kept,omitempty"`
	// Outcome is QueryScored or QueryInvalid, "" while it is being scored.
	Outcome string `json:"outcome,omitempty"`
	// Score has full precision; nil if there is no finite one.
	Score *float64 `json:"score,omitempty"`
	// Rank is the place of the rounded score among those of the queries up to this one; 0
	// if there is no score, or if an older version wrote the log.
	Rank int `json:"rank,omitempty"`
	// Reason says why the file is invalid.
	Reason string `json:"reason,omitempty"`
}

// QueryOptions configure Queries.
type QueryOptions struct {
	// Dir is the folder of the log and the kept files, which outlives the process.
	Dir string
	// Most is the number of queries, Every the shortest time between two of them, and
	// Report what their replies report.
	Most   int
	Every  time.Duration
	Report string
	// LowerIsBetter is the direction of the scores.
	LowerIsBetter bool
	// Check judges the form of a file without the labels.
	Check func(ctx context.Context, path string) (Verdict, error)
	// Score scores a file; nil if the metric has no finite score for it. An error means
	// that scoring failed; its text is not passed on.
	Score func(ctx context.Context, path string) (*float64, error)
	// Elapsed is the attempt's time.
	Elapsed func() time.Duration
}

// Queries answers POST /score and counts the queries. A query is on disk before the file
// is scored, so that a killed process loses an answer and never a query. The same bytes are
// the same query: they get the same score again and cost nothing.
type Queries struct {
	opts QueryOptions

	mu   sync.Mutex
	file *os.File
	list []Query
	// lost are the lines of the log that cannot be read. Each counts as a query.
	lost int
}

// OpenQueries opens the log of an attempt's queries, and continues that of an earlier
// process.
func OpenQueries(o QueryOptions) (*Queries, error) {
	file, err := nolink.OpenFile(filepath.Join(o.Dir, QueriesFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open queries: %w", err)
	}
	q := &Queries{opts: o, file: file}
	text, err := io.ReadAll(file)
	if err == nil && len(text) > 0 && text[len(text)-1] != '\n' { // the end of an earlier process cut it off
		_, err = file.WriteString("\n")
	}
	if err == nil {
		err = nolink.SyncDir(o.Dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open queries: %w", err), file.Close())
	}
	q.list, q.lost = ParseQueries(text)
	return q, nil
}

// List returns the queries, and the invalid files that cost none.
func (q *Queries) List() []Query {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.list)
}

// Best returns the number of queries that count, and the best score; nil without any.
func (q *Queries) Best() (used int, best *float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.list {
		if one.Score != nil && (best == nil || q.opts.compare(*one.Score, *best) < 0) {
			best = one.Score
		}
	}
	return q.used(), best
}

// Lost is the number of lines of the log that cannot be read. Each counts as a query.
func (q *Queries) Lost() int { return q.lost }

// ParseQueries reads the lines of a log: each query as its last line has it, and the number
// of lines that cannot be read.
func ParseQueries(text []byte) (list []Query, lost int) {
	at := map[string]int{}
	for line := range bytes.Lines(text) {
		var one Query
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
			continue
		case json.Unmarshal(line, &one) != nil || one.Number < 0 || one.SHA256 == "":
			lost++
			continue
		}
		if i, known := at[one.SHA256]; known {
			list[i] = one
		} else {
			at[one.SHA256] = len(list)
			list = append(list, one)
		}
	}
	return list, lost
}

// Close closes the log.
func (q *Queries) Close() error {
	if q == nil {
		return nil
	}
	return q.file.Close()
}

// used is the number of queries that count.
func (q *Queries) used() (n int) {
	for _, one := range q.list {
		if one.Number > 0 {
			n++
		}
	}
	return n + q.lost
}

func (q *Queries) left() int { return max(0, q.opts.Most-q.used()) }

// free is the number of invalid files that still cost no query: in all, as many as there
// are queries.
func (q *Queries) free() int {
	n := q.opts.Most
	for _, one := range q.list {
		if one.Number == 0 {
			n--
		}
	}
	return n
}

// add writes a query to the log, which must be on disk before anything is told.
func (q *Queries) add(one Query) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if _, err := q.file.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := q.file.Sync(); err != nil {
		return err
	}
	if i := slices.IndexFunc(q.list, func(old Query) bool { return old.SHA256 == one.SHA256 }); i >= 0 {
		q.list[i] = one
	} else {
		q.list = append(q.list, one)
	}
	return nil
}

// unscored is the reason of a file whose form is valid and that has no score. It does not
// depend on the labels.
const unscored = "its form is valid, but the metric has no finite score for it"

// ask answers a query with the file at path.
func (q *Queries) ask(ctx context.Context, path string, call *Call) (body map[string]any, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, err := q.find(ctx, path, call)
	if err == nil && one.Outcome == "" {
		if one.Score, err = q.opts.Score(ctx, path); err == nil {
			if one.Outcome = QueryScored; one.Score == nil {
				one.Outcome, one.Reason = QueryInvalid, unscored
			} else {
				one.Rank = q.opts.rankOf(one, q.list)
			}
			err = q.add(one)
		}
	}
	switch {
	case err != nil:
		return q.bare(), err
	case one.Outcome == QueryInvalid:
		call.Class, call.Reason = QueryInvalid, one.Reason
		return q.bare(), &refusal{status: http.StatusUnprocessableEntity, text: Invalid + one.Reason}
	}
	call.Valid = true
	return q.told(one), nil
}

// find returns the query with a file, which is counted if it is new.
func (q *Queries) find(ctx context.Context, path string, call *Call) (Query, error) {
	if i := slices.IndexFunc(q.list, func(old Query) bool { return old.SHA256 == call.SHA256 }); i >= 0 {
		return q.list[i], nil
	}
	if q.left() == 0 {
		return Query{}, &refusal{status: http.StatusForbidden, text: fmt.Sprintf("No queries are left: all %d are used.", q.opts.Most)}
	}
	one := Query{Time: call.Time, Elapsed: q.opts.Elapsed().Seconds(), Bytes: call.Bytes, SHA256: call.SHA256}
	verdict, err := q.opts.Check(ctx, path)
	if err != nil {
		return Query{}, err
	}
	if verdict.Class != "" {
		one.Outcome, one.Reason = QueryInvalid, verdict.Reason
	}
	if one.Outcome == "" || q.free() == 0 {
		if wait := q.wait(call.Time); wait > 0 {
			return Query{}, &refusal{status: http.StatusTooManyRequests, text: fmt.Sprintf("There are at least %v between two queries.", q.opts.Every), retry: wait}
		}
		one.Number, one.Kept = q.used()+1, q.keep(path, one)
	}
	return one, q.add(one)
}

// wait is the time until the next query.
func (q *Queries) wait(now time.Time) time.Duration {
	var last time.Time
	for _, one := range q.list {
		if one.Number > 0 && one.Time.After(last) {
			last = one.Time
		}
	}
	return q.opts.wait(last, now)
}

// wait is the time from now until the query after one at last. After the clock was set back
// there is none.
func (o QueryOptions) wait(last, now time.Time) time.Duration {
	if since := now.Sub(last); !last.IsZero() && since >= 0 {
		return max(0, o.Every-since)
	}
	return 0
}

// keep copies a file beside the log, unless it is too large, and reports whether it is
// there. A query does not fail for lack of space.
func (q *Queries) keep(path string, of Query) bool {
	sum := of.Bytes
	for _, one := range q.list {
		if one.Kept {
			sum += one.Bytes
		}
	}
	if of.Bytes > maxKept || sum > allKept {
		return false
	}
	from, err := os.Open(path)
	if err != nil {
		return false
	}
	defer from.Close()
	name := filepath.Join(q.opts.Dir, KeptFile(of.SHA256))
	to, err := nolink.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	_, err = io.Copy(to, from)
	if errors.Join(err, to.Close()) != nil {
		_ = os.Remove(name)
		return false
	}
	return true
}

// bare is what every reply has.
func (q *Queries) bare() map[string]any {
	return map[string]any{"left": q.left(), "is_lower_better": q.opts.LowerIsBetter}
}

// rankOf is the rank of a scored query among those of a list, in the order of their numbers.
func (o QueryOptions) rankOf(one Query, list []Query) int {
	rank := 1
	for _, other := range list {
		if other.Number < one.Number && other.Score != nil && o.compare(rounded(*other.Score), rounded(*one.Score)) < 0 {
			rank++
		}
	}
	return rank
}

// told is the reply to a query that has a score. Only the rounded scores count, so that no
// report tells more than ReportScore.
func (q *Queries) told(one Query) map[string]any {
	body := q.bare()
	own := rounded(*one.Score)
	best, rank, scored, better := own, 1, 0, true
	for _, other := range q.list {
		if other.Score == nil {
			continue
		}
		scored++
		ahead := q.opts.compare(rounded(*other.Score), own)
		if ahead < 0 {
			rank++
		}
		if q.opts.compare(rounded(*other.Score), best) < 0 {
			best = rounded(*other.Score)
		}
		better = better && (other.Number >= one.Number || ahead > 0)
	}
	switch q.opts.Report {
	case ReportRank:
		body["rank"], body["of"] = rank, scored
	case ReportBetter:
		body["better"] = better
	default:
		body["score"], body["best"] = own, best
	}
	return body
}

// compare compares scores, the better first.
func (o QueryOptions) compare(a, b float64) int {
	if o.LowerIsBetter {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// rounded is a score with four significant digits.
func rounded(score float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(score, 'e', 3, 64), 64) // it is one
	return v
}

// state is the reply to GET /score.
func (q *Queries) state() map[string]any {
	q.mu.Lock()
	defer q.mu.Unlock()
	body := q.bare()
	body["queries"], body["report"], body["every_seconds"] = q.opts.Most, q.opts.Report, q.opts.Every.Seconds()
	body["wait_seconds"] = q.wait(time.Now()).Seconds()
	return body
}

// score answers POST /score.
func (s *Server) score(w http.ResponseWriter, r *http.Request) {
	call := Call{Path: "/score", Time: time.Now().UTC(), Status: http.StatusOK}
	body := map[string]any{}
	err := s.inTurn(r, &call, func(ctx context.Context, path string) (err error) {
		body, err = s.opts.Queries.ask(ctx, path, &call)
		return err
	})
	s.answer(w, call, body, err)
}
