package metric

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var answerSpans = Metric{
	Name: "answer_spans", Better: Higher,
	Doc: `Share of long and short answers that are correct, the source's micro F1.
The answers have the id and the annotations: the JSON of a list, whose first element counts. The submission has two rows per question, "<id>_long" and "<id>_short", in any order (align = "position"). A prediction is "start:end", YES, NO or empty. Valid are the long answer unless its start is -1, the short answers, and a yes_no_answer other than NONE. An empty prediction or a missing cell is correct if none is valid.
Another number of rows, unknown or repeated ids, and any other prediction have no score.`,
	Source:       "metric of the TensorFlow 2.0 question answering competition; scikit-learn 1.5 f1_score(average=\"micro\")",
	Placeholders: Placeholders{"": {`[{"long_answer": {"start_token": 1, "end_token": 2}, "short_answers": [], "yes_no_answer": "NONE"}]`}},
	Ends:         []string{"_long", "_short"},
	New:          func(Args) (Scorer, error) { return scoreAnswerSpans, nil },
}

type annotation struct {
	Long  *span  `json:"long_answer"`
	Short []span `json:"short_answers"`
	YesNo string `json:"yes_no_answer"`
}

type span struct {
	Start json.Number `json:"start_token"`
	End   json.Number `json:"end_token"`
}

func (s span) text() string { return s.Start.String() + ":" + s.End.String() }

func scoreAnswerSpans(in Input) (Score, error) {
	if len(in.Targets) != 1 || len(in.TruthNames) != 1 {
		return Score{}, fmt.Errorf("answer_spans has one target")
	}
	valid, err := validSpans(in)
	if err != nil {
		return Score{}, err
	}
	if in.Prediction.Len() != len(valid) {
		return Score{}, unscorable("there are %d rows; expected %d", in.Prediction.Len(), len(valid))
	}
	columns, err := in.submitted(in.ID, in.Targets[0])
	if err != nil {
		return Score{}, err
	}
	ids, cells := columns[0], columns[1]
	right, seen := 0, map[string]bool{}
	for i := range ids.Len() {
		id := ids.Text(i)
		answers, known := valid[id]
		if !known || seen[id] {
			return Score{}, unscorable("column %q: row %d: the id %s is unknown or repeated", in.ID, i+1, quote(id))
		}
		seen[id] = true
		prediction, ok := parseSpan(cells, i)
		if !ok {
			return Score{}, unscorable("column %q: row %d: %s is not a valid answer", cells.Name(), i+1, quote(cells.Text(i)))
		}
		if prediction == "" && len(answers) == 0 || answers[prediction] {
			right++
		}
	}
	return Score{Value: float64(2*right) / float64(2*ids.Len())}, nil
}

// parseSpan returns a prediction in the form of span.text, or YES, NO, "".
func parseSpan(c *table.Column, row int) (string, bool) {
	text := pytext.Strip(c.Text(row))
	if text == "YES" || text == "NO" || text == "" {
		return text, true
	}
	start, end, found := strings.Cut(text, ":")
	a, bad := pythonInts(start)
	b, worse := pythonInts(end)
	ok := found && bad == "" && worse == "" && len(a) == 1 && len(b) == 1
	if !ok {
		return "", false
	}
	return a[0] + ":" + b[0], true
}

// validSpans returns the valid answers of every expected id.
func validSpans(in Input) (map[string]map[string]bool, error) {
	columns, err := in.answers(in.ID, in.TruthNames[0])
	if err != nil {
		return nil, err
	}
	ids, cells := columns[0], columns[1]
	out := make(map[string]map[string]bool, 2*ids.Len())
	for i := range ids.Len() {
		var list []annotation
		if err := json.Unmarshal([]byte(cells.Text(i)), &list); err != nil || len(list) == 0 {
			return nil, fmt.Errorf("answers: row %d: the annotations cannot be read: %w", i+1, err)
		}
		long, short := map[string]bool{}, map[string]bool{}
		if a := list[0].Long; a != nil && a.Start != "-1" {
			long[a.text()] = true
		}
		for _, a := range list[0].Short {
			short[a.text()] = true
		}
		if list[0].YesNo != "NONE" {
			short[list[0].YesNo] = true
		}
		out[ids.Text(i)+"_long"], out[ids.Text(i)+"_short"] = long, short
	}
	return out, nil
}
