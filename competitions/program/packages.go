package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// Python are the packages of a program: a file of requirements of the
// competition's folder, and the version of Python, "" for that of the machine. A lock
// file beside the requirements says what is installed.
type Python struct{ Requirements, Version string }

// Packages finds or makes the environment of requirements, in a new folder, and returns
// the virtual environment. Release ends its use.
type Packages func(ctx context.Context, r pyenv.Requirements, dir string) (venv string, release func() error, err error)

// Install reads the requirements and has packages make their environment.
func (p *Python) Install(ctx context.Context, def *competitions.Definition, packages Packages, dir string) (string, func() error, error) {
	if packages == nil {
		return "", nil, errors.New("the program needs Python packages, which are not installed here")
	}
	r, err := p.Read(def)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", nil, err
	}
	return packages(ctx, r, dir)
}

// Read reads the requirements and their lock.
func (p *Python) Read(def *competitions.Definition) (pyenv.Requirements, error) {
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

// CheckLocked refuses packages that no lock file names, as far as that shows without
// looking at the Python of the machine.
func (p *Python) CheckLocked(def *competitions.Definition) error {
	r, err := p.Read(def)
	if err == nil && !r.Locked() {
		err = r.Unlocked(cmp.Or(p.Version, "that of the machine"))
	}
	return err
}
