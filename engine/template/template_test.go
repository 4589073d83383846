package template

import (
	"html"
	"strings"
	"testing"
	standard "text/template"
)

type item struct {
	Name string
	Size int64
}

type data struct {
	item
	Title string
	Empty string
	Items []item
	Raw   Markup
}

var sample = data{item: item{"own", 3}, Title: "a <b>", Items: []item{{"x", 1}, {"y", 0}}, Raw: "<i>"}

var funcs = map[string]any{"upper": strings.ToUpper, "twice": func(n int) int { return 2 * n }}

// TestLikeTheStandardLibrary fills templates with both.
func TestLikeTheStandardLibrary(t *testing.T) {
	for _, text := range []string{
		"plain", "{{.Title}} {{.Name}}", "a\n{{- if .Empty}} no{{else if .Items}} yes{{else}} never{{end}}",
		"{{range .Items}}[{{.Name}}{{if .Size}}={{.Size}}{{end}} {{$.Title}}]{{end}}",
		"{{range $i, $x := .Items}}{{twice $i}}{{$x.Name}}{{end}}", "{{range $x := .Items}}{{$x.Name}}{{end}}",
		"{{if eq .Title .Empty}}a{{else}}b{{end}}{{if eq .Title .Title}}c{{end}}", "{{if le (len .Items) 2}}few{{end}}{{if le (len .Items) 1}}one{{end}}",
		"{{if not .Items}}none{{end}}{{if not .Empty}}empty{{end}}", "{{upper .Title}}",
		`{{define "row"}}[{{.Name}}{{if eq $.Name "x"}}!{{end}}]{{end}}{{range .Items}}{{template "row" .}}{{end}}`,
		`{{if and .Title .Items}}both{{end}}{{if and .Title .Empty}}never{{end}}{{if or .Empty .Items}}one{{end}}{{upper "a"}}`,
	} {
		var got, want strings.Builder
		if err := Must("t", text, funcs, nil).Execute(&got, &sample); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := standard.Must(standard.New("t").Funcs(funcs).Parse(text)).Execute(&want, &sample); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s:\ngot  %q\nwant %q", text, got.String(), want.String())
		}
	}
}

func TestEscapes(t *testing.T) {
	var got strings.Builder
	if err := Must("t", `{{.Title}}{{.Raw}}{{upper .Title}}`, funcs, html.EscapeString).Execute(&got, sample); err != nil {
		t.Fatal(err)
	}
	if want := "a &lt;b&gt;<i>A &lt;B&gt;"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}

func TestExecuteFails(t *testing.T) {
	for text, want := range map[string]string{
		"{{.Lost}}": "there is no field Lost", "{{.Title.Name}}": "there is no field Name", "{{range .Title}}{{end}}": "string is not a slice",
		"{{upper 3}}": "argument 1 is int, want string", "{{upper}}": "takes 1 arguments", "{{.Title | upper}}": "pipes are not supported",
		"{{with .Title}}{{end}}": "not supported", `{{template "lost" .}}`: "no such template",
	} {
		if err := Must("t", text, funcs, nil).Execute(&strings.Builder{}, sample); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
