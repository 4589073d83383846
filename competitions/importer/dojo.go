package importer

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// metricForm matches a class of a metric in MLE-Dojo's form.
var metricForm = pattern.New(`(?m)^class[ \t]+([A-Za-z_]\w*)[ \t]*\([^)]*\bCompetitionMetrics\b[^)]*\)`)

// mleDojo reads a folder of MLE-Dojo: utils/prepare.py with the function prepare,
// utils/metric.py with a class of CompetitionMetrics, and info/ with the description and
// the leaderboards.
func mleDojo(s *source, o Options) (d draft) {
	id := filepath.Base(s.dir)
	d.id, d.slug, d.title = s.identifier(id, o.ID, hcl.Range{Filename: s.dir}), id, id
	d.answers, d.sample = "private/test_answer.csv", "public/sample_submission.csv"
	d.code = s.code("utils")
	d.python.Package = "mledojo.competitions." + d.id + ".utils"
	for _, name := range []string{"prepare.py", "metric.py"} {
		if d.code[name] == nil && !s.diags.HasErrors() {
			s.fail(hcl.Range{Filename: filepath.Join(s.dir, "utils", name)}, "No "+name, "The folder needs utils/%s. Add it.", name)
		}
	}
	file := filepath.Join(s.dir, "utils", "metric.py")
	if prepare := d.code["prepare.py"]; prepare != nil && !prepareForm.Regexp().Match(prepare) {
		s.fail(hcl.Range{Filename: filepath.Join(s.dir, "utils", "prepare.py")}, "No such function", "It defines no function prepare(raw, public, private). Add it.")
	}
	if m := metricForm.Regexp().FindSubmatch(d.code["metric.py"]); m != nil {
		d.python.Prepare, d.python.Grade = "prepare:prepare", "metric:"+string(m[1])
		d.metric = string(m[1])
	} else if d.code["metric.py"] != nil {
		s.fail(hcl.Range{Filename: file}, "No metric", "It has no class of CompetitionMetrics, such as class MyMetrics(CompetitionMetrics).")
	}
	d.description, _ = s.read("info/description.txt", maxYAML)
	d.board(s, "info/private_leaderboard.csv", o)
	return d
}

var prepareForm = pattern.New(`(?m)^def[ \t]+prepare[ \t]*\(`)
