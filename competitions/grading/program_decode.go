package grading

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// The limits of a program that names none.
const (
	programTimeout = 10 * time.Minute
	programMemory  = 4 << 30
)

var programAttributes = []string{"better", "command", "files", "memory_mib", "python", "timeout"}

// program decodes metric = command({ … }); false if the metric is none.
func (d *decoder) program(def *competitions.Definition, attr *hclsyntax.Attribute) bool {
	call, ok := attr.Expr.(*hclsyntax.FunctionCallExpr)
	if !ok || call.Name != competitions.CommandFunction {
		return false
	}
	at := attr.Expr.Range()
	if len(call.Args) != 1 {
		d.fail(at, "Wrong arguments", "command takes one object: command({ command = [\"python3\", \"metric.py\"], files = [\"metric.py\"], better = \"higher\" }).")
		return true
	}
	v, diags := call.Args[0].Value(d.context)
	if d.diags = append(d.diags, diags...); diags.HasErrors() {
		return true
	}
	if v.IsNull() || !v.IsWhollyKnown() || !isObject(v) {
		d.fail(at, "Wrong arguments", "command takes an object.")
		return true
	}
	p := &Program{Timeout: programTimeout, Memory: programMemory}
	d.plan.Program, d.plan.scorer = p, unmeasured
	d.plan.Metric = metric.Metric{Name: competitions.CommandFunction, Better: metric.Higher}
	better, members := "", v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		item := members[name]
		switch {
		case !slices.Contains(programAttributes, name):
			d.fail(at, "Unknown attribute "+name, "%s", diag.Suggest(name, programAttributes))
		case name == "command" || name == "files":
			list, err := textList(item)
			if err != nil {
				d.fail(at, "Wrong value for "+name, "%v.", err)
			}
			if name == "files" {
				p.Files = list
			} else {
				p.Command = list
			}
		case name == "memory_mib" && item.Type() == cty.Number && item.AsBigFloat().IsInt() && item.AsBigFloat().Sign() > 0:
			mib, _ := item.AsBigFloat().Int64()
			p.Memory = mib << 20
		case name == "python":
			p.Python = d.python(def, at, item)
		case name == "better" && item.Type() == cty.String:
			better = item.AsString()
		case name == "timeout" && item.Type() == cty.String:
			t, err := time.ParseDuration(item.AsString())
			if err != nil || t <= 0 {
				d.fail(at, "Wrong value for timeout", "Write a time such as \"90s\" or \"10m\".")
			}
			p.Timeout = t
		default:
			d.fail(at, "Wrong value for "+name, "timeout is a string such as \"90s\", memory_mib a positive integer, better \"higher\" or \"lower\".")
		}
	}
	d.checkProgram(def, attr, p, better)
	return true
}

func (d *decoder) checkProgram(def *competitions.Definition, attr *hclsyntax.Attribute, p *Program, better string) {
	at := attr.Expr.Range()
	if len(p.Command) == 0 || p.Command[0] == "" {
		d.fail(at, "No command", "Write what is run: command = [\"python3\", \"metric.py\"].")
	}
	switch better {
	case "higher":
	case "lower":
		d.plan.Metric.Better = metric.Lower
	default:
		d.fail(at, "No direction", "Write better = \"higher\" or better = \"lower\".")
	}
	for _, name := range p.Files {
		if _, err := fs.Stat(def.Folder(), name); err != nil || name == "." {
			d.fail(at, "No such file", "The competition's folder has no file or folder %q.", name)
		}
	}
	if d.body.Attributes["params"] != nil {
		d.fail(d.body.Attributes["params"].Expr.Range(), "No parameters", "A command takes its parameters as arguments.")
	}
}

// CheckLocked refuses a metric whose packages no lock file names, as far as that shows
// without looking at the Python of the machine.
func CheckLocked(def *competitions.Definition, metrics *metric.Registry, params map[string]cty.Value) error {
	plan, diags := Decode(def, metrics, params)
	if diags.HasErrors() || plan.Program == nil || plan.Program.Python == nil {
		return nil // what else is wrong is said in its turn
	}
	return plan.Program.Python.CheckLocked(def)
}

// python decodes python = { … } of a program.
func (d *decoder) python(def *competitions.Definition, at hcl.Range, v cty.Value) *program.Python {
	const want = "Write python = { requirements = \"requirements.txt\" }, a file of the competition's folder, and version = \"3.11\" if it must be another Python than that of the machine."
	if v.IsNull() || !isObject(v) {
		d.fail(at, "Wrong value for python", want)
		return nil
	}
	p := &program.Python{}
	for name, item := range v.AsValueMap() {
		switch {
		case item.IsNull() || item.Type() != cty.String:
			d.fail(at, "Wrong value for python", want)
			return nil
		case name == "requirements":
			p.Requirements = item.AsString()
		case name == "version":
			p.Version = item.AsString()
		default:
			d.fail(at, "Unknown attribute python."+name, want)
			return nil
		}
	}
	if p.Requirements == "" {
		d.fail(at, "Wrong value for python", want)
		return nil
	}
	err := errors.Join(pyenv.CheckName(p.Requirements), pyenv.CheckVersion(p.Version))
	if err == nil {
		_, err = p.Read(def)
	}
	if err != nil {
		d.fail(at, "Wrong value for python", "%s.", strings.TrimSuffix(err.Error(), "."))
	}
	return p
}
