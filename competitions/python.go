package competitions

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// Python is Python code beside a definition, in the form of MLE-bench: the function Prepare
// writes the public and private files, and Grade scores a submission. Each stands for the
// block of the same name where the definition has none.
type Python struct {
	// Package is the name by which the code in Folder is imported.
	Package string `attr:"package,required"`
	// Folder is the folder of the code below the definition's.
	Folder string `attr:"folder"`
	// Prepare and Grade are functions, as "prepare:prepare"; "" if there is none.
	Prepare string `attr:"prepare"`
	Grade   string `attr:"grade"`
	// Better is "higher" or "lower", or "" if the leaderboard says it.
	Better string `attr:"better"`
	// Requirements is a file of the packages that the code needs.
	Requirements string `attr:"requirements,required"`
	// Version is a version of Python such as 3.11; "" is that of the machine.
	Version string `attr:"version"`
	// PrepareTimeout and GradeTimeout are times of the wall clock, such as "12h".
	PrepareTimeout string `attr:"prepare_timeout"`
	GradeTimeout   string `attr:"grade_timeout"`
	// MemoryMiB is the limit of the memory of either.
	MemoryMiB int `attr:"memory_mib"`
	Range     hcl.Range
}

// The limits of code that names none.
const (
	pythonPrepareTimeout = "24h"
	pythonGradeTimeout   = "1h"
	pythonMemoryMiB      = 16 << 10
	pythonFolder         = "python"
)

var (
	packageForm  = pattern.New(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	functionForm = pattern.New(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$`)
)

// PreparedByPython reports whether Python prepares, as there is no prepare block.
func (d *Definition) PreparedByPython() bool { return d.Prepare.IsZero() && d.Python.Prepare != "" }

// GradedByPython reports whether Python grades, as there is no grade block.
func (d *Definition) GradedByPython() bool { return d.Grade.IsZero() && d.Python.Grade != "" }

// AsPython returns the definition without the blocks that its Python stands for.
func (d *Definition) AsPython() *Definition {
	out := *d
	if d.Python.Prepare != "" {
		out.Prepare = Block{}
	}
	if d.Python.Grade != "" {
		out.Grade = Block{}
	}
	return &out
}

// Function returns the full name of a function of the code.
func (p Python) Function(name string) string { return p.Package + "." + name }

// Limits returns the limits of Prepare or Grade.
func (p Python) Limits(prepare bool) (timeout time.Duration, memory int64) {
	text := cmp.Or(p.GradeTimeout, pythonGradeTimeout)
	if prepare {
		text = cmp.Or(p.PrepareTimeout, pythonPrepareTimeout)
	}
	timeout, _ = time.ParseDuration(text) // checked when it was decoded
	return timeout, int64(cmp.Or(p.MemoryMiB, pythonMemoryMiB)) << 20
}

// python decodes
//
//	python {
//	  package      = "mlebench.competitions.my-competition"
//	  prepare      = "prepare:prepare"
//	  grade        = "grade:grade"
//	  requirements = "requirements.txt"
//	}
func (d *decoder) python(b *hclsyntax.Block) {
	p := &d.def.Python
	before := len(d.diags)
	d.decode("python", b.Body, p)
	if p.Range, p.Folder = b.DefRange(), cmp.Or(p.Folder, pythonFolder); d.diags[before:].HasErrors() {
		return
	}
	at := func(name string) hcl.Range { return b.Body.Attributes[name].Expr.Range() }
	if !packageForm.Regexp().MatchString(p.Package) || slices.Contains([]string{"mlebench", "mlebench.competitions"}, p.Package) {
		d.fail(at("package"), "Not a package", "Write a name below which the code is imported, such as \"mlebench.competitions.%s\".", d.def.ID)
	}
	if info, err := fs.Stat(d.def.folder, p.Folder); err != nil || !info.IsDir() || p.Folder == "." {
		d.fail(b.DefRange(), "No folder of code", "The competition's folder has no folder %q; the code belongs there.", p.Folder)
		return
	}
	for _, f := range [][2]string{{"prepare", p.Prepare}, {"grade", p.Grade}} {
		if f[1] != "" {
			d.function(at(f[0]), f[0], f[1])
		}
	}
	for _, t := range [][2]string{{"prepare_timeout", p.PrepareTimeout}, {"grade_timeout", p.GradeTimeout}} {
		if limit, err := time.ParseDuration(t[1]); t[1] != "" && (err != nil || limit <= 0) {
			d.fail(at(t[0]), "Wrong value for "+t[0], "Write a time such as \"90s\" or \"12h\".")
		}
	}
	if err := errors.Join(pyenv.CheckName(p.Requirements), pyenv.CheckVersion(p.Version)); err != nil {
		d.fail(b.DefRange(), "Wrong packages", "%v.", err)
	}
	if p.MemoryMiB < 0 {
		d.fail(at("memory_mib"), "Wrong value for memory_mib", "Write a positive number of MiB.")
	}
	if p.Better != "" && p.Better != "higher" && p.Better != "lower" {
		d.fail(at("better"), "No direction", "Write better = \"higher\" or better = \"lower\".")
	}
}

// function checks the name of a function of the code, whose module must be a file of it.
func (d *decoder) function(at hcl.Range, what, name string) {
	if !functionForm.Regexp().MatchString(name) {
		d.fail(at, "Not a function", "Write module and function, such as %s = \"%s:%[1]s\".", what, what)
		return
	}
	module, function, _ := strings.Cut(name, ":")
	file := path.Join(d.def.Python.Folder, strings.ReplaceAll(module, ".", "/")+".py")
	text, err := fs.ReadFile(d.def.folder, file)
	switch {
	case err != nil:
		d.fail(at, "No such module", "The competition's folder has no file %s.", file)
	case !Defines(text, function):
		d.fail(at, "No such function", "%s defines no function %s.%s", file, function, suggestion(function, functions(text)))
	}
}

var defined = pattern.New(`(?m)^(?:(?:async[ \t]+)?def|class)[ \t]+([A-Za-z_]\w*)[ \t]*[(:]|^([A-Za-z_]\w*)[ \t]*=[^=]`)

// functions returns the names that a module of Python defines at its top.
func functions(module []byte) (names []string) {
	for _, m := range defined.Regexp().FindAllSubmatch(module, -1) {
		names = append(names, string(m[1])+string(m[2]))
	}
	return names
}

// Defines reports whether a module of Python may define a function. It reads the text and
// runs nothing.
func Defines(module []byte, function string) bool {
	imported := pattern.New(`(?ms)^from[ \t]+\S+[ \t]+import[^#]*?\b` + function + `\b`)
	return slices.Contains(functions(module), function) || imported.Regexp().Match(module)
}

func suggestion(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return " " + diag.Suggest(name, known)
}

// hashPython adds the code, the files of its packages, and the function that is used.
func (d *Definition) hashPython(h *digest.Hasher, function string) hcl.Diagnostics {
	p := d.Python
	h.String("python function", p.Function(function))
	h.String("python version", p.Version)
	for _, name := range []string{p.Folder, p.Requirements, pyenv.LockName(p.Requirements)} {
		err := fs.WalkDir(d.folder, name, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := fs.ReadFile(d.folder, name)
			h.Content("file "+name, digest.Of(data))
			return err
		})
		if err != nil && name != pyenv.LockName(p.Requirements) {
			return hcl.Diagnostics{diag.Error(p.Range, "Cannot read the competition's files", "%v.", err)}
		}
	}
	return nil
}
