package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// Transcript writes the exchanges of a transcript for people. Full shows strings at full
// length.
type Transcript struct {
	Out   io.Writer
	Style Style
	Full  bool

	shown                    int // the conversation of the last exchange
	exchanges, failed        int
	input, output, cost      int64
	replayed, normalised     int
	seconds, waited          float64
	conversations, estimated int
}

// Turn writes one exchange: what the request added to its conversation, a line
// of figures, and the reply.
func (v *Transcript) Turn(t *transcript.Turn) error {
	var b strings.Builder
	if t.Conversation != v.shown && t.Conversation > 0 {
		fmt.Fprintf(&b, "%s\n", v.Style.Bold(fmt.Sprintf("==> conversation %d <==", t.Conversation)))
		v.shown = t.Conversation
	}
	for _, m := range t.Said {
		v.message(&b, m)
	}
	fmt.Fprintf(&b, "%s\n", v.Style.Dim(v.Figures(t)))
	var troubles Parts
	troubles.If(t.Refused != "" || t.Ability != "", "refused: "+strings.TrimSpace(string(t.Refused)+" "+string(t.Ability)))
	troubles.If(t.Failed != "", t.Failed)
	troubles.If(t.Diverged != "", "live: "+t.Diverged)
	for _, text := range troubles {
		v.text(&b, v.Style.Warn("! "), text)
	}
	v.message(&b, t.Reply)
	b.WriteByte('\n')
	v.count(t)
	_, err := io.WriteString(v.Out, b.String())
	return err
}

func (v *Transcript) count(t *transcript.Turn) {
	v.exchanges++
	v.conversations = max(v.conversations, t.Conversation)
	v.failed += board.Count(t.Status == 0 || t.Status >= 400)
	if t.Usage != nil {
		v.input, v.output = v.input+t.Usage.Input, v.output+t.Usage.Output
	}
	v.cost += t.Cost
	v.estimated += board.Count(t.Cost > 0 && !t.Reported)
	v.replayed += board.Count(t.Replayed)
	v.normalised += board.Count(t.Normalised)
	v.seconds, v.waited = v.seconds+t.Seconds, v.waited+t.Waited
}

// Figures returns the figures of an exchange on one line.
func (v *Transcript) Figures(t *transcript.Turn) string {
	parts := Parts{fmt.Sprintf("#%d %s %s %s", t.Sequence, t.Time.UTC().Format("15:04:05"), OneLine(t.Model), OneLine(cmp.Or(t.Asked, string(t.Operation), t.Path)))}
	parts.If(t.Status != 200, fmt.Sprintf("status %d", t.Status))
	if u := t.Usage; u != nil {
		parts = append(parts, Count(u.Input)+" tokens in"+When(u.CacheRead > 0, " ("+Count(u.CacheRead)+" cached)"), Count(u.Output)+" out")
		for _, tool := range dialect.Tools() {
			n := u.ToolCalls.Of(tool)
			parts.If(n > 0, fmt.Sprintf("%s × %d", tool, n))
		}
	}
	if t.Cost > 0 {
		cost := Dollars(t.Cost) + When(t.ToolCost > 0, " ("+Dollars(t.ToolCost)+" for tools)")
		switch {
		case t.Estimated:
			cost += " estimated"
		case !t.Reported:
			cost += " reserved"
		}
		parts = append(parts, cost)
	}
	parts = append(parts, Duration(Seconds(t.Seconds)))
	parts.If(t.FirstByte > 0, "first byte "+Duration(Seconds(t.FirstByte)))
	parts.If(len(t.Attempts) > 0, Plural(len(t.Attempts), "failed attempt"))
	parts.If(t.Gone, "client left")
	parts.If(t.Exceeded, "more than its request allows")
	parts.If(t.Replayed && !t.Normalised, "replayed")
	parts.If(t.Normalised, "replayed, normalised")
	parts.If(t.Response.Dropped > 0 || t.Request.Dropped > 0, "not kept completely")
	return parts.Join(" · ")
}

