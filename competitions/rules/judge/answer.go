package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/mleflow/mleflow/competitions/evidence"
)

// Answer is a model's answer to a question.
type Answer struct {
	Question string `json:"question"`
	Yes      bool   `json:"yes"`
	Reason   string `json:"reason"`
	// Quotations are the evidence for a yes.
	Quotations []Quotation `json:"quotations,omitempty"`
}

// Quotation is a passage that a model quoted. Found says that it is in the
// material, at Path and Line; otherwise Path is the model's word.
type Quotation struct {
	Path  string `json:"path"`
	Line  int    `json:"line,omitempty"`
	Text  string `json:"text"`
	Found bool   `json:"found"`
}

// Bounds on the parts of answers that are kept.
const (
	mostReason     = 1000
	mostQuotations = 5
	mostQuotation  = 1000
	// leastQuotation is the number of letters and digits from which a quotation is
	// specific to a file.
	leastQuotation = 8
)

// Read reads the JSON of a model's answers: one for each question.
func (p *Profile) Read(text string, m *Material) ([]Answer, error) {
	var given struct {
		Answers []struct {
			Question   string `json:"question"`
			Answer     string `json:"answer"`
			Reason     string `json:"reason"`
			Quotations []struct {
				Path string `json:"path"`
				Text string `json:"text"`
			} `json:"quotations"`
		} `json:"answers"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(unfenced(text))))
	if err := d.Decode(&given); err != nil {
		return nil, fmt.Errorf("they are not JSON of the required form: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after them")
	}
	answers := make([]Answer, len(p.Questions))
	for _, g := range given.Answers {
		at := slices.IndexFunc(p.Questions, func(q Question) bool { return q.Name == g.Question })
		switch {
		case at < 0:
			return nil, fmt.Errorf("%.50q was not asked", g.Question)
		case answers[at].Question != "":
			return nil, fmt.Errorf("%s is answered twice", g.Question)
		case g.Answer != "yes" && g.Answer != "no":
			return nil, fmt.Errorf("the answer to %s is %.50q, not yes or no", g.Question, g.Answer)
		}
		answers[at] = Answer{Question: g.Question, Yes: g.Answer == "yes", Reason: short(g.Reason, mostReason)}
		for _, q := range g.Quotations[:min(len(g.Quotations), mostQuotations)] {
			answers[at].Quotations = append(answers[at].Quotations, m.find(q.Path, q.Text))
		}
	}
	for i, q := range p.Questions {
		if answers[i].Question == "" {
			return nil, fmt.Errorf("%s is not answered", q.Name)
		}
	}
	return answers, nil
}

// unfenced is a text without the code fence that some models put around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		if inner, ok = strings.CutSuffix(strings.TrimPrefix(inner, "json"), "```"); ok {
			return strings.TrimSpace(inner)
		}
	}
	return text
}

// find looks for a quotation, first in the part that it names.
func (m *Material) find(name, text string) Quotation {
	text = clean(text)
	q := Quotation{Path: short(plain(name), mostQuotation), Text: short(text, mostQuotation)}
	wanted := strings.TrimSpace(text)
	if letters(wanted) < leastQuotation || len(text) > mostQuotation {
		return q
	}
	for _, named := range []bool{true, false} {
		for _, p := range m.parts {
			if named != (p.name == name) {
				continue
			}
			if at := strings.Index(p.text, wanted); at >= 0 {
				q.Path, q.Found = p.name, true
				if p.from == 0 || at < p.from {
					q.Line = 1 + strings.Count(p.text[:at], "\n")
				}
				return q
			}
		}
	}
	return q
}

func letters(text string) (n int) {
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// short is the beginning of a text.
func short(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// Findings are the notes that answers lead to: one for each quotation of a yes, and
// one for a yes without any. Model is whose opinion it is.
func (p *Profile) Findings(answers []Answer, model string) (list []evidence.Finding) {
	for i, a := range answers {
		if !a.Yes {
			continue
		}
		base := evidence.Finding{
			Rule: p.Questions[i].Rule(), Severity: evidence.Note,
			Explanation: fmt.Sprintf("The model %s answers yes, which is its opinion only: %s", model, oneLine(a.Reason)),
		}
		if len(a.Quotations) == 0 {
			base.Explanation += " It quotes nothing."
			list = append(list, base)
		}
		for _, q := range a.Quotations {
			f := base
			f.File, f.Excerpt = q.Path, short(oneLine(q.Text), 200)
			if f.Line = q.Line; strings.HasPrefix(q.Path, "transcript/") {
				f.Line = 0
			}
			if !q.Found {
				f.File, f.Line = "", 0
				f.Explanation += " Its quotation was not found in the material."
			}
			list = append(list, f)
		}
	}
	return list
}

// oneLine makes a text one line of printable characters.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)), " ")
}
