package bounded

import (
	"strings"
	"testing"
)

// TestScan nests what a text can nest: deep text is refused at its place, before
// the parser sees it, and shallow text is not.
func TestScan(t *testing.T) {
	for name, parts := range map[string][3]string{
		"lists": {"[", "1", "]"}, "parentheses": {"(", "1", ")"}, "objects": {"{ a = ", "1", "}"}, "calls": {"abs(", "1", ")"},
		"templates": {`"${`, "1", `}"`}, "templates with text": {`"a${`, "1", `}"`}, "not": {"!", "true", ""}, "minus": {"- ", "1", ""},
		"conditionals": {"true ? 1 : ", "2", ""}, "conditions": {"true ? ", "1", " : 2"}, "indexes": {"local.a", "[0]", "[0]"},
		"sums": {"1 + ", "1", ""}, "sums in parentheses": {"(1 + ", "1", ")"}, "comparisons": {"1 == ", "1", ""}, "and": {"true && ", "true", ""},
		"attributes": {"local", ".a", ".a"}, "splats": {"local.a", "[*]", "[*]"}, "for": {"[for a in [1] : ", "1", "]"},
		"directives": {`"${"%{if true}`, "a", `%{endif}"}"`}, "never closed": {"[", "", ""}, "wrong brackets": {"[ }", "", ""},
	} {
		body := func(n int) string {
			if strings.HasPrefix(parts[0], "local") {
				return "x = " + parts[0] + strings.Repeat(parts[1], n) + "\n"
			}
			return "x = " + strings.Repeat(parts[0], n) + parts[1] + strings.Repeat(parts[2], n) + "\n"
		}
		if _, diags := Parse([]byte("y = 1\n"+body(10)), "a.hcl"); strings.Contains(diags.Error(), "too deeply") {
			t.Errorf("%s, 10 deep: %v", name, diags)
		}
		if _, diags := Parse([]byte("y = 1\n"+body(3000)), "a.hcl"); !strings.HasPrefix(diags.Error(), "a.hcl:2,") || !strings.Contains(diags.Error(), "Nested too deeply") {
			t.Errorf("%s, 3,000 deep: %v", name, diags)
		}
	}
	flat := strings.Repeat("%{if true}a%{endif}", 3000)
	for name, text := range map[string]string{
		"list": "x = [" + strings.Repeat("local.a[0], ", 3000) + "]", "template": `x = "` + strings.Repeat("${1 + 1}/", 3000) + `"`,
		"attributes": strings.Repeat("a {\nx = local.a.b[1] + 1\n}\n", 3000), "object": "x = {\n" + strings.Repeat("a = local.b.c\n", 3000) + "}",
		"directives": `x = "` + flat + `"`, "heredoc": "x = <<E\n" + strings.Repeat("((((\n", 3000) + "E\n", "comment": "# " + strings.Repeat("(", 3000) + "\n",
	} {
		if _, diags := Parse([]byte(text+"\n"), "a.hcl"); strings.Contains(diags.Error(), "too deeply") {
			t.Errorf("%s: %v", name, diags)
		}
	}
	for name, text := range map[string]string{
		"block": strings.Repeat("a {\n", 3000), "name": "x = " + strings.Repeat("a", 5000), "number": "x = " + strings.Repeat("1", 5000),
		"size": strings.Repeat(" ", maxText+1), "signs": "x = [" + strings.Repeat("1,", maxSigns) + "]",
		"directives": `x = "` + strings.Repeat("%{if true}", 3000) + `"`, "directives with ~": `x = "` + strings.Repeat("%{~ for a in b ~}", 3000) + `"`,
	} {
		if file, diags := Parse([]byte(text), "a.hcl"); !strings.Contains(diags.Error(), "too ") || file.Body == nil {
			t.Errorf("%s: %v", name, diags)
		}
	}
	deep := strings.Repeat("(", 3000)
	if _, diags := ParseExpression([]byte(deep), "a"); !strings.Contains(diags.Error(), "too deeply") {
		t.Errorf("expression: %v", diags)
	}
	if _, diags := parseTemplate([]byte("x\n${"+deep), "a"); !strings.Contains(diags.Error(), "a:2,") {
		t.Errorf("template: %v", diags)
	}
}
