package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// closed are the packages whose files are in a cache that others may be able to write
// to, and opened what they may open plainly: what is not in the cache.
var (
	closed = []string{"cache/disk", "cache/disk/index", "engine/history", "engine/local", "plugins/sandbox/executor/claim", "plugins/sandbox/service", "plugins/models/gateway", "plugins/models/transcript"}
	opened = []string{"/proc/", "c.dir", "path, os.O_WRONLY|os.O_CREATE|os.O_EXCL", "path, unix.O_DIRECTORY|unix.O_NOFOLLOW"}
)

// TestNoLinks sees that these packages open files and make folders by cache/nolink, which
// follows no link, waits for no pipe, and gives the group of a shared cache its rights.
func TestNoLinks(t *testing.T) {
	plain := []string{"Open", "OpenFile", "Create", "CreateTemp", "ReadFile", "WriteFile", "Mkdir", "MkdirAll", "MkdirTemp"}
	calls := 0
	for _, dir := range closed {
		files, err := filepath.Glob(filepath.Join("../../../../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("files of %s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains(plain, f.Sel.Name) {
					return true
				}
				if of, ok := f.X.(*ast.Ident); ok && of.Name == "nolink" {
					calls++
				} else if ok && of.Name == "os" && !mayOpen(t, name, set.Position(call.Lparen).Offset, set.Position(call.Rparen).Offset) {
					t.Errorf("%s: os.%s may follow a link in a cache, or shut out its group; use cache/nolink", set.Position(call.Pos()), f.Sel.Name)
				}
				return true
			})
		}
	}
	if calls < 30 {
		t.Errorf("only %d calls of cache/nolink were found", calls)
	}
}

// mayOpen reports whether the arguments of a call are of what may be opened plainly.
func mayOpen(t *testing.T, name string, from, to int) bool {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(opened, func(s string) bool { return strings.Contains(string(text[from:to]), s) })
}
