package agentrun

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/shipped"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// setUp fills the folders, unless an earlier process did, and opens the gates. It returns
// nil if the attempt has its result already.
func (p *place) setUp(ctx context.Context) (*running, error) {
	if err := p.find(ctx); err != nil || p.points.result != nil {
		return nil, err
	}
	s := &setup{place: p}
	parts := []func(context.Context) error{s.findImage, s.mountVolume}
	if !s.continued {
		parts = append(parts, s.fill, s.points.layOut)
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	if !s.continued {
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
	if err := errors.Join(s.placeShim(), s.placeClient(), s.show()); err != nil {
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
	if s.validates() {
		list = append(list, executor.Mount{Host: s.dirs.validation, Guest: "/home/validation", ReadOnly: true})
	}
	if s.args.Shim {
		list = append(list, s.dirs.shimMount())
	}
	if s.clientCopied() {
		list = append(list, executor.Mount{Host: s.dirs.client(), Guest: clientGuest, ReadOnly: true})
	}
	if s.python != nil && s.runtime.MapsPaths {
		list = append(list, s.python.mounts...)
	}
	return list
}

// show lets the agent's user read the folders that are neither his nor the cache's.
func (s *setup) show() (err error) {
	if !s.runtime.MapsPaths {
		return nil
	}
	for _, dir := range []string{s.dirs.shim, s.dirs.client(), s.dirs.python} {
		if bad := executor.Readable(dir); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	return err
}

// placeFiles copies the agent's files into its own folder, where its command starts.
// The agent may change the copies.
func (s *setup) placeFiles(ctx context.Context) error {
	if len(s.args.Agent.Files) == 0 {
		return nil
	}
	dir := filepath.Join(s.dirs.home, "agent")
	ref, err := step.FilesTree(ctx, s.env.Store, s.args.Agent.Files)
	if err != nil {
		return err
	}
	if _, err := tree.Materialise(ctx, s.env.Store, ref, dir, tree.Options{Mode: tree.Copy, Writable: true}); err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return s.give(path)
	})
}

// workFolder is the folder in which the agent's command starts.
func (a *attempt) workFolder() string {
	if len(a.args.Agent.Files) > 0 {
		return "agent"
	}
	return ""
}

// An agent that speaks ACP is started by a client in its sandbox, which is this program.
// The sandbox hides the program itself, since it has the shipped competitions with
// thresholds, leaderboards and data. The client is therefore a copy without them.
const (
	clientGuest = "/home/.mleflow"
	clientFile  = "acp"
)

// placeClient writes the copy.
func (s *setup) placeClient() error {
	if !s.clientCopied() {
		return nil
	}
	program, err := s.deps.client()
	if err != nil {
		return fmt.Errorf("copy the client of ACP: %w", err)
	}
	return errors.Join(os.Mkdir(s.dirs.client(), 0o755), os.WriteFile(filepath.Join(s.dirs.client(), clientFile), program, 0o755)) //nolint:gosec // the agent runs it
}

// clientCopied reports whether the client is a copy. Without isolation, it is the
// running binary.
func (a *attempt) clientCopied() bool { return a.args.speaksACP() && a.runtime.MapsPaths }

func (l layout) client() string { return filepath.Join(l.root, "client") }

// emptied returns the copy of a program.
func emptied(program string) ([]byte, error) {
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	return data, emptyCompetitions(data)
}

// notStarted returns an error if the client could not start the agent's program.
func (r *running) notStarted(exit executor.Exit) error {
	if !r.args.speaksACP() || exit.Code != acp.NotStarted {
		return nil
	}
	return executor.Unstartable(fmt.Errorf("the program %q cannot be started; its output says why", r.args.program()))
}

// emptyCompetitions overwrites the content of the shipped competitions in a program. It
// returns an error if a file is not there as it is, since it may then be there in
// another form.
func emptyCompetitions(program []byte) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if s := file.Section(".rodata"); s != nil { // embedded files are there
		program = program[s.Offset : s.Offset+s.FileSize]
	}
	done := map[digest.ContentID]bool{}
	return fs.WalkDir(shipped.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := shipped.FS.ReadFile(path)
		id := digest.Of(content)
		if err != nil || done[id] {
			return err
		}
		for from := 0; ; from += len(content) {
			at := bytes.Index(program[from:], content)
			if at < 0 {
				break
			}
			from += at
			clear(program[from : from+len(content)])
			done[id] = true
		}
		if !done[id] {
			return fmt.Errorf("the program does not have the content of %s", path)
		}
		return nil
	})
}
