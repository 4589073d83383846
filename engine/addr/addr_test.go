package addr_test

import (
	"testing"

	"github.com/mleflow/mleflow/engine/addr"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"step.grade.score": "step.grade.score", `step.grade.score["a/0"]`: `step.grade.score["a/0"]`, `step.grade.score["a[\"b.c\"]"]`: `step.grade.score["a[\"b.c\"]"]`,
		"step.exec.re\u0301sume\u0301[\"e\u0301\"]": "step.exec.r\u00e9sum\u00e9[\"\u00e9\"]", // as names in the language are composed
		`step.grade.common.score["a"]`:              `step.grade.common.score["a"]`, "step.grade.score.": "", "step.grade..score": "",
		"": "", "grade.score": "", "step.grade": "", "step..score": "", "step.grade.score[a]": "", `step.grade.score["a"`: "",
	} {
		a, err := addr.Parse(text)
		if (err != nil) != (want == "") || err == nil && a.String() != want {
			t.Errorf("%q: %q, %v", text, a, err)
		}
	}
}
