package ui

import (
	"context"
	"encoding/json"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

const (
	// turnsBefore is the number of exchanges before one that are read to find out what is
	// new in it, turnsAfter of those after it that may have the results of its calls, and
	// maxContext the size of the largest body among them.
	turnsBefore = 12
	turnsAfter  = 3
	// maxMessage is the number of bytes shown of a message.
	maxMessage = 64 << 10
)

// turnBody is an exchange with its new messages.
type turnBody struct {
	Link, Facts string
	Messages    []turnMessage
	// Earlier is the number of new messages that are results of calls, which are shown
	// where they were called.
	Earlier int
	Notes   []string
	Code    *codeThen
}

// turnMessage is a message of an exchange.
type turnMessage struct {
	Role, Class, Reasoning, Error string
	Text                          []passage
	Calls                         []*toolCall
	Results                       []toolResult
}

// passage is a part of a text: words, or code in a language.
type passage struct {
	HTML template.HTML
	Code bool
}

// toolCall is a call of a tool with what it gave.
type toolCall struct {
	ID, Name  string
	Arguments []argument
	Results   []toolResult
}

// argument is an argument of a call.
type argument struct {
	Name string
	HTML template.HTML
}

// toolResult is the result of a call.
type toolResult struct {
	Name, Text string
	// Failed: the tool reported an error. Bad: Failed, or the text has a traceback.
	Failed, Bad bool
}

// bodyOf is an exchange as a part of a page.
func bodyOf(ctx context.Context, a *shownAttempt, t *recording, n int) (template.HTML, error) {
	bodies, err := bodiesOf(ctx, a, t, n-1, n)
	if err != nil {
		return "", err
	}
	return bodies[0], nil
}

// bodiesOf are exchanges as parts of a page.
func bodiesOf(ctx context.Context, a *shownAttempt, t *recording, from, to int) ([]template.HTML, error) {
	var events []*transcript.Event
	var at []int
	for i := max(0, from-turnsBefore); i < min(to+turnsAfter, len(t.turns)); i++ {
		e, err := t.At(t.turns[i].Span)
		if err != nil {
			return nil, err
		}
		if i >= from && i < to || e.Request.Size() <= maxContext && e.Response.Size() <= maxContext {
			events, at = append(events, e), append(at, i)
		}
	}
	turns, err := t.Among(events)
	if err != nil {
		return nil, err
	}
	copies, _ := a.copies(ctx)
	out := make([]template.HTML, 0, to-from)
	for k, b := range joinedTurns(turns) {
		if at[k] < from || at[k] >= to {
			continue
		}
		if at[k] > turnsBefore && k < turnsBefore {
			b.Notes = append(b.Notes, "Some of the exchanges before are too large to be compared: more may look new than is.")
		}
		b.Link, b.Code = turnAddress(a, at[k]+1), codeAt(a, copies, t, at[k])
		html, err := page.Fill(pages().Lookup("turn body"), b)
		if err != nil {
			return nil, err
		}
		out = append(out, html)
	}
	return out, nil
}

// codeThen leads to the code at the time of an exchange: what changed from the copy
// before it to the one after.
type codeThen struct{ From, To, Link string }

// codeAt is the change of the code around an exchange, nil without two copies.
func codeAt(a *shownAttempt, copies []codeVersion, t *recording, n int) *codeThen {
	if len(copies) < 2 {
		return nil
	}
	began := t.start // about the start of the agent, if that is not known
	if u := a.usage; u != nil && !u.begun.IsZero() {
		began = u.begun
	}
	after := slices.IndexFunc(copies, func(v codeVersion) bool { return v.at >= t.turns[n].at.Sub(began) })
	if after < 0 {
		after = len(copies) - 1
	}
	after = max(after, 1)
	from, to := copies[after-1], copies[after]
	return &codeThen{from.name, to.name, a.codeChange(from, to)}
}

// joinedTurns puts the results of calls to the calls.
func joinedTurns(turns []*transcript.Turn) []*turnBody {
	waiting := map[int][]*toolCall{}
	out := make([]*turnBody, len(turns))
	for i, t := range turns {
		b := &turnBody{Facts: (&view.Transcript{}).Figures(t)}
		for _, m := range t.Said {
			s := messageOf(m)
			for _, r := range m.Results {
				if !addResult(waiting[t.Conversation], r) {
					s.Results = append(s.Results, resultOf(r))
				}
			}
			b.Earlier += len(m.Results) - len(s.Results)
			if !s.empty() {
				b.Messages = append(b.Messages, s)
			}
		}
		if !t.Reply.IsZero() {
			s := messageOf(t.Reply)
			b.Messages, waiting[t.Conversation] = append(b.Messages, s), s.Calls
		}
		b.Notes = lists.Where([]string{string(t.Refused), t.Failed, t.Diverged}, func(n string) bool { return n != "" })
		out[i] = b
	}
	return out
}

// addResult adds a result to its call. Some dialects have no identifiers: results are in the
// order of the calls.
func addResult(calls []*toolCall, r message.Result) bool {
	for _, c := range calls {
		if r.ID != "" && c.ID == r.ID || (r.ID == "" || c.ID == "") && len(c.Results) == 0 && (r.Name == "" || r.Name == c.Name) {
			c.Results = append(c.Results, resultOf(r))
			return true
		}
	}
	return false
}

func resultOf(r message.Result) toolResult {
	return toolResult{Name: r.Name, Text: bounded([]byte(r.Text), maxMessage), Failed: r.Failed, Bad: r.Failed || slices.ContainsFunc(failures, func(f string) bool { return strings.Contains(r.Text, f) })}
}

func messageOf(m message.Message) turnMessage {
	s := turnMessage{Role: m.Role, Class: m.Role, Text: passages(bounded([]byte(m.Text), maxMessage)), Reasoning: bounded([]byte(m.Reasoning), maxMessage), Error: bounded([]byte(m.Error), maxMessage)}
	if s.Class != "assistant" && s.Class != "tool" && s.Class != "system" {
		s.Class = "user"
	}
	s.Calls = lists.Of(m.Calls, func(c message.Call) *toolCall { return &toolCall{ID: c.ID, Name: c.Name, Arguments: arguments(c)} })
	return s
}

func (s turnMessage) empty() bool {
	return len(s.Text)+len(s.Calls)+len(s.Results) == 0 && s.Reasoning == "" && s.Error == ""
}

// passages splits a text at its fences, the lines of three backticks around code.
func passages(text string) (out []passage) {
	const fence = "```"
	var words, code []string
	language, inside := "", false
	flush := func(lines []string, code bool, language string) {
		if t := strings.Join(lines, "\n"); strings.TrimSpace(t) != "" {
			out = append(out, passage{block(language, strings.Trim(t, "\n")), code})
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		mark, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), fence)
		switch {
		case isFence && !inside && !strings.Contains(mark, "`"):
			flush(words, false, "")
			words, inside, language = nil, true, strings.TrimSpace(mark)
		case isFence && inside && strings.TrimSpace(mark) == "":
			flush(code, true, language)
			code, inside = nil, false
		case inside:
			code = append(code, line)
		default:
			words = append(words, line)
		}
	}
	flush(words, false, "")
	flush(code, true, language)
	return out
}

