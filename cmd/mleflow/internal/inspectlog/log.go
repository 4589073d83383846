package inspectlog

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/results"
)

// Log is the log of an agent's attempts.
type Log struct {
	Agent, Run, Pipeline string
	Created              time.Time
	// Status is success, error, cancelled or started.
	Status   string
	Tags     []string
	Metadata map[string]any
	Attempts []*Attempt
}

// Task is the name of the log's task.
func (l *Log) Task() string { return strings.TrimSuffix(l.Pipeline, ".hcl") + "/" + l.Agent }

// FileName is the log's file name, in Inspect's form: time, task and identifier.
func (l *Log) FileName() string {
	clean := func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}
	return l.Created.UTC().Format("2006-01-02T15-04-05+00-00_") + strings.Map(clean, l.Task()) + "_" + l.id() + ".eval"
}

func (l *Log) id() string { return shortID(l.Run, l.Agent) }

// shortID returns an identifier in the length of Inspect's.
func shortID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:11])
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000+00:00")
}

// Write writes the log.
func (l *Log) Write(w io.Writer) error {
	z := &archive{zip.NewWriter(w)}
	ids, epochs := l.place()
	summaries := []summary{}
	for i, a := range l.Attempts {
		s, err := a.sample(l.Run, ids[i], epochs[i])
		if err != nil {
			return fmt.Errorf("write sample %s: %w", ids[i], err)
		}
		if err := z.add(fmt.Sprintf("samples/%s_epoch_%d.json", s.ID, s.Epoch), s); err != nil {
			return err
		}
		summaries = append(summaries, s.summary())
	}
	h := l.header(summaries)
	reductions := reduce(summaries)
	h.Results = resultsOf(summaries, reductions)
	for _, doc := range []struct {
		name  string
		value any
	}{
		{"_journal/start.json", header{Version: h.Version, Eval: h.Eval, Plan: h.Plan}},
		{"summaries.json", summaries}, {"reductions.json", reductions}, {"header.json", h},
	} {
		if err := z.add(doc.name, doc.value); err != nil {
			return err
		}
	}
	return z.Close()
}

type archive struct{ *zip.Writer }

// add writes a document, with a fixed time.
func (z *archive) add(name string, value any) error {
	f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// place returns the sample ids and epochs of the attempts. The epoch is the place
// of the seed among the log's seeds. Attempts that agree in both, such as those
// of two steps, are told apart by the addresses.
func (l *Log) place() (ids []string, epochs []int) {
	var seeds []string
	for _, a := range l.Attempts {
		seeds = append(seeds, a.Seed)
	}
	slices.SortFunc(seeds, func(x, y string) int { return cmp.Or(results.CompareSeeds(x, y), cmp.Compare(x, y)) })
	seeds = slices.Compact(seeds)
	taken := map[string]bool{}
	for _, a := range l.Attempts {
		id, epoch := a.Report.CompetitionID, 1+slices.Index(seeds, a.Seed)
		if v := a.Report.CompetitionVersion; v != "" && v != "v1" {
			id += "@" + v
		}
		for _, more := range []string{a.Address, a.GradeAddress} {
			if taken[fmt.Sprint(id, epoch)] && more != "" {
				id += " " + more
			}
		}
		for n := 2; taken[fmt.Sprint(id, epoch)]; n++ {
			id = fmt.Sprintf("%s #%d", id, n)
		}
		taken[fmt.Sprint(id, epoch)] = true
		ids, epochs = append(ids, strings.ReplaceAll(id, "/", "-")), append(epochs, epoch)
	}
	return ids, epochs
}

func (l *Log) header(all []summary) header {
	h := header{Version: formatVersion, Status: l.Status, Plan: plan{"plan", []planStep{{l.Agent}}}, Eval: spec{
		EvalID: l.id(), RunID: shortID(l.Run), TaskID: shortID("task", l.Task()), Created: stamp(l.Created), Task: l.Task(), Solver: l.Agent,
		Tags: l.Tags, Metadata: l.Metadata, Dataset: dataset{Name: l.Pipeline, SampleIDs: []string{}}, Model: "none/none",
		Config: config{Epochs: 1, EpochsReducer: []string{"mean"}},
	}}
	h.Stats = &stats{Usage: map[string]*Usage{}}
	for _, s := range all {
		if d := &h.Eval.Dataset; !slices.Contains(d.SampleIDs, s.ID) {
			d.SampleIDs, d.Samples = append(d.SampleIDs, s.ID), d.Samples+1
		}
		h.Eval.Config.Epochs = max(h.Eval.Config.Epochs, s.Epoch)
		if s.Started != "" && (h.Stats.Started == "" || s.Started < h.Stats.Started) {
			h.Stats.Started = s.Started
		}
		h.Stats.Completed = max(h.Stats.Completed, s.Ended)
		for model, u := range s.Usage {
			merge(h.Stats.Usage, model, u)
		}
		if s.Error != "" && h.Error == nil && l.Status == "error" {
			h.Error = &evalError{Message: s.ID + ": " + s.Error}
		}
	}
	for model, u := range h.Stats.Usage {
		best := h.Stats.Usage[h.Eval.Model]
		if best == nil || u.TotalTokens > best.TotalTokens || u.TotalTokens == best.TotalTokens && model < h.Eval.Model {
			h.Eval.Model = model
		}
	}
	return h
}

// reduce averages the numbers of each score over the epochs of a sample.
func reduce(all []summary) []reduction {
	out := []reduction{}
	for _, name := range scorers {
		r := reduction{Scorer: name, Reducer: "mean"}
		var order []string
		values := map[string][]float64{}
		for _, s := range all {
			v, ok := number(s.Scores[name].Value)
			if !ok {
				continue
			}
			if values[s.ID] == nil {
				order = append(order, s.ID)
			}
			values[s.ID] = append(values[s.ID], v)
		}
		for _, id := range order {
			r.Samples = append(r.Samples, reducedScore{mean(values[id]), id})
		}
		if len(order) > 0 {
			out = append(out, r)
		}
	}
	return out
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// resultsOf returns means and standard errors over samples, as Inspect computes
// them. Scores of different competitions have no mean.
func resultsOf(all []summary, reductions []reduction) *scoreSet {
	r := &scoreSet{Total: len(all), Scores: []evalScore{}}
	for _, s := range all {
		if s.Error == "" {
			r.Completed++
		}
	}
	for _, red := range reductions {
		var values []float64
		for _, s := range red.Samples {
			values = append(values, s.Value)
		}
		e := evalScore{Name: red.Scorer, Scorer: red.Scorer, Reducer: red.Reducer, Scored: len(values), Metrics: map[string]metric{}}
		for _, s := range all {
			if _, ok := number(s.Scores[red.Scorer].Value); !ok {
				e.Unscored++
			}
		}
		if red.Scorer != "score" || len(values) == 1 {
			e.Metrics["mean"], e.Metrics["stderr"] = metric{"mean", mean(values)}, metric{"stderr", standardError(values)}
		}
		r.Scores = append(r.Scores, e)
	}
	return r
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func standardError(values []float64) float64 {
	n, m, squares := float64(len(values)), mean(values), 0.0
	if n < 2 {
		return 0
	}
	for _, v := range values {
		squares += float64((v - m) * (v - m))
	}
	return math.Sqrt(squares/(n-1)) / math.Sqrt(n)
}
