package dialect_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// sample is a body of testdata: of a client, or one that hides an ability.
type sample struct {
	Client, Dialect, Path string
	// Want is the ability that it takes, "bad_request", or "" if it passes; Why is
	// the reason.
	Want, Why string
	Body      json.RawMessage
}

func samples(t *testing.T, name string) (all []sample) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		all = append(all, s)
	}
	return all
}

// verdict is what becomes of a body.
func (s sample) verdict(t *testing.T, grants ...dialect.Ability) (string, *dialect.Request, *dialect.Refusal) {
	t.Helper()
	r, no := read(t, s.Dialect, s.Path, string(s.Body), grants...)
	switch {
	case no == nil:
		return "", r, nil
	case no.Reason == dialect.NotAllowed:
		return string(no.Ability), nil, no
	}
	return string(no.Reason), nil, no
}

// TestClients reads bodies as real clients send them: what only shapes an answer
// passes, what lets the provider do more takes the ability that it needs.
func TestClients(t *testing.T) {
	for _, s := range samples(t, "clients.jsonl") {
		got, r, no := s.verdict(t)
		if got != s.Want {
			t.Errorf("%s: got %q, want %q (%s): %v", s.Client, got, s.Want, s.Why, no)
			continue
		}
		if s.Want == "" {
			if again, no := read(t, s.Dialect, s.Path, string(r.Body)); no != nil || len(again.Changed) > 0 {
				t.Errorf("%s: what is forwarded does not pass itself: %v", s.Client, no)
			}
			continue
		}
		if !strings.Contains(no.Text, `"`+s.Want+`" in the tools of its model block`) {
			t.Errorf("%s: the error does not name the setting: %s", s.Client, no.Text)
		}
		if got, _, no := s.verdict(t, dialect.Ability(s.Want), dialect.OtherModels); got != "" {
			t.Errorf("%s: granted, but %v", s.Client, no)
		}
	}
}

// TestDoors reads bodies that hide an ability within a field that passes.
func TestDoors(t *testing.T) {
	for _, s := range samples(t, "doors.jsonl") {
		if got, _, no := s.verdict(t); got != s.Want || got == "" {
			t.Errorf("%s: got %q, want %q (%s): %v: %s", s.Client, got, s.Want, s.Why, no, s.Body)
		}
	}
}

// TestErrorsNameFields: an error says which field is refused.
func TestErrorsNameFields(t *testing.T) {
	for body, want := range map[string]string{
		`"models":["a"]`:                                      "models asks the provider to use models other than the one that is asked for",
		`"provider":{"order":["a"]}`:                          "provider.order asks the provider to serve faster or elsewhere",
		`"chat_template_kwargs":{"chat_template":"x"}`:        "chat_template_kwargs.chat_template is not known to mleflow",
		`"extra_body":{"google":{"cached_content":"c"}}`:      "extra_body.google.cached_content asks the provider to keep",
		`"plugins":[{"id":"web"}]`:                            "plugins is not known to mleflow",
		`"thinking":{"type":"enabled","web":{"search":true}}`: "thinking.web is not known to mleflow",
	} {
		_, no := read(t, "openai", "/v1/chat/completions", `{"model":"m",`+body+`,"messages":[]}`)
		if no == nil || !strings.HasPrefix(no.Text, want) {
			t.Errorf("%s: %v", body, no)
		}
	}
}

// TestLimitsOfServers: what lets a server write more than max_tokens counts.
func TestLimitsOfServers(t *testing.T) {
	for body, want := range map[string]int64{
		`"max_tokens":10,"n_predict":50`:                                    50,
		`"max_tokens":10,"n_predict":-1`:                                    0,
		`"n_predict":7`:                                                     7,
		`"n_predict":null,"max_tokens":10`:                                  10,
		`"max_tokens":10,"thinking_budget":100`:                             110,
		`"max_tokens":10,"thinking":{"type":"enabled","budget_tokens":100}`: 110,
		`"max_tokens":10,"extra_body":{"google":{"thinking_config":{"thinking_budget":100}}}`: 110,
		`"max_tokens":10,"extra_body":{"google":null}`:                                        10,
		`"thinking_budget":100`: 0,
	} {
		r, no := read(t, "openai", "/v1/chat/completions", `{"model":"m",`+body+`,"messages":[]}`)
		if no != nil || r.OutputTokens != want {
			t.Errorf("%s: %v, %+v", body, no, r)
		}
	}
}
