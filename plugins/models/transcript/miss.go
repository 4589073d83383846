package transcript

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Miss is a request without a recording.
type Miss struct {
	// Why describes the mismatch in a few words.
	Why string
	// Message is the number, from 1, of the first message that differs, and
	// Role its role. Message is 0 if the settings differ.
	Message int
	Role    string
	// Recorded and Asked are the two normalised texts around their first
	// difference.
	Recorded, Asked string
}

// Error implements error. It returns one paragraph that shows the difference.
func (m *Miss) Error() string {
	var b strings.Builder
	b.WriteString("no recording answers this request: " + m.Why)
	if m.Recorded != "" || m.Asked != "" {
		where := "the settings differ"
		if m.Message > 0 {
			where = fmt.Sprintf("message %d (%s) differs", m.Message, m.Role)
		}
		fmt.Fprintf(&b, "; %s\n  recorded: %s\n  asked:    %s", where, m.Recorded, m.Asked)
	}
	return b.String()
}

// miss explains why a request has no recording.
func (p *Player) miss(a Ask, f *form) (*Miss, error) {
	depth := len(f.normal) - 1
	for depth >= 0 {
		if _, ok := p.begun[f.normal[depth]]; ok {
			break
		}
		depth--
	}
	if times := len(p.normal[f.whole()]); times > 0 {
		return &Miss{Why: fmt.Sprintf("it was recorded %s, and answered as often already", often(times))}, nil
	}
	for i := len(f.normal) - 2; i > 0; i-- {
		if p.missed[f.normal[i]] {
			return &Miss{Why: "its conversation left the recording with an earlier request"}, nil
		}
	}
	nearest, ok := p.routes[f.route]
	if depth >= 0 {
		nearest, ok = p.begun[f.normal[depth]], true
	}
	if !ok {
		return &Miss{Why: fmt.Sprintf("none of the %d recorded requests is %s %s", len(p.recordings), a.Method, shorten(a.Path, 0))}, nil
	}
	return p.difference(p.recordings[nearest], max(depth, 0), f, a)
}

func often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// difference compares a request with the nearest recording, with which it
// shares the given number of messages.
func (p *Player) difference(r recording, common int, f *form, a Ask) (*Miss, error) {
	e, err := r.reader.At(r.line)
	if err != nil {
		return nil, err
	}
	body, err := r.reader.Request(e)
	if err != nil {
		return nil, err
	}
	rules := &normaliser{now: e.Time}
	recorded := newFormer(p.canonical, rules).of(Ask{e.Provider, e.Method, e.Path, e.Operation, e.Asked, body})
	m := &Miss{Why: fmt.Sprintf("the nearest is exchange %d of the recording", r.sequence)}
	switch {
	case e.Asked != a.Asked:
		m.Recorded, m.Asked = "model "+shorten(e.Asked, 0), "model "+shorten(a.Asked, 0)
	case recorded.normal[0] != f.normal[0]:
		m.Recorded, m.Asked = around(rules.apply(recorded.Fixed), p.live.rules.apply(f.Fixed))
	case common == len(recorded.Parts):
		m.Why += fmt.Sprintf(", which the conversation goes beyond; nothing was recorded after its %d messages", common)
	case common == len(f.Parts):
		m.Why += fmt.Sprintf(", which has %d messages; this request has the first %d of them", len(recorded.Parts), common)
	default:
		was, is := recorded.Parts[common], f.Parts[common]
		m.Message, m.Role = common+1, is.Role
		m.Recorded, m.Asked = around(rules.of(was.Role, was.Text), p.live.rules.of(is.Role, is.Text))
		if was.Role != is.Role {
			m.Recorded, m.Asked = was.Role+": "+m.Recorded, is.Role+": "+m.Asked
		}
	}
	return m, nil
}

// around cuts two texts down to the parts around their first difference.
func around(a, b []byte) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return shorten(string(a), at), shorten(string(b), at)
}

const (
	shownBefore, shownAfter = 60, 140
)

// shorten shows a text around a position in one line.
func shorten(text string, at int) string {
	start, end := max(0, min(at, len(text))-shownBefore), min(len(text), at+shownAfter)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	shown := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, string(bytes.ToValidUTF8([]byte(text[start:end]), []byte("\ufffd"))))
	if start > 0 {
		shown = "…" + shown
	}
	if end < len(text) {
		shown += "…"
	}
	return shown
}
