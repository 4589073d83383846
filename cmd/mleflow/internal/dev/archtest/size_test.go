package archtest

import (
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// budgets are how many lines of code the wings of the program may have: what they have,
// rounded up to the next 500.
var budgets = map[string]int{"cache": 14_500, "cmd": 45_000, "competitions": 24_000, "engine": 22_500, "pipelines": 500, "plugins": 58_000, "steps": 13_000}

// TestSize prints the lines of code that are linked into the program, by wing: without
// comments, blank lines and tests.
func TestSize(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{$p := .}}{{range .GoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, "./cmd/mleflow")
	cmd.Dir = filepath.Join("..", "..", "..", "..", "..")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	wings, total := map[string]int{}, 0
	for line := range strings.Lines(string(out)) {
		path, file, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := codeLines(text)
		wing, _, _ := strings.Cut(strings.TrimPrefix(path, module+"/"), "/")
		wings[wing] += n
		total += n
	}
	t.Logf("%d lines of code: %v", total, wings)
	for wing, n := range wings {
		switch want := (n + 499) / 500 * 500; {
		case n > budgets[wing]:
			t.Errorf("%s has %d lines of code; its budget is %d. Delete or merge as much in it, move what belongs elsewhere, or, if the part is worth its lines, raise the budget to %d and say in the commit what paid for it", wing, n, budgets[wing], want)
		case want < budgets[wing]:
			t.Errorf("%s has %d lines of code; lower its budget to %d", wing, n, want)
		}
	}
}

// codeLines counts the lines that hold more than comments.
func codeLines(text []byte) (n int) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	last := 0
	for {
		pos, tok, lit := s.Scan()
		switch first := file.Line(pos); {
		case tok == token.EOF:
			return n
		case tok == token.SEMICOLON && lit == "\n":
		default:
			end := first + strings.Count(lit, "\n")
			n += end - max(first-1, last)
			last = max(last, end)
		}
	}
}
