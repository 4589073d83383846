package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/outcome"
)

// endsAllowed are files that may spell ends of attempts, with the reason.
var endsAllowed = map[string]string{
	"competitions/outcome/outcome.go":                        "it is the list",
	"plugins/sandbox/executor/executor.go":                   "the reasons for which a command ended, of which an end is made",
	"plugins/sandbox/executor/process/supervise/protocol.go": "the same, in the protocol of the supervisor, which links nothing else",
	"plugins/sandbox/executor/executortest/suite.go":         "messages of a suite of tests",
}

// TestEndsAreOneList sees that no other code spells how an attempt ended: constants and
// methods of package outcome do. The word of an agent that finished is any verb.
func TestEndsAreOneList(t *testing.T) {
	const root = "../../../../.."
	var names []string
	for _, e := range outcome.Ends() {
		if e != outcome.Finished {
			names = append(names, string(e))
		}
	}
	spelled := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b`)
	read := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || name == "bin" || name == "dist") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || endsAllowed[name] != "" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		read++
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && spelled.MatchString(lit.Value) {
				t.Errorf("%s:%d spells the end %s; package outcome has it", name, set.Position(lit.Pos()).Line, lit.Value)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}
