package inspectlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/models/transcript/atif"
)

// Attempt is an attempt, or a submission that a step graded.
type Attempt struct {
	*results.Attempt
	// Failed is the error of an attempt without a result, which has no record but
	// its address, agent and competition.
	Failed string
	// Started and Ended are zero if unknown.
	Started, Ended time.Time
	// Talk reads the conversations with models and their use. It is nil without a
	// transcript. The trajectory is nil without a conversation.
	Talk func() (*atif.Trajectory, map[string]*Usage, error)
}

// The scores of a sample, in the order of the results. The first is the headline.
var scorers = []string{"any_medal", "score", "medal", "above_median", "valid_submission", "percentile"}

// sample makes the sample of an attempt.
func (a *Attempt) sample(run, id string, epoch int) (*sample, error) {
	row, err := a.row()
	if err != nil {
		return nil, err
	}
	s := &sample{Messages: []*message{}, Events: []event{}, Output: output{Choices: []choice{}}, outline: outline{
		ID: id, Epoch: epoch, Input: a.Report.CompetitionID, Metadata: row, Usage: claimed(a.Made.Usage),
		Started: stamp(a.Started), Ended: stamp(a.Ended), TotalTime: a.Made.WallSeconds, UUID: shortID(run, id, fmt.Sprint(epoch)),
	}}
	if t := a.TimeLimitSeconds; t != nil {
		seconds := int(*t)
		s.TimeLimit = &seconds
	}
	s.Error, s.Limit = a.mistake(), a.limit()
	if a.Talk != nil {
		tr, used, err := a.Talk()
		if err != nil {
			return nil, err
		}
		if s.Usage = used; tr != nil {
			s.talk(tr, a.Started)
		}
	}
	a.score(s)
	slices.SortStableFunc(s.Events, func(x, y event) int { return cmp.Compare(x.WorkingStart, y.WorkingStart) })
	for i := range s.Events {
		s.Events[i].UUID = fmt.Sprintf("%s-e%d", s.UUID, i)
	}
	return s, nil
}

// row is the attempt's row of the table of attempts, without missing values.
func (a *Attempt) row() (map[string]any, error) {
	t, err := export.Attempts([]*results.Attempt{a.Attempt})
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := export.Write(&text, t, export.JSON); err != nil {
		return nil, err
	}
	var rows []map[string]any
	d := json.NewDecoder(&text)
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		return nil, err
	}
	for name, v := range rows[0] {
		if v == nil || v == "" {
			delete(rows[0], name)
		}
	}
	return rows[0], nil
}

// mistake is the error of an attempt that failed and that no limit stopped.
func (a *Attempt) mistake() *evalError {
	switch end := a.Made.Outcome; {
	case end.Failed() && a.limit() == nil:
		return &evalError{Message: strings.TrimSuffix(string(end)+": "+a.Reason(), ": ")}
	case a.Failed != "":
		return &evalError{Message: a.Failed}
	}
	return nil
}

// limit is the limit at which an attempt was stopped.
func (a *Attempt) limit() *limit {
	l := &limit{Type: "custom", Reason: string(a.Made.Outcome)}
	var value *float64
	switch a.Made.Outcome {
	case outcome.TimedOut:
		l.Type, value = "time", a.TimeLimitSeconds
	case outcome.OutOfMemory:
		value = a.MemoryLimitBytes
	case outcome.OutOfBudget:
		l.Type = "cost"
		if a.Made.Usage != nil {
			value = a.Made.Usage.CostUSD
		}
	case outcome.OutOfDisk:
	default:
		return nil
	}
	if value != nil {
		l.Limit = *value
	}
	return l
}

// score enters the scores of an attempt that counts, and the graded snapshots of any. There
// is no score without a number.
func (a *Attempt) score(s *sample) {
	if !a.Graded {
		return
	}
	for _, m := range a.Snapshots {
		one := score{Metadata: map[string]any{"medal": cmp.Or(m.Medal, "none"), "outcome": m.Outcome, "seconds": m.Seconds}}
		if m.Score != nil {
			one.Value = *m.Score
		}
		s.addScore(a.Started.Add(time.Duration(m.Seconds)*time.Second), a.Started, scoreEvent{one, true, "score"})
	}
	if a.Uncounted() != "" {
		return
	}
	about := map[string]any{}
	for _, name := range strings.Fields("outcome medal rank teams exact_score is_lower_better isolation untrusted conditions task no_score standing") {
		if v, ok := s.Metadata[name]; ok {
			about[name] = v
		}
	}
	r := a.Report
	values := map[string]any{
		"any_medal": oneIf(r.AnyMedal), "medal": r.Best(), "above_median": oneIf(r.AboveMedian), "valid_submission": oneIf(r.ValidSubmission),
	}
	if r.Score != nil {
		switch v := float64(*r.Score); {
		case math.IsInf(v, 0):
			values["score"] = fmt.Sprint(v)
		case !math.IsNaN(v):
			values["score"] = v
		}
	}
	if p := results.Percentile(r); p != nil {
		values["percentile"] = *p
	}
	s.Scores = map[string]score{}
	for _, name := range scorers {
		if v, ok := values[name]; ok {
			one := score{Value: v, Explanation: a.Reason()}
			if name == "any_medal" || name == "score" {
				one.Metadata = about
			}
			s.Scores[name] = one
			s.addScore(a.Ended, a.Started, scoreEvent{one, false, name})
		}
	}
}

func (s *sample) addScore(at, started time.Time, e scoreEvent) {
	if at.IsZero() {
		at = started
	}
	s.Events = append(s.Events, event{Event: "score", Timestamp: stamp(at), WorkingStart: max(0, at.Sub(started).Seconds()), scoreEvent: &e})
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// summary returns the summary of a sample, without its long texts.
func (s *sample) summary() summary {
	m := summary{outline: s.outline, Completed: true, MessageCount: len(s.Messages)}
	if runes := []rune(m.Input); len(runes) > 1000 {
		m.Input = string(runes[:1000]) + "…"
	}
	if s.Error != nil {
		m.Error = s.Error.Message
	}
	if s.Limit != nil {
		m.Limit, m.LimitReason = s.Limit.Type, s.Limit.Reason
	}
	return m
}
