package grading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// Python are the packages of a metric that is a program: a file of requirements of the
// competition's folder, and the version of Python, "" for that of the machine. A lock
// file beside the requirements says what is installed.
type Python struct{ Requirements, Version string }

// Packages finds or makes the environment of requirements, in a new folder, and returns
// the virtual environment. Release ends its use.
type Packages func(ctx context.Context, r pyenv.Requirements, dir string) (venv string, release func() error, err error)

// install reads the requirements and has packages make their environment.
func (p *Python) install(ctx context.Context, def *competitions.Definition, packages Packages, dir string) (string, func() error, error) {
	if packages == nil {
		return "", nil, errors.New("the metric needs Python packages, which are not installed here")
	}
	r, err := p.read(def)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", nil, err
	}
	return packages(ctx, r, dir)
}

func (p *Python) read(def *competitions.Definition) (pyenv.Requirements, error) {
	r := pyenv.Requirements{
		Name: p.Requirements, Version: p.Version,
		Advice: fmt.Sprintf("run mleflow competition test %s, which writes it", def.ID),
	}
	text, err := fs.ReadFile(def.Folder(), p.Requirements)
	if err != nil {
		return r, err
	}
	r.Text = string(text)
	if lock, err := fs.ReadFile(def.Folder(), pyenv.LockName(p.Requirements)); err == nil {
		r.Lock = string(lock)
	}
	if def.Dir() != "" {
		r.LockPath = filepath.Join(def.Dir(), filepath.FromSlash(pyenv.LockName(p.Requirements)))
	}
	_, err = pyenv.Parse(r.Name, r.Text)
	if _, found := fs.Stat(def.Folder(), path.Join(path.Dir(p.Requirements), "uv.lock")); found == nil {
		err = errors.Join(err, fmt.Errorf("there is a uv.lock beside %s, which a metric does not follow: write uv export --format requirements-txt, and delete it", p.Requirements))
	}
	if r.Lock != "" {
		_, bad := pyenv.Pins(pyenv.LockName(r.Name), r.Lock)
		err = errors.Join(err, bad)
	}
	return r, err
}

// CheckLocked refuses a metric whose packages no lock file names, as far as that shows
// without looking at the Python of the machine.
func CheckLocked(def *competitions.Definition, metrics *metric.Registry, params map[string]cty.Value) error {
	plan, diags := Decode(def, metrics, params)
	if diags.HasErrors() || plan.Program == nil || plan.Program.Python == nil {
		return nil // what else is wrong is said in its turn
	}
	r, err := plan.Program.Python.read(def)
	if err == nil && !r.Locked() {
		err = r.Unlocked(cmp.Or(r.Version, "that of the machine"))
	}
	return err
}

// python decodes python = { … } of a program.
func (d *decoder) python(def *competitions.Definition, at hcl.Range, v cty.Value) *Python {
	const want = "Write python = { requirements = \"requirements.txt\" }, a file of the competition's folder, and version = \"3.11\" if it must be another Python than that of the machine."
	if v.IsNull() || !isObject(v) {
		d.fail(at, "Wrong value for python", want)
		return nil
	}
	p := &Python{}
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
		_, err = p.read(def)
	}
	if err != nil {
		d.fail(at, "Wrong value for python", "%s.", strings.TrimSuffix(err.Error(), "."))
	}
	return p
}
