package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

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
		s.python.mounts, err = host.Parts(pyenv.Guest)
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
	packages := filepath.Join(s.dirs.root, "packages")
	if _, err := tree.Materialise(ctx, s.env.Store, of.Ref, packages, tree.Options{Mode: tree.Link}); err != nil {
		return err
	}
	i, err := pyenv.For(ctx, packages)
	if err != nil {
		return err
	}
	place, err := pyenv.Venv(s.dirs.python, packages, i)
	site := executor.Mount{Host: filepath.Join(packages, "site-packages"), Guest: filepath.Join(pyenv.Guest, place), ReadOnly: true}
	s.python = &python{dir: s.dirs.python}
	s.python.mounts = append([]executor.Mount{s.python.mount(), site}, i.Needs()...)
	return err
}

func (p *python) mount() executor.Mount {
	return executor.Mount{Host: p.dir, Guest: pyenv.Guest, ReadOnly: true}
}

const (
	// shimGuest is the path of the shim for isolated agents.
	shimGuest = "/home/.mlebench"
)

func (a *attempt) fingerprintShim(h *digest.Hasher) error {
	if !a.args.Shim {
		return nil
	}
	t, err := a.shimTask()
	if err != nil {
		return err
	}
	id, err := t.Digest()
	if err == nil {
		h.Content("package mlebench", id)
	}
	return err
}

// placeShim writes the shim next to the agent's home, where it is not harvested.
func (s *setup) placeShim() error {
	if !s.args.Shim {
		return nil
	}
	t, err := s.shimTask()
	if err != nil {
		return err
	}
	return t.Write(s.dirs.shim)
}

// shimTask describes the benchmark for the shim. It includes the sets whose names are
// all in the catalog, and nothing about answers.
func (a *attempt) shimTask() (shim.Task, error) {
	name, _ := strings.CutPrefix(a.def.Layout.Sample, "public/")
	if name == a.def.Layout.Sample {
		name = ""
	}
	t := shim.Task{
		Competition: shim.Competition{
			ID: a.def.ID, Name: a.def.Title, Type: a.def.Facts.Kind, Metric: a.def.Facts.MetricName,
			Sample: name, LowerIsBetter: a.def.Medals.LowerIsBetter,
		},
		IDs: a.known(), Sets: map[string][]string{},
	}
	for _, set := range competitions.SetNames() {
		if set == string(competitions.Own) {
			continue
		}
		ids, err := a.deps.Catalog.Set(competitions.Set(set))
		if err != nil {
			return t, err
		}
		t.Sets[set] = ids
	}
	t.Sets["split75"] = t.Sets["all"]
	return t, nil
}

// known returns the competitions that ship and the attempt's own. Other competitions of
// the user are irrelevant to the attempt and its key.
func (a *attempt) known() []string {
	ids := a.deps.Catalog.Published()
	if at, found := slices.BinarySearch(ids, a.def.ID); !found {
		ids = slices.Insert(ids, at, a.def.ID)
	}
	return ids
}

// searchPaths puts the shim first, then the programs of the agent's packages.
func (s *setup) searchPaths() map[string]string {
	paths := map[string]string{}
	if s.python != nil {
		paths["PATH"] = filepath.Join(s.runtime.Path(s.python.mount()), "bin")
	}
	if s.args.Shim {
		root := s.runtime.Path(s.dirs.shimMount())
		paths["PYTHONPATH"] = filepath.Join(root, shim.Python)
		paths["PATH"] = strings.TrimSuffix(filepath.Join(root, shim.Commands)+":"+paths["PATH"], ":")
	}
	return paths
}

func (l layout) shimMount() executor.Mount {
	return executor.Mount{Host: l.shim, Guest: shimGuest, ReadOnly: true}
}

// evidenceHandler returns the handler that fills the shim's journal; nil without a shim.
func (g *gates) evidenceHandler() http.Handler {
	if g.evidence == nil {
		return nil
	}
	return shim.Handler(func(r shim.Record) { g.evidence.Add(g.shown(r)) })
}

// shimLog stores the shim's reports, including those that it could not send and left in
// the logs, and counts them.
func (g *gates) shimLog(ctx context.Context, calls *int) (cache.Ref, error) {
	if g.evidence == nil {
		return cache.PutBytes(ctx, g.env.Store, nil)
	}
	var late bytes.Buffer
	*calls = g.evidence.Lines()
	err := g.lateEvidence(func(r shim.Record) {
		if line, err := json.Marshal(g.shown(r)); err == nil {
			late.Write(append(g.mask.JSON(line), '\n'))
			*calls++
		}
	})
	if err != nil {
		return cache.Ref{}, err
	}
	return g.stored(ctx, evidenceFile, late.Bytes())
}

// shown changes the path of an agent's file to the one in runtimes that map folders, so
// that no path of this machine is kept.
func (g *gates) shown(r shim.Record) shim.Record {
	for _, name := range []string{"", "data", "validation"} {
		if rest, ok := strings.CutPrefix(r.File, g.at(name)+"/"); ok {
			r.File = filepath.Join("/home", name, rest)
		}
	}
	return r
}

// lateEvidence reads the file that the shim writes when its server does not answer.
// Like everything that agents leave, it may be a link, a pipe, or missing.
func (g *gates) lateEvidence(add func(shim.Record)) error {
	home, err := os.OpenRoot(g.dirs.home)
	if err != nil {
		return fmt.Errorf("read %s: %w", shim.Fallback, err)
	}
	defer home.Close()
	name := filepath.Join("logs", shim.Fallback)
	info, err := home.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is %s", nolink.Kind(info.Mode()))
	}
	if err == nil {
		err = readLate(home, name, add)
	}
	if err != nil {
		g.env.Note("%s in the logs is not read: %v", shim.Fallback, g.mask.Error(err))
	}
	return nil
}

func readLate(home *os.Root, name string, add func(shim.Record)) error {
	f, err := home.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return shim.Late(f, add)
}