// Dollars writes billionths of a US dollar: "$12.34", "$0.00125".
func Dollars(nano int64) string {
	text := fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9)
	dot := strings.IndexByte(text, '.')
	text = text[:dot+3] + strings.TrimRight(text[dot+3:], "0")
	if nano >= 1e9 {
		text = text[:dot+3]
	}
	return "$" + text
}

// message writes a message, each part after a word or a sign.
func (v *Transcript) message(b *strings.Builder, m message.Message) {
	if m.IsZero() {
		return
	}
	if said := m.Text != "" || m.Reasoning != "" || len(m.Calls) > 0; said && m.Role != "tool" {
		fmt.Fprintf(b, "%s\n", v.Style.Bold(OneLine(m.Role)))
	}
	v.text(b, v.Style.Dim("~ "), m.Reasoning)
	v.text(b, "  ", m.Text)
	for _, c := range m.Calls {
		v.text(b, v.Style.Good("→ "), strings.TrimSpace(c.Name+" "+shell(c.Arguments)))
	}
	for _, r := range m.Results {
		v.text(b, Either(r.Failed, v.Style.Bad("← "), v.Style.Good("← ")), cmp.Or(r.Text, "(nothing)"))
	}
	v.text(b, v.Style.Bad("! "), m.Error)
}

// shell returns the arguments of a call: the bare command if there is nothing else.
func shell(arguments string) string {
	var a map[string]any
	if json.Unmarshal([]byte(arguments), &a) == nil && len(a) == 1 {
		for _, name := range []string{"command", "cmd", "code"} {
			if s, ok := a[name].(string); ok {
				return s
			}
		}
	}
	return arguments
}

const (
	// shownLines and shownBytes limit strings that are not shown at full length.
	shownLines, shownBytes = 12, 1200
)

// text writes a string with a sign before its first line; other lines are indented.
func (v *Transcript) text(b *strings.Builder, sign, text string) {
	if text == "" {
		return
	}
	text = strings.TrimRight(Text(text), "\n")
	rest := ""
	if !v.Full {
		text, rest = shortened(text)
	}
	fmt.Fprintf(b, "%s%s\n", sign, strings.ReplaceAll(text, "\n", "\n  "))
	if rest != "" {
		fmt.Fprintf(b, "  %s\n", v.Style.Dim(rest))
	}
}

// shortened cuts a string and says how much is omitted.
func shortened(text string) (shown, rest string) {
	end, lines := len(text), 0
	for i, c := range text {
		if c == '\n' {
			lines++
		}
		if lines == shownLines || i >= shownBytes {
			end = i
			break
		}
	}
	// A few more bytes are not worth a line about them.
	if len(text)-end < 80 && strings.Count(text[end:], "\n") < 2 {
		return text, ""
	}
	if left := strings.Count(text[end:], "\n"); left > 1 {
		return text[:end], fmt.Sprintf("… %s; --full shows all", Plural(left, "more line"))
	}
	return text[:end], fmt.Sprintf("… %s; --full shows all", Plural(utf8.RuneCountInString(text[end:]), "more character"))
}

// End writes the sums.
func (v *Transcript) End() error {
	if v.exchanges == 0 {
		_, err := io.WriteString(v.Out, "No model was asked.\n")
		return err
	}
	parts := Parts{Plural(v.exchanges, "exchange"), Plural(v.conversations, "conversation"), Count(v.input) + " tokens in", Count(v.output) + " out", Dollars(v.cost), Duration(Seconds(v.seconds))}
	parts.If(v.waited > 0, "of which the provider made it wait "+Duration(Seconds(v.waited)))
	parts.If(v.failed > 0, Count(int64(v.failed))+" refused or failed")
	parts.If(v.estimated > 0, Count(int64(v.estimated))+" without reported usage")
	parts.If(v.replayed > 0, fmt.Sprintf("%s replayed (%s normalised)", Count(int64(v.replayed)), Count(int64(v.normalised))))
	_, err := fmt.Fprintf(v.Out, "%s\n", parts.Join(" · "))
	return err
}
