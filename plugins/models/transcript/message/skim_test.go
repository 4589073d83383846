package message

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	for raw, want := range map[string][]string{
		` [1, "a]" ,{"b":[2]},[ ], null] `: {"1", `"a]"`, `{"b":[2]}`, "[ ]", "null"},
		`{"a" : {"b":1}, "c":"}" }`:        {`"a"`, `{"b":1}`, `"c"`, `"}"`},
		"[]":                               nil,
		"":                                 nil,
		`"a"`:                              nil,
		"[1":                               nil,
		"[1}":                              nil,
		"[1]]":                             nil,
		"[1][":                             nil,
		`[1]"`:                             nil,
		"[1] 2":                            nil,
		`["a`:                              nil,
		"][":                               nil,
	} {
		open := byte('[')
		if len(want) == 4 {
			open = '{'
		}
		var got []string
		for _, v := range values([]byte(raw), open) {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}
