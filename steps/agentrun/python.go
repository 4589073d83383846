package agentrun

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// python is the Python environment of an attempt whose agent has packages.
type python struct {
	// dir is the folder of the virtual environment.
	dir string
	// packages is the folder with the attempt's links to its packages, and place their
	// mount point below dir. Both are empty if dir contains the packages itself.
	packages, place string
	// shown are the parts of a virtual environment of this machine and of the
	// interpreter that the agent is to see.
	shown []pyenv.Part
}

// checkPython rejects packages for an image, which has a Python of its own.
func (a *attempt) checkPython() error {
	if a.args.Agent.Python != nil && a.args.hasImage() {
		return fmt.Errorf("agent %q has an image and a block python: install the packages in the image, or leave the image out", a.args.Agent.Name)
	}
	return nil
}

// placePython creates the virtual environment. Its packages are the cache's own files
// where the agent cannot change them, and otherwise one copy for all attempts.
func (s *setup) placePython(ctx context.Context) error {
	of := s.args.Agent.Python
	if of == nil {
		return nil
	}
	if s.args.Agent.Venv != "" {
		host, err := pyenv.Inspect(s.args.Agent.Venv)
		if err != nil {
			return err
		}
		s.python = &python{dir: host.Dir}
		s.python.shown, err = host.Parts(pyenv.Guest)
		return err
	}
	if !s.runtime.MapsPaths {
		venv, release, err := pyenv.Place(ctx, s.env.Store, of.Ref, s.dirs.python)
		if err != nil {
			return err
		}
		s.opened = append(s.opened, func(bool) error { return release() })
		s.python = &python{dir: venv}
		return nil
	}
	p := &python{dir: s.dirs.python, packages: filepath.Join(s.dirs.root, "packages")}
	if _, err := tree.Materialise(ctx, s.env.Store, of.Ref, p.packages, tree.Options{Mode: tree.Link}); err != nil {
		return err
	}
	i, err := pyenv.For(ctx, p.packages)
	if err != nil {
		return err
	}
	p.shown = i.Needs()
	p.place, err = pyenv.Venv(p.dir, p.packages, i)
	s.python = p
	return err
}

func (p *python) mount() executor.Mount {
	return executor.Mount{Host: p.dir, Guest: pyenv.Guest, ReadOnly: true}
}

// mounts are the virtual environment, its packages and, unless the machine's programs
// include it, what is needed of the interpreter's installation.
func (p *python) mounts() (list []executor.Mount) {
	if p.packages != "" {
		list = append(list, p.mount(), executor.Mount{Host: filepath.Join(p.packages, "site-packages"), Guest: filepath.Join(pyenv.Guest, p.place), ReadOnly: true})
	}
	for _, part := range p.shown {
		list = append(list, executor.Mount{Host: part.Host, Guest: part.At, ReadOnly: true})
	}
	return list
}
