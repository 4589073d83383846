package grading

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/parallel"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/step"
)

// Entry is one line of a list of submissions.
type Entry struct {
	Line           int // in the list, from 1
	CompetitionID  string
	SubmissionPath string
	// Refused is the reason why an existing file is not read; "" reads it.
	Refused string
	// Labels, Origin and Conditions go into the report.
	Labels     map[string]string
	Origin     *Origin
	Conditions []string
}

// Origin is the attempt that a submission is from, a run of a run group, as far as its
// files tell.
type Origin struct {
	Group string `json:"run_group"`
	Run   string `json:"run"`
	// Attempt is the key of the attempt; empty if nothing identifies it.
	Attempt string `json:"attempt,omitempty"`
	// Outcome is the run's outcome; see package rungroup.
	Outcome     string   `json:"outcome"`
	WallSeconds *float64 `json:"wall_seconds,omitempty"`
	// Usage is its use of models; nil if unknown.
	Usage *Usage `json:"usage,omitempty"`
	// Evidence is the imported trajectory that the usage is from: its file, format and
	// digest.
	Evidence string `json:"evidence,omitempty"`
	// Note explains an outcome other than finished, as far as it is known.
	Note string `json:"note,omitempty"`
	// Curve are the scores of the attempt's snapshots in order of time; nil if
	// they are not known.
	Curve []Moment `json:"curve,omitempty"`
	// Checked reports whether rule checks examined the attempt; WarnedBy are the rules
	// with warnings.
	Checked  bool     `json:"checked,omitempty"`
	WarnedBy []string `json:"warned_by,omitempty"`
	// Integrity is the label of the attempt.
	Integrity Integrity `json:"integrity,omitempty"`
}

// Moment is the outcome of the submission that existed some seconds after the
// attempt began.
type Moment struct {
	Seconds int64              `json:"seconds"`
	Outcome outcome.Submission `json:"outcome"`
	// Score is nil if there is none or it is not finite.
	Score *float64 `json:"score"`
	Medal string   `json:"medal"`
}

// Stopped returns the report as it would be had the attempt been stopped at a
// time: the final one if it had ended then, else that of the last moment of the
// curve until then. It is an error if that is not known.
func (g Graded) Stopped(at time.Duration) (Graded, error) {
	o := g.Origin
	switch {
	case o != nil && o.WallSeconds != nil && *o.WallSeconds <= at.Seconds():
		return g, nil
	case o == nil || len(o.Curve) == 0:
		return g, fmt.Errorf("%s: what the attempt had submitted after %s is not known, since none of its snapshots was graded", g.CompetitionID, at)
	}
	out := g
	out.Score, out.ExactScore, out.Rank = nil, nil, nil
	out.Medals, out.SubmissionExists, out.ValidSubmission = Medals{}, false, false
	out.Outcome, out.Reason = outcome.Missing, fmt.Sprintf("there was no submission after %s", at)
	for _, m := range o.Curve {
		if float64(m.Seconds) > at.Seconds() {
			break
		}
		out.SubmissionExists, out.ValidSubmission, out.Outcome, out.Reason = true, m.Outcome == outcome.Scored, m.Outcome, ""
		out.Medals, out.ExactScore = MedalNamed(m.Medal), nil
		if m.Score != nil {
			exact := Number(*m.Score)
			out.ExactScore, out.AboveMedian = &exact, !g.Unranked() && *m.Score != float64(g.Median) && (*m.Score < float64(g.Median)) == g.LowerIsBetter
		}
	}
	return out, nil
}

// Failure is an entry that could not be graded through no fault of the agent.
type Failure struct {
	Line           int    `json:"line"`
	CompetitionID  string `json:"competition_id,omitempty"`
	SubmissionPath string `json:"submission_path,omitempty"`
	Reason         string `json:"reason"`
}

// Summary is the report on a list of submissions: the reference's totals and
// reports, and the entries that could not be graded, which count nowhere.
type Summary struct {
	Runs            int `json:"total_runs"`
	WithSubmissions int `json:"total_runs_with_submissions"`
	Valid           int `json:"total_valid_submissions"`
	Medals          int `json:"total_medals"`
	Gold            int `json:"total_gold_medals"`
	Silver          int `json:"total_silver_medals"`
	Bronze          int `json:"total_bronze_medals"`
	AboveMedian     int `json:"total_above_median"`

	Reports  []Graded  `json:"competition_reports"`
	Failures []Failure `json:"failures"`
}

// ReadEntries reads a list of submissions: one JSON object a line with
// competition_id and submission_path. Blank lines and lines that begin with #
// or // are skipped; a line that is no such object becomes a failure and stops
// nothing.
func ReadEntries(r io.Reader) ([]Entry, []Failure, error) {
	var entries []Entry
	var failures []Failure
	in := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("read list of submissions: %w", err)
		}
		text = strings.TrimSpace(text)
		if text != "" && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "//") {
			entry, bad := parseEntry(line, text)
			if bad != nil {
				failures = append(failures, *bad)
			} else {
				entries = append(entries, entry)
			}
		}
		if err != nil {
			return entries, failures, nil
		}
	}
}

