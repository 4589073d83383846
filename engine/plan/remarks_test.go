package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRemarks says once what differs in the agent alone, and names a single agent.
func TestRemarks(t *testing.T) {
	var list Remarks
	for _, agent := range []string{"s[k=1]", "s[k=1]", "s[k=2]"} {
		list.Add(agent, `not isolated: agent "`+agent+`" has no image`)
	}
	list.Add("alone", `agent "alone" cannot start`)
	list.Add("alone", `agent "alone" cannot start`)
	list.Add("", "no space")
	list.Add("s[k=1]", "")
	var got []string
	list.Each(func(text, _ string) { got = append(got, text) })
	want := []string{`3 attempts of 2 agents: not isolated: the agent has no image`, `agent "alone" cannot start`, "no space"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
