package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

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
	for _, text := range []string{labelled("refused: ", strings.TrimSpace(string(t.Refused)+" "+string(t.Ability))), t.Failed, labelled("live: ", t.Diverged)} {
		v.text(&b, v.Style.Warn("! "), text)
	}
	v.message(&b, t.Reply)
	b.WriteByte('\n')
	v.count(t)
	_, err := io.WriteString(v.Out, b.String())
	return err
}

// labelled returns a string with a label, or "".
func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

func (v *Transcript) count(t *transcript.Turn) {
	v.exchanges++
	v.conversations = max(v.conversations, t.Conversation)
	if t.Status == 0 || t.Status >= 400 {
		v.failed++
	}
	if t.Usage != nil {
		v.input, v.output = v.input+t.Usage.Input, v.output+t.Usage.Output
	}
	if v.cost += t.Cost; t.Cost > 0 && !t.Reported {
		v.estimated++
	}
	if t.Replayed {
		v.replayed++
	}
	if t.Normalised {
		v.normalised++
	}
	v.seconds, v.waited = v.seconds+t.Seconds, v.waited+t.Waited
}

// Figures returns the figures of an exchange on one line.
func (v *Transcript) Figures(t *transcript.Turn) string {
	parts := []string{fmt.Sprintf("#%d %s %s %s", t.Sequence, t.Time.UTC().Format("15:04:05"), OneLine(t.Model), OneLine(cmp.Or(t.Asked, string(t.Operation), t.Path)))}
	if t.Status != 200 {
		parts = append(parts, fmt.Sprintf("status %d", t.Status))
	}
	if u := t.Usage; u != nil {
		input := Count(u.Input) + " tokens in"
		if u.CacheRead > 0 {
			input += " (" + Count(u.CacheRead) + " cached)"
		}
		parts = append(parts, input, Count(u.Output)+" out")
	}
	if t.Usage != nil {
		for _, tool := range dialect.Tools() {
			if n := t.Usage.ToolCalls.Of(tool); n > 0 {
				parts = append(parts, fmt.Sprintf("%s × %d", tool, n))
			}
		}
	}
	if t.Cost > 0 {
		cost := Dollars(t.Cost)
		if t.ToolCost > 0 {
			cost += " (" + Dollars(t.ToolCost) + " for tools)"
		}
		switch {
		case t.Estimated:
			cost += " estimated"
		case !t.Reported:
			cost += " reserved"
		}
		parts = append(parts, cost)
	}
	parts = append(parts, Duration(seconds(t.Seconds)))
	if t.FirstByte > 0 {
		parts = append(parts, "first byte "+Duration(seconds(t.FirstByte)))
	}
	if n := len(t.Attempts); n > 0 {
		parts = append(parts, Plural(n, "failed attempt"))
	}
	for _, flag := range []struct {
		is   bool
		text string
	}{{t.Gone, "client left"}, {t.Exceeded, "more than its request allows"}, {t.Replayed && !t.Normalised, "replayed"}, {t.Normalised, "replayed, normalised"}, {t.Response.Dropped > 0 || t.Request.Dropped > 0, "not kept completely"}} {
		if flag.is {
			parts = append(parts, flag.text)
		}
	}
	return strings.Join(parts, " · ")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

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
	if m.Reasoning != "" {
		v.text(b, v.Style.Dim("~ "), m.Reasoning)
	}
	v.text(b, "  ", m.Text)
	for _, c := range m.Calls {
		v.text(b, v.Style.Good("→ "), strings.TrimSpace(c.Name+" "+shell(c.Arguments)))
	}
	for _, r := range m.Results {
		sign := v.Style.Good("← ")
		if r.Failed {
			sign = v.Style.Bad("← ")
		}
		v.text(b, sign, cmp.Or(r.Text, "(nothing)"))
	}
	if m.Error != "" {
		v.text(b, v.Style.Bad("! "), m.Error)
	}
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
	b.WriteString(sign)
	b.WriteString(strings.ReplaceAll(text, "\n", "\n  "))
	b.WriteByte('\n')
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
	parts := []string{Plural(v.exchanges, "exchange"), Plural(v.conversations, "conversation"), Count(v.input) + " tokens in", Count(v.output) + " out", Dollars(v.cost), Duration(seconds(v.seconds))}
	if v.waited > 0 {
		parts = append(parts, "of which the provider made it wait "+Duration(seconds(v.waited)))
	}
	if v.failed > 0 {
		parts = append(parts, fmt.Sprintf("%s refused or failed", Count(int64(v.failed))))
	}
	if v.estimated > 0 {
		parts = append(parts, fmt.Sprintf("%s without reported usage", Count(int64(v.estimated))))
	}
	if v.replayed > 0 {
		parts = append(parts, fmt.Sprintf("%s replayed (%s normalised)", Count(int64(v.replayed)), Count(int64(v.normalised))))
	}
	_, err := fmt.Fprintf(v.Out, "%s\n", strings.Join(parts, " · "))
	return err
}
