package config

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestHostileExpressions evaluates expressions that ask for more than any machine has:
// each ends with a diagnostic at its place.
func TestHostileExpressions(t *testing.T) {
	chain := func(first, next string, n int) string { // a chain of local values, each made of the one before
		var b strings.Builder
		fmt.Fprintf(&b, "a0 = %s\n", first)
		for i := range n {
			fmt.Fprintf(&b, "a%d = %s\n", i+1, strings.ReplaceAll(next, "a", fmt.Sprintf("local.a%d", i)))
		}
		return b.String()
	}
	big := `s = join("", [for i in range(10000) : "abcdefghij"])` + "\n"
	aliases := `a0: &a0 [x]\n`
	for i := range 30 {
		aliases += fmt.Sprintf(`a%d: &a%[1]d [*a%d, *a%[2]d]\n`, i+1, i)
	}
	slow := []string{"lookup", "flatten", "nested for", "filtered for", "splat", "characters", "try", "nested try", "template", "texts"}
	for name, text := range map[string]string{
		"range": `x = range(10000000)`, "try": `x = try([for a in range(100000) : [for b in range(100000) : 1]], 1)`,
		"nested for": `x = [for a in range(100000) : [for b in range(100000) : 1]]`, "filtered for": `x = [for a in range(100000) : [for b in range(100000) : 1 if false]]`,
		"object": `x = { for a in range(1000000) : "x" => { a = a, b = a }... }`, "splat": "y = [for i in range(5000) : { a = i }]\nx = [for a in range(5000) : local.y[*].a]",
		"product": `x = setproduct(range(5000), range(5000))`, "product of many": `x = setproduct(` + strings.Repeat("range(10), ", 12) + "[1])",
		"format": `x = format("%2000000000s", "a")`, "format again": `x = format("` + strings.Repeat("%[1]99999d", 2000) + `", 1)`, "formatlist": `x = formatlist("%100000d", range(100000))`,
		"indent": `x = indent(999999999, "a\nb")`, "replace": big + `x = replace(local.s, "a", local.s)`, "join": big + `x = join(local.s, range(1000))`,
		"template": big + `x = "%{for a in range(3000)}%{for b in range(3000)}${local.s}%{endfor}%{endfor}"`, "texts": chain(`"aaaaaaaaaa"`, `"${a}${a}${a}${a}"`, 20),
		"lists": chain("[1, 2]", "concat(a, a)", 30), "tuples": chain("[1, 2]", "[a, a]", 40), "objects": chain(`{ z = 1 }`, `{ z = a, y = a }`, 40),
		"flatten": chain("[1, 2]", "[a, a]", 15) + "x = [for i in range(1000) : flatten(local.a15)]", "levels": chain("[1]", "[a]", 300),
		"JSON": "y = range(3000)\nx = jsonencode([for i in range(3000) : local.y])", "JSON levels": `x = jsondecode("` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `")`,
		"JSON number": `x = jsondecode("1e999999999")`, "search": big + `x = regexall("(((a?){50}){20}x|(a?){900}b)", local.s)`, "distinct": `x = distinct([for i in range(50000) : "${i}"])`,
		"lookup": `y = { for i in range(20000) : "${i}" => i }` + "\n" + `x = [for i in range(20000) : lookup(local.y, "1", 0)]`,
		"types":  `x = tolist([for i in range(20000) : { "k${i}" = 1 }])`, "characters": big + `x = [for i in range(10000) : strlen(local.s)]`,
		"remainder": `x = 1e999999999 % 7`, "number": `x = "${1e99999999}"`, "small number": `x = 1e-99999999 + 1`, "rounded": `x = ceil(1.5e99999999)`,
		"written number": `x = tonumber("1e99999999")`, "product of numbers": `x = ` + strings.Repeat("1e300 * ", 50) + "1", "long number": `x = join("", [for i in range(10000) : "12345678"]) + 1`,
		"YAML": `x = yamldecode("` + aliases + `")`, "YAML text": big + `x = yamldecode("a: &a \"${local.s}\"\nb: [` + strings.Repeat("*a, ", 5000) + `]")`,
		"YAML levels": `x = yamldecode("` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `")`, "many digests": big + `x = [for i in range(100000) : sha256(local.s)]`,
		"many sums": "y = range(100000)\nx = [for i in range(100000) : sum(local.y)]",
		"deep":      `x = ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested try": `x = ` + strings.Repeat("try(", 40) + "[for a in range(100000) : [for b in range(100000) : 1]]" + strings.Repeat(")", 40),
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(slow, name) && os.Getenv("MLEFLOW_HOSTILE") == "" {
				t.Skip("MLEFLOW_HOSTILE=1 runs what takes a second")
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, diags := Parse("hostile.hcl", []byte("locals {\n"+text+"\n}\n"), Options{Kinds: testKinds(), Version: "0.1.0"})
			if !diags.HasErrors() {
				_, diags = p.Expand(nil)
			}
			runtime.ReadMemStats(&after)
			if !diags.HasErrors() || diags[0].Subject == nil || diags[0].Subject.Filename != "hostile.hcl" || diags[0].Subject.Start.Line < 2 {
				t.Errorf("%.300v", diags)
			}
			if used := (after.HeapAlloc - before.HeapAlloc) >> 20; after.HeapAlloc > before.HeapAlloc && used > 500 {
				t.Errorf("%d MiB in use", used)
			}
		})
	}
}

// TestHostileSteps declares too many instances and dependencies.
func TestHostileSteps(t *testing.T) {
	for name, text := range map[string]string{
		"instances": "locals { k = toset(range(100000)) }\n" + strings.Repeat("step \"source\" \"NAME\" {\n for_each = local.k\n id = each.key\n}\n", 3),
		"dependencies": "step \"source\" \"a\" {\n for_each = toset(range(4000))\n id = each.key\n}\n" +
			"step \"source\" \"b\" {\n for_each = toset(range(4000))\n id = each.key\n depends_on = [step.source.a]\n}\n",
	} {
		for i := range 3 {
			text = strings.Replace(text, "NAME", fmt.Sprint("s", i), 1)
		}
		p, diags := Parse("hostile.hcl", []byte(text), Options{Kinds: testKinds(), Version: "0.1.0"})
		if !diags.HasErrors() {
			_, diags = p.Expand(nil)
		}
		if !diags.HasErrors() || !strings.HasPrefix(diags[0].Summary, "Too many "+name) {
			t.Errorf("%s: %.300v", name, diags)
		}
	}
}
