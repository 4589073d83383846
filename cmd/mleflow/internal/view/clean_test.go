package view

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/engine/plan"
)

func TestText(t *testing.T) {
	tests := []struct{ name, in, text, oneLine string }{
		{"plain", "a é 界", "a é 界", "a é 界"},
		{"lines", " a\n\tb\r\n", " a\n\tb\n", "a  b"},
		{"colour", "\x1b[31mred\x1b[0m", "red", "red"},
		{"title", "a\x1b]0;owned\ab", "ab", "ab"},
		{"link", "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\", "y", "y"},
		{"nested", "\x1b\x1b[2J[2Jx", "[2Jx", "[2Jx"},
		{"overwriting", "bad\rgood\b\b", "bad good  ", "bad good"},
		{"C1", "a\u009b31mb", "a 31mb", "a 31mb"},
		{"not UTF-8", "a\x9b31mb", "ab", "ab"},
		{"direction", "a\u202eb\u2066c\u2028d", "a b c d", "a b c d"},
	}
	for _, tt := range tests {
		if got := Text(tt.in); got != tt.text {
			t.Errorf("%s: Text gives %q, want %q", tt.name, got, tt.text)
		}
		if got := OneLine(tt.in); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(tt.oneLine), " ") || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%s: OneLine gives %q, want %q", tt.name, got, tt.oneLine)
		}
	}
}

// spoil puts a hostile text into every text of an event.
func spoil(e event.Event, hostile string) event.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	for _, field := range v.Fields() {
		switch f := field; {
		case f.Type() == reflect.TypeFor[event.Status]():
		case f.Kind() == reflect.String:
			f.SetString(f.String() + hostile)
		case f.Type() == reflect.TypeFor[[]string]():
			f.Set(reflect.ValueOf([]string{"runtime=" + hostile, "isolation=none"}))
		}
	}
	return v.Interface().(event.Event)
}

// TestHostileTexts sees that no view passes on control characters, whichever
// text of an event they are in.
func TestHostileTexts(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		for name, out := range everyView(t, h.Text) {
			if err := hostiletest.Terminal(out); err != nil {
				t.Errorf("%s: %s: %v", h.Name, name, err)
			}
			if !strings.Contains(out, hostiletest.Mark) && strings.Contains(Text(h.Text), hostiletest.Mark) {
				t.Errorf("%s: %s does not show the text: %q", h.Name, name, out)
			}
		}
	}
	for _, text := range hostiletest.Good() {
		if got := Text(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// everyView shows a text at every place of every view.
func everyView(t *testing.T, hostile string) map[string]string {
	shown := map[string]*bytes.Buffer{}
	buffer := func(name string) *bytes.Buffer {
		shown[name] = &bytes.Buffer{}
		return shown[name]
	}
	plain := NewPlainOf(NewState(), buffer("plain"), Style{}, true)
	live := &Live{state: NewState()}
	screens, notices := buffer("screen"), buffer("notices")
	for _, e := range storyEvents() {
		e = spoil(e, hostile)
		plain.Emit(e)
		live.Emit(e)
		screens.WriteString(screen(live.state, Style{}, 400, 50, after(80_000).Time))
		notices.WriteString(strings.Join(live.notices(), "\n"))
	}
	Summary(buffer("summary"), live.state, Style{})
	Outputs(buffer("outputs"), "RUN", []event.OutputValue{{Name: hostile, Value: hostile}, {Name: hostile, Value: "1\n" + hostile},
		{Name: hostile, Content: &event.Content{From: hostile, Output: hostile, Kind: "tree"}}}, Style{})
	past := &State{Failures: []Failure{{StepFinished: event.StepFinished{Address: hostile, Error: hostile}, Tail: []string{hostile}}}}
	Summary(buffer("summary of a past run"), past, Style{})
	table := NewTable("Name")
	table.Row(hostile)
	table.Write(buffer("table"), Style{})
	reasons := []plan.Reason{{Field: hostile, From: hostile, To: hostile, Text: hostile}, {Text: hostile}}
	address := addr.Keyed(addr.Step{Kind: "agent-run", Name: "x"}, hostile)
	step := plan.Step{Address: address, Name: address.String(), Kind: "agent-run", Action: plan.Run, Reasons: reasons, Conditions: []string{"isolation=none", "runtime=" + hostile}}
	many := &plan.Plan{Pipeline: hostile}
	for range rowsPerGroup + 1 {
		many.Steps = append(many.Steps, step)
	}
	Plan(buffer("plan"), &plan.Plan{Pipeline: hostile, Steps: []plan.Step{step}}, Style{}, true)
	Plan(buffer("long plan"), many, Style{}, false)
	Explanation(buffer("explanation"), &engine.Explanation{Plan: step, Fields: []engine.Field{{Label: hostile, Value: hostile, Was: hostile}}}, Style{})
	out := map[string]string{}
	for name, b := range shown {
		out[name] = b.String()
	}
	return out
}
