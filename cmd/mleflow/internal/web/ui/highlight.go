package ui

import (
	"html"
	"html/template"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// maxColoured bounds the text that is highlighted. A longer one is shown as it is.
const maxColoured = 256 << 10

// language is a language by its names and the endings of its files.
type language struct {
	names string
	// Pattern has the tokens. Its time is linear in the text, whatever an agent writes.
	*pattern.Pattern
}

const (
	numbers  = `\b(?P<hn>\d[\w.]*)`
	literals = `(?P<hs>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)`
	hash     = `(?P<hc>#[^\n]*)`
	slashes  = `(?P<hc>//[^\n]*|(?s:/\*.*?(?:\*/|\z)))`
	plain    = `[\pL_]\w*`
)

// oneOf matches words.
func oneOf(class, list string) string {
	return `\b(?P<` + class + `>` + strings.ReplaceAll(list, " ", "|") + `)\b`
}

// block is coloured as one text.
func block(language, text string) template.HTML {
	var b strings.Builder
	for i, l := range coloured(language, text) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(l))
	}
	return template.HTML(b.String())
}

// coloured writes text in a language as HTML with a class for each kind of token, line
// by line without their ends. Language is as for languageNamed.
func coloured(language, text string) []template.HTML {
	text = strings.ToValidUTF8(text, "\ufffd")
	c, done := &colours{}, 0
	if l := languageNamed(language); l != nil && len(text) <= maxColoured {
		names := l.Regexp().SubexpNames()
		for _, at := range l.Regexp().FindAllStringSubmatchIndex(text, -1) {
			for i := 1; i < len(names); i++ {
				if from, to := at[2*i], at[2*i+1]; from >= done && to > from {
					c.put("", text[done:from])
					c.put(names[i], text[from:to])
					done = to
				}
			}
		}
	}
	c.put("", text[done:])
	return append(c.lines, template.HTML(c.line.String()))
}

// expressionOf has the tokens of a language: alternatives, the first of which that matches
// counts. A group is named by the class of the style sheet that it has: hk for keywords, hs
// for strings, hn for numbers and constants, hf for names, hc for comments, hd for what is
// removed.
func expressionOf(alternatives ...string) *pattern.Pattern {
	return pattern.New(strings.Join(alternatives, "|"))
}

var languages = sync.OnceValue(func() []language {
	return []language{
		{"python python3 py pyi ipython", expressionOf(hash, `(?P<hs>(?i:\b[rbfu]{1,2})?(?s:"""(?:[^\\]|\\.)*?(?:"""|\z)|'''(?:[^\\]|\\.)*?(?:'''|\z)))`, `(?P<hs>(?i:\b[rbfu]{1,2})?(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?))`, `(?P<hf>@[\w.]+)`,
			`\b(?P<hk>def|class)\s+(?P<hf>\w+)`, oneOf("hn", "None True False"), oneOf("hk", "and as assert async await break continue del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield"),
			oneOf("hf", "abs all any bool dict enumerate float getattr int isinstance len list map max min open print range round set sorted str sum super tuple type zip"), numbers, plain)},
		{"json jsonl ipynb json5", expressionOf(`(?P<hf>"(?:[^"\\\n]|\\.)*")\s*:`, literals, oneOf("hn", "true false null"), numbers, plain)},
		{"bash sh shell zsh console dockerfile makefile", expressionOf(`(?:^|\s)(?P<hc>#[^\n]*)`, `(?P<hs>"(?:[^"\\]|\\(?s:.))*"?|'[^']*'?)`, `(?P<hn>\$\{[^}\n]*\}?|\$\w+)`,
			oneOf("hk", "if then else elif fi for in do done while until case esac function return export local set exit RUN FROM COPY ENV WORKDIR CMD ENTRYPOINT"), oneOf("hf", "cd echo cat ls pip python python3 grep sed awk head tail mkdir rm cp mv"), plain)},
		{"yaml yml toml ini cfg conf hcl", expressionOf(`(?:^|\s)(?P<hc>#[^\n]*)`, `(?m:^)[ \t-]*(?P<hf>[\w.-]+)\s*[:=]`, `(?m:^)\s*(?P<hk>\[[^\]\n]*\])`, literals, oneOf("hn", "true false null yes no"), numbers, plain)},
		{"c h cc cpp c++ cxx hpp cu cuh java js javascript jsx ts typescript tsx go rust rs cs kotlin swift scala", expressionOf(slashes, "(?P<hs>`[^`]*`?)", literals, `(?m:^)\s*(?P<hk>#\w+)`, oneOf("hn", "true false null nil nullptr undefined None"),
			oneOf("hk", "async await auto break case catch class const continue default defer delete do else enum export extends fn for func function go if impl import in interface let match mod mut namespace new package private protected pub public range return static struct switch template this throw try type typedef typename use using var virtual void while"), numbers, plain)},
		{"r jl julia", expressionOf(hash, literals, oneOf("hn", "TRUE FALSE NULL NA true false nothing"), oneOf("hk", "begin break do else elseif end for function if import in let library module next repeat return struct using while"), numbers, plain)},
		{"sql", expressionOf(`(?P<hc>--[^\n]*)`, literals, `(?i)`+oneOf("hk", "select from where join left right inner outer on group by order having limit insert into values update set delete create table drop as and or not null in is distinct union with case when then else end"), numbers, plain)},
		{"markdown md", expressionOf(`(?m:^)(?P<hk>#{1,6} [^\n]*)`, "(?P<hs>`[^`\n]*`)", `(?P<hf>\*\*[^*\n]+\*\*)`, plain)},
		{"diff patch", expressionOf(`(?m:^)(?P<hk>@@[^\n]*)`, `(?m:^)(?P<hs>\+[^\n]*)`, `(?m:^)(?P<hd>-[^\n]*)`, `[^\n]+`)},
	}
})

// languageNamed returns the language of a name that people use, such as "py", or of a
// file's name; nil if it is not known.
func languageNamed(name string) *language {
	name = strings.ToLower(path.Base(name))
	for _, name := range []string{name, strings.TrimPrefix(path.Ext(name), ".")} {
		for _, l := range languages() {
			if slices.Contains(strings.Fields(l.names), name) {
				return &l
			}
		}
	}
	return nil
}

// colours are lines that are being written.
type colours struct {
	lines []template.HTML
	line  strings.Builder
}

func (c *colours) put(class, text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			c.lines = append(c.lines, template.HTML(c.line.String()))
			c.line.Reset()
		}
		switch {
		case part == "":
		case class == "":
			c.line.WriteString(html.EscapeString(part))
		default:
			c.line.WriteString(`<span class="` + class + `">` + html.EscapeString(part) + `</span>`)
		}
	}
}
