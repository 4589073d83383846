package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

const (
	// evidenceFile is the shim's journal, which the agent does not see. Beyond
	// evidenceBytes, entries are only counted.
	evidenceFile  = "shim.jsonl"
	evidenceBytes = 4 << 20
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

// openEvidence opens the shim's journal and returns the handler that fills it.
func (g *gates) openEvidence() (http.Handler, error) {
	if !g.args.Shim {
		return nil, nil //nolint:nilnil // there is no shim and no handler
	}
	var err error
	if g.evidence, err = service.OpenJournal(filepath.Join(g.dirs.host, evidenceFile), evidenceBytes, g.mask.JSON); err != nil {
		return nil, err
	}
	return shim.Handler(func(r shim.Record) { g.evidence.Add(g.shown(r)) }), nil
}

// shimLog stores the shim's reports, including those that it could not send and left in
// the logs.
func (g *gates) shimLog(ctx context.Context) (calls int, ref cache.Ref, err error) {
	if g.evidence == nil {
		ref, err = cache.PutBytes(ctx, g.env.Store, nil)
		return 0, ref, err
	}
	var late bytes.Buffer
	n := 0
	err = g.lateEvidence(func(r shim.Record) {
		if line, err := json.Marshal(g.shown(r)); err == nil {
			late.Write(append(g.mask.JSON(line), '\n'))
			n++
		}
	})
	if err != nil {
		return 0, ref, err
	}
	sent, err := nolink.Open(filepath.Join(g.dirs.host, evidenceFile))
	if err != nil {
		return 0, ref, fmt.Errorf("keep shim_log: %w", err)
	}
	defer sent.Close()
	if ref, err = cache.Put(ctx, g.env.Store, io.MultiReader(sent, &late), cache.Ref{}); err != nil {
		return 0, ref, fmt.Errorf("keep shim_log: %w", err)
	}
	return g.evidence.Lines() + n, ref, nil
}

// shown changes the path of an agent's file to the one in runtimes that map folders, so
// that no path of this machine is kept.
func (g *gates) shown(r shim.Record) shim.Record {
	for _, name := range []string{"", "data"} {
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