func parseEntry(line int, text string) (Entry, *Failure) {
	var fields struct {
		CompetitionID  *string `json:"competition_id"`
		SubmissionPath *any    `json:"submission_path"`
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return Entry{}, &Failure{Line: line, Reason: notAnEntry(err)}
	}
	if fields.CompetitionID == nil {
		return Entry{}, &Failure{Line: line, Reason: "competition_id is missing"}
	}
	path := any("None") // the reference writes null where a run left no submission
	if fields.SubmissionPath != nil {
		path = *fields.SubmissionPath
	}
	return Entry{Line: line, CompetitionID: *fields.CompetitionID, SubmissionPath: fmt.Sprint(path)}, nil
}

// notAnEntry explains in JSON's terms why a line is no entry.
func notAnEntry(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return fmt.Sprintf("not a JSON object: %v", err)
	case wrong.Field == "":
		return fmt.Sprintf("not a JSON object: it is a JSON %s", wrong.Value)
	}
	return fmt.Sprintf("%s is a JSON %s, not a string", wrong.Field, wrong.Value)
}

// Batch holds GradeAll's arguments besides the list.
type Batch struct {
	Catalog *competitions.Catalog
	Grader  Grader
	DataDir string
	// Version is the version of competitions that have it; "" is that of the data.
	Version string
	Created time.Time
	Done    func(Report) // called, one at a time, after each report; may be nil
}

// GradeAll grades every entry, several at once, and sums up in the order of
// the list. Only a cancelled context is an error.
func (b Batch) GradeAll(ctx context.Context, entries []Entry, failures []Failure) (Summary, error) {
	results := make([]result, len(entries))
	var lock sync.Mutex
	parallel.Do(len(entries), runtime.GOMAXPROCS(0), func(i int) {
		results[i] = b.gradeEntry(ctx, entries[i])
		if b.Done != nil && results[i].failure == nil {
			lock.Lock()
			defer lock.Unlock()
			b.Done(results[i].report.Report)
		}
	})
	if err := ctx.Err(); err != nil {
		return Summary{}, fmt.Errorf("grade submissions: %w", err)
	}
	var reports []Graded
	for _, r := range results {
		if r.failure != nil {
			failures = append(failures, *r.failure)
		} else {
			reports = append(reports, r.report)
		}
	}
	s := summarize(reports)
	s.Failures = append(s.Failures, failures...)
	slices.SortStableFunc(s.Failures, func(a, b Failure) int { return a.Line - b.Line })
	return s, nil
}

type result struct {
	report  Graded
	failure *Failure
}

func (b Batch) gradeEntry(ctx context.Context, e Entry) result {
	def, err := b.Catalog.Get(e.CompetitionID)
	dir := b.DataDir
	if err == nil {
		def, dir, err = def.Place(b.DataDir, def.Amended(b.Version))
	}
	report := Graded{Labels: e.Labels, Origin: e.Origin}
	switch {
	case err != nil:
	case len(e.Conditions) > 0 && conditions.Rehearsed(e.Conditions) != def.Rehearsal:
		err = fmt.Errorf("the attempt or the data in %s, but not both, are of a rehearsal; mleflow prepare --rehearsal writes its data to rehearsal in a data directory", b.DataDir)
	case e.Refused != "":
		report.Report = newReport(def, e.SubmissionPath, b.Created)
		report.refuse(outcome.Missing, &Invalid{Reason: e.Refused})
	default:
		report.Report, err = b.Grader.Grade(ctx, def, Request{
			Submission: e.SubmissionPath, Answers: AnswersPath(dir, def), Created: b.Created,
		})
	}
	if err != nil {
		return result{failure: &Failure{Line: e.Line, CompetitionID: e.CompetitionID, SubmissionPath: e.SubmissionPath, Reason: err.Error()}}
	}
	if e.Origin != nil {
		report.MadeUnder(step.UnionConditions(report.Conditions, e.Conditions))
	}
	return result{report: report}
}

// summarize counts the results in the reports.
func summarize(reports []Graded) Summary {
	s := Summary{Runs: len(reports), Reports: append([]Graded{}, reports...), Failures: []Failure{}}
	for _, r := range reports {
		s.WithSubmissions += count(r.SubmissionExists)
		s.Valid += count(r.ValidSubmission)
		s.Gold += count(r.GoldMedal)
		s.Silver += count(r.SilverMedal)
		s.Bronze += count(r.BronzeMedal)
		s.AboveMedian += count(r.AboveMedian)
	}
	s.Medals = s.Gold + s.Silver + s.Bronze
	return s
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// WriteFile writes a batch's report to a new file in dir, which is made if there
// is none, and returns the path. The name is the reference's, which has a resolution
// of one second; a further report of the same second has a number, from _0002.
func WriteFile(dir string, created time.Time, write func(io.Writer) error) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	name := created.UTC().Format("2006-01-02T15-04-05") + "-GMT_grading_report"
	path, err := filepath.Join(dir, name+".json"), fs.ErrExist
	for n := 2; errors.Is(err, fs.ErrExist); n++ {
		if err = wholefile.Create(path, 0o666, write); err == nil {
			return path, nil
		}
		path = filepath.Join(dir, fmt.Sprintf("%s_%04d.json", name, n))
	}
	return "", fmt.Errorf("write report: %w", err)
}
