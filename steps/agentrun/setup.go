package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// setup is an attempt whose folders contain everything that the agent needs.
type setup struct {
	*place
	// image is the agent's image; "" in runtimes without images.
	image string
	// shared are the data if other attempts read the same folder; otherwise nil.
	shared cache.Shared
	// python is the agent's virtual environment; nil if it has no packages.
	python *python
}

// setUp fills the folders, unless an earlier process did, and opens the gates. It returns
// nil if the attempt has its result already.
func (p *place) setUp(ctx context.Context) (*running, error) {
	if err := p.find(ctx); err != nil || p.points.result != nil {
		return nil, err
	}
	s := &setup{place: p}
	if err := s.findImage(ctx); err != nil {
		return nil, err
	}
	if err := s.mountVolume(ctx); err != nil {
		return nil, err
	}
	if !s.continued {
		if err := s.fill(ctx); err != nil {
			return nil, err
		}
		if err := s.points.layOut(ctx); err != nil {
			return nil, err
		}
		s.startedAt(time.Now())
	}
	return s.open(ctx)
}

// findImage chooses the agent's image: the one in its block or, for a built-in agent,
// one that contains only this program.
func (s *setup) findImage(ctx context.Context) (err error) {
	s.image = s.args.Agent.Image
	switch {
	case s.image != "" || !s.runtime.Images:
		return nil
	case s.args.Agent.Built != nil:
		return s.placeImage(ctx)
	case s.args.onHost(s.runtime):
		s.image = s.runtime.HostImage
		return nil
	}
	self, err := s.self()
	if err == nil {
		s.image, err = s.runtime.ProgramImage(ctx, self, BuiltIn)
	}
	return err
}

// self returns the path of this program.
func (a *attempt) self() (string, error) {
	if a.deps.Self != "" {
		return a.deps.Self, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	return self, nil
}

// placeImage copies an image that another step built to where the runtime can read it.
// An agent that continues still has it.
func (s *setup) placeImage(ctx context.Context) error {
	s.image = filepath.Join(s.dirs.root, "image.tar")
	if _, err := os.Lstat(s.image); err == nil {
		return nil
	}
	built := s.args.Agent.Built
	if built.Ref.Kind != cache.Blob {
		return fmt.Errorf("the image of agent %q, output %s of %s, is a tree; an image is one file, an OCI archive", s.args.Agent.Name, built.Output, built.From)
	}
	if _, err := tree.Materialise(ctx, s.env.Store, built.Ref, s.image, tree.Options{Mode: tree.Link}); err != nil {
		return fmt.Errorf("place the image of agent %q: %w", s.args.Agent.Name, err)
	}
	return nil
}

// mountVolume mounts the volume that limits the agent's files.
func (s *setup) mountVolume(ctx context.Context) error {
	if s.dirs.volume == "" {
		return nil
	}
	v, err := s.volume(ctx, s.dirs.volume, s.disk)
	if err != nil {
		return fmt.Errorf("limit the agent's disk: %w", err)
	}
	s.opened = append(s.opened, func(keep bool) error {
		if keep {
			return v.Keep()
		}
		return v.Close()
	})
	return nil
}

// fill creates the folders and places the data and texts.
func (s *setup) fill(ctx context.Context) error {
	if err := s.makeFolders(); err != nil {
		return fmt.Errorf("make agent's folders: %w", err)
	}
	if err := s.placeFiles(ctx); err != nil {
		return err
	}
	if err := s.placeData(ctx); err != nil {
		return fmt.Errorf("place data: %w", err)
	}
	if err := s.placePython(ctx); err != nil {
		return fmt.Errorf("place packages: %w", err)
	}
	if err := errors.Join(s.placeShim(), s.placeClient()); err != nil {
		return err
	}
	return s.writeTexts(ctx)
}

// makeFolders creates the folders that the agent may write to.
func (s *setup) makeFolders() error {
	if err := os.Mkdir(s.dirs.host, 0o700); err != nil {
		return err
	}
	list := []string{s.dirs.home, s.dirs.tmp}
	for _, name := range homeFolders {
		list = append(list, filepath.Join(s.dirs.home, name))
	}
	for _, dir := range list {
		if err := errors.Join(os.Mkdir(dir, 0o755), s.give(dir)); err != nil {
			return err
		}
	}
	return nil
}

// mounts are the host folders that the agent sees.
func (s *setup) mounts() []executor.Mount {
	list := []executor.Mount{
		{Host: s.dirs.home, Guest: "/home", CopyUp: true},
		{Host: s.dirs.data, Guest: "/home/data", ReadOnly: true},
		{Host: s.dirs.tmp, Guest: "/tmp"},
	}
	if s.args.Shim {
		list = append(list, s.dirs.shimMount())
	}
	if s.clientCopied() {
		list = append(list, s.dirs.clientMount())
	}
	if s.python != nil && s.runtime.MapsPaths {
		list = append(list, s.python.mounts()...)
	}
	return list
}
