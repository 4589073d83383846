package bounded

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// TestLarge parses large texts of each shape at sizes n and 2n, with the memory that it
// takes as the count of the work. Each is refused with a reason or parsed in memory that
// grows with its size, not its square.
func TestLarge(t *testing.T) {
	var budget Budget
	decode := budget.Functions(map[string]function.Function{"jsondecode": stdlib.JSONDecodeFunc})["jsondecode"]
	parse := func(text string) error {
		if _, diags := Parse([]byte(text), "a.hcl"); diags.HasErrors() {
			return diags
		}
		return nil
	}
	template := func(text string) error {
		if _, diags := parseTemplate([]byte(text), "a.tmpl"); diags.HasErrors() {
			return diags
		}
		return nil
	}
	jsonFile := func(text string) error {
		_, err := decode.Call([]cty.Value{cty.StringVal(text)})
		return err
	}
	const long, deep, large = "Text too long", "Nested too deeply", "the call would make"
	for name, c := range map[string]struct {
		parse            func(string) error
		begin, unit, end string
		n                int
		want             string
	}{
		"heredoc": {parse, "x = <<E\n", "a\n", "E\n", 16_000, long}, "indented heredoc": {parse, "x = <<-E\n", "  a\n", "  E\n", 16_000, long},
		"heredoc with values": {parse, "x = <<E\n", "a\n${b}\n", "E\n", 16_000, long}, "heredoc with trimmed values": {parse, "x = <<E\n", "a\n${~ b ~}\n", "E\n", 16_000, long},
		"heredoc with escapes": {parse, "x = <<E\n", "$${a}\n", "E\n", 16_000, long}, "heredoc of long lines": {parse, "x = <<E\n", strings.Repeat("a", 300) + "\n", "E\n", 6000, long},
		"heredocs": {parse, "", "x {\ny = <<E\n" + strings.Repeat("a\n", 8000) + "E\n}\n", "", 5, long}, "heredoc in a value": {parse, "x = <<E\n${f(<<F\n", "a\n", "F\n)}\nE\n", 16_000, long},
		"string of escapes": {parse, `x = "`, "$${a}", "\"\n", 16_000, long}, "string of dollars": {parse, `x = "`, "$", "\"\n", 16_000, long},
		"template": {template, "", "a\n", "", 16_000, long}, "template with values": {template, "", "a\n${b}\n", "", 16_000, long},
		"parentheses": {parse, "x = ", "(", "\n", 5000, deep}, "templates in templates": {parse, "x = ", `"${`, "\n", 5000, deep}, "labels": {parse, "a ", `"b" `, "{}\n", 5000, deep},
		"short heredocs": {parse, "", "x {\ny = <<E\n" + strings.Repeat("a\n", 100) + "E\n}\n", "", 50, ""},
		"list":           {parse, "x = [", "1, ", "]\n", 5000, ""}, "object": {parse, "x = {\n", "a = 1\n", "}\n", 5000, ""}, "calls": {parse, "x = [", "f(a), ", "]\n", 5000, ""},
		"string of values": {parse, `x = "`, "${a}b", "\"\n", 5000, ""}, "directives": {parse, "x = <<E\n", "%{if a}\n%{endif}\n", "E\n", 5000, ""},
		"blocks": {parse, "", "a {}\n", "", 5000, ""}, "comment": {parse, "# ", "a", "\n", 50_000, ""}, "comment of lines": {parse, "/*", "a\n", "*/\n", 50_000, ""},
		"comments": {parse, "", "# a\n", "", 5000, ""}, "comments after blocks": {parse, "", "a {} # a\n", "", 5000, ""},
		"JSON": {jsonFile, "[", "1,", "1]", 5000, ""}, "JSON objects": {jsonFile, "[", `{"a": 1},`, "1]", 5000, ""}, "deep JSON": {jsonFile, "", "[", "", 5000, large},
		"JSON number": {jsonFile, `[1e`, "9", "]", 5000, large}, "large JSON": {jsonFile, "[", "1,", "1]", 300_000, large},
	} {
		var taken [2]float64
		for i := range taken {
			text := c.begin + strings.Repeat(c.unit, c.n<<i) + c.end
			taken[i] = allocated(func() {
				budget.Reset()
				if err := c.parse(text); err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s, %d times: %v, want %q", name, c.n<<i, err, c.want)
				}
			})
		}
		if taken[1] > 3*taken[0]+1<<16 {
			t.Errorf("%s: %.0f bytes for %d, %.0f for %d", name, taken[0], c.n, taken[1], 2*c.n)
		}
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// TestLongestHeredoc holds the number of lines that docs promise.
func TestLongestHeredoc(t *testing.T) {
	for lines, refused := range map[int]bool{7000: false, 8000: true} {
		tokens, _ := hclsyntax.LexConfig([]byte("x = <<E\n"+strings.Repeat(strings.Repeat("a", 59)+"\n", lines)+"E\n"), "a.hcl", hcl.InitialPos)
		if d := scan(tokens); (d != nil) != refused {
			t.Errorf("%d lines: %v", lines, d)
		}
	}
}
