package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// python is the environment of an attempt whose agent has packages.
type python struct {
	pyenv.Interpreter
	// packages is the folder with what is shared, and below venv the place where
	// site-packages are to be seen.
	packages, place string
	// host is the folder of a virtual environment of this machine, if that is shown.
	host string
}

// checkPython refuses packages in an image, which has a Python of its own.
func (a *attempt) checkPython() error {
	if a.args.Agent.Python != nil && a.args.hasImage() {
		return fmt.Errorf("agent %q has an image and a block python: install the packages in the image, or leave the image out", a.args.Agent.Name)
	}
	return nil
}

// placePython makes the virtual environment. Its packages are the cache's own files
// where the agent cannot change them, else one copy for all attempts.
func (s *session) placePython(ctx context.Context) error {
	of := s.args.Agent.Python
	if of == nil {
		return nil
	}
	if s.args.Agent.Venv != "" {
		host, err := pyenv.Inspect(ctx, s.args.Agent.Venv)
		s.python = &python{Interpreter: host.Interpreter, host: host.Dir}
		return err
	}
	p := &python{packages: filepath.Join(s.dirs.root, "packages")}
	if s.runtime.Isolates {
		if _, err := tree.Materialise(ctx, s.env.Store, of.Ref, p.packages, tree.Options{Mode: tree.Link}); err != nil {
			return err
		}
	} else {
		shared, err := s.env.Store.Share(ctx, of.Ref, func(int64, int64) {})
		if err != nil {
			return err
		}
		s.close = append(s.close, func(bool) error { return shared.Close() })
		p.packages = shared.Dir()
	}
	var err error
	if p.Interpreter, err = pyenv.For(ctx, p.packages); err != nil {
		return err
	}
	if p.place, err = pyenv.Venv(s.dirs.python, p.packages, p.Interpreter); err != nil {
		return err
	}
	s.python = p
	if s.runtime.MapsPaths {
		return nil
	}
	place := filepath.Join(s.dirs.python, p.place)
	return errors.Join(os.Remove(place), os.Symlink(filepath.Join(p.packages, "site-packages"), place))
}

func (s *session) venvMount() executor.Mount {
	if s.python.host != "" {
		return executor.Mount{Host: s.python.host, Guest: pyenv.Guest, ReadOnly: true}
	}
	return executor.Mount{Host: s.dirs.python, Guest: pyenv.Guest, ReadOnly: true}
}

// pythonMounts are the virtual environment, its packages and, where the machine's
// programs are not all of it, the interpreter.
func (s *session) pythonMounts() []executor.Mount {
	if s.python == nil || !s.runtime.MapsPaths {
		return nil
	}
	list := []executor.Mount{s.venvMount()}
	if s.python.host == "" {
		list = append(list, executor.Mount{Host: filepath.Join(s.python.packages, "site-packages"), Guest: filepath.Join(pyenv.Guest, s.python.place), ReadOnly: true})
	}
	if prefix := s.python.Prefix; prefix != "/usr" && !strings.HasPrefix(prefix, "/usr/") {
		list = append(list, executor.Mount{Host: prefix, Guest: prefix, ReadOnly: true})
	}
	return list
}