// arguments are those of a call. Those of an object are shown one by one,
// each in the language that its name suggests.
func arguments(c message.Call) []argument {
	text := bounded([]byte(c.Arguments), maxMessage)
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &values) != nil || len(values) == 0 {
		return []argument{{HTML: block(languageOf(c.Name, "", text), text)}}
	}
	file := ""
	for _, name := range []string{"path", "file", "file_path", "filename"} {
		var s string
		if json.Unmarshal(values[name], &s) == nil && s != "" {
			file = s
		}
	}
	var out []argument
	short := 0
	for _, name := range view.SortedKeys(values) {
		value := string(values[name])
		var s string
		if json.Unmarshal(values[name], &s) == nil {
			value = s
		}
		a := argument{Name: name, HTML: block(languageOf(name, file, value), value)}
		if len(values) == 1 {
			a.Name = ""
		}
		if strings.Contains(value, "\n") {
			out = append(out, a)
			continue
		}
		out = slices.Insert(out, short, a) // a file's name before its text
		short++
	}
	return out
}

// languageOf is the language of an argument, by its name and the file that it is for.
func languageOf(name, file, value string) string {
	switch strings.ToLower(name) {
	case "cmd", "command", "commands", "bash", "shell", "script", "sh", "execute_bash":
		return "bash"
	case "python", "ipython", "execute_python", "run_python":
		return "python"
	case "code", "source", "content", "contents", "text", "new_str", "old_str", "new_string", "old_string", "file_text":
		if file != "" {
			return path.Base(file)
		}
		if name == "code" || name == "source" {
			return "python"
		}
	}
	t := strings.TrimSpace(value)
	return view.When(strings.HasPrefix(t, "{") || strings.HasPrefix(t, "["), "json")
}
