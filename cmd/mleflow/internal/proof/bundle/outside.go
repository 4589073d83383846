package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// Channel is a way by which an attempt received more than its competition, possibly the
// answers.
type Channel struct {
	// Text describes it with names, for people.
	Text string `json:"text"`
	// Answers reports whether a private server or a recording answered instead of a
	// provider.
	Answers bool `json:"answers,omitempty"`
}

// given reads the agent's inputs besides its data from the fields of a key: the bytes of
// environment variables by name, the names of files, and its packages.
func (a *Attempt) given(r record) {
	if packages := r.field("agent.python"); packages != "null" {
		a.Python = packages
	}
	for _, label := range []string{"agent.env", "env"} { // the second takes precedence
		var env map[string]string
		_ = json.Unmarshal([]byte(r.field(label)), &env)
		for name, value := range env {
			if a.Env == nil {
				a.Env = map[string]int{}
			}
			a.Env[name] = len(value)
		}
	}
	for _, f := range r.Fields {
		quoted, found := strings.CutPrefix(f.Label, "agent.files[")
		if name, err := strconv.Unquote(strings.TrimSuffix(quoted, "]")); found && err == nil {
			a.Files = append(a.Files, name)
		}
	}
}

// variables lists the environment with the sizes of values.
func (a *Attempt) variables() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		list = append(list, fmt.Sprintf("%s (%s)", name, view.Bytes(int64(a.Env[name]))))
	}
	return list
}

// commands lists the commands with their sizes. That of a built-in agent is known.
func (a *Attempt) commands() []string {
	var list []string
	for _, c := range []struct {
		name  string
		words []string
	}{{"command", a.Command}, {"resume", a.Resume}} {
		if len(c.words) > 0 && a.AgentVersion == "" {
			list = append(list, fmt.Sprintf("%s (%s)", c.name, view.Bytes(int64(len(strings.Join(c.words, " "))))))
		}
	}
	return list
}

// packages names the Python packages by their digest.
func (a *Attempt) packages() []string {
	if a.Python == "" {
		return nil
	}
	return []string{fmt.Sprintf("%.12s", a.Python)}
}

// Outside are the channels that an attempt had.
func (a *Attempt) Outside() (list []Channel) {
	for _, one := range []struct {
		what  string
		names []string
	}{{"started with", a.commands()}, {"Python packages", a.packages()}, {"environment", a.variables()}, {"secrets", a.Secrets}, {"files of the agent", a.Files}} {
		if len(one.names) > 0 {
			list = append(list, Channel{Text: one.what + ": " + strings.Join(one.names, ", ")})
		}
	}
	for i := range a.Models {
		t := &a.Models[i]
		if t.BaseURL != "" {
			list = append(list, Channel{Text: fmt.Sprintf("own model server: %s (%s)", t.BaseURL, t.Name), Answers: true})
		}
		if source := t.source(); source != live {
			list = append(list, Channel{Text: fmt.Sprintf("model %s: %s", t.Name, source), Answers: true})
		}
		if len(t.Tools) > 0 {
			list = append(list, Channel{Text: fmt.Sprintf("tools of the provider (%s): %s", t.Name, strings.Join(t.Tools, ", "))})
		}
	}
	return list
}
