package rules

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

var graderImport = Rule{
	Name:   "grader-import",
	Doc:    "Code that imports or runs the benchmark's grader, or was refused it.",
	Honest: "A harness for MLE-bench may call it; a refused call is a note.",
	begin: func(c *ruleCheck) visitor {
		return visitor{
			source: func(s *pysource.Source, tokens []pysource.Token) {
				for _, i := range imports(tokens) {
					if i.module == "mlebench" && slices.Contains(graders, i.name) || isGrader(i.module) {
						c.warn(at(s, i.line), s.Excerpt(i.line, i.line, 1), "The code imports the benchmark's grader.")
					}
				}
			},
			text: func(p location, text string) {
				if graderCommand.Regexp().MatchString(text) {
					c.warn(p, text, "A command runs the benchmark's grader.")
				}
			},
			shim: func(p location, r shim.Record) {
				if r.Kind == shim.Grade {
					c.note(p, r.Call, "The grader was called at %s:%d, and the call was refused.", clip(r.File), r.Line)
				}
			},
		}
	},
}

// graders are the modules of the package mlebench that score, as of the reference.
var graders = []string{"grade", "grade_helpers", "metrics", "cli"}

func isGrader(module string) bool {
	rest, ok := strings.CutPrefix(module, "mlebench.")
	first, _, _ := strings.Cut(rest, ".")
	return ok && (slices.Contains(graders, first) || strings.HasSuffix(module, ".grade"))
}

var graderCommand = pattern.New(`(^|[\s;&|(])(python3? -m )?mlebench\s+grade(-sample)?\b|from mlebench\.?\w* import grade|import mlebench\.grade`)
