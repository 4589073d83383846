package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
)

const (
	// maxFiles, maxPath and maxText bound the files of a manifest, the bytes of a path and
	// those of a variable or flag; maxTexts is how many of the latter there may be.
	maxFiles, maxPath, maxText, maxTexts = 20_000, 1 << 10, 64 << 10, 1000
	// maxPriority is the greatest priority; the least is its negative.
	maxPriority = 1000
)

// Submit queues a pipeline. The submission survives a crash once it is returned.
func (s *Service) Submit(_ context.Context, owner string, m Manifest) (sub Submission, err error) {
	if owner == "" {
		return sub, fmt.Errorf("%w: a submission needs an owner", ErrInvalid)
	}
	if err := m.check(); err != nil {
		return sub, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.subs {
		if m.Key != "" && e.Owner == owner && e.Manifest.Key == m.Key {
			return s.shown(e), nil
		}
	}
	if err := s.turns.Full(owner); err != nil {
		return sub, err
	}
	at := queue.Now()
	e := &entry{Manifest: m, Submission: Submission{
		ID: queue.NewID(at), Owner: owner, Pipeline: m.Pipeline, Name: m.Flags.Name, Priority: m.Priority, State: Queued, Submitted: at,
	}}
	dir, err := os.MkdirTemp(filepath.Join(s.dir, "queue"), ".new-")
	if err != nil {
		return sub, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	folder := filepath.Join(dir, submitted.FolderName)
	err = os.Mkdir(folder, 0o700)
	if err == nil {
		err = s.place(owner, m, folder)
	}
	if err == nil {
		err = queue.Write(filepath.Join(dir, manifestFile), m)
	}
	if err == nil {
		err = queue.Write(filepath.Join(dir, stateFile), e)
	}
	if err == nil {
		err = os.Rename(dir, s.queue(e.ID))
	}
	if err == nil {
		err = nolink.SyncDir(filepath.Join(s.dir, "queue"))
	}
	if err != nil {
		return sub, err
	}
	s.keep(e)
	s.turns.Enter(e)
	s.wake()
	return s.shown(e), nil
}

// check refuses a manifest whose files could lie outside their folder, or whose flags
// could be others than those of a submission.
func (m *Manifest) check() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("%d files are too many; a submission has at most %d", len(m.Files), maxFiles)
	}
	var size int64
	files, folders := map[string]bool{}, map[string]bool{}
	for _, f := range m.Files {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if _, err := digest.ParseContentID(f.Digest); err != nil {
			return fmt.Errorf("file %q: %w", f.Path, err)
		}
		if f.Size < 0 || f.Size > maxFile {
			return fmt.Errorf("file %q: a file has at most 4 GiB", f.Path)
		}
		size += f.Size
		if files[f.Path] {
			return fmt.Errorf("file %q is there twice", f.Path)
		}
		files[f.Path] = true
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	for dir := range folders {
		if files[dir] {
			return fmt.Errorf("%q is a file and a folder", dir)
		}
	}
	if size > maxFolder {
		return errors.New("the files have more than 16 GiB; data belong to a source or a remote cache")
	}
	if err := checkPath(m.Pipeline); err != nil {
		return err
	}
	if !strings.HasSuffix(m.Pipeline, ".hcl") || !files[m.Pipeline] && strings.Contains(m.Pipeline, "/") {
		return fmt.Errorf("the pipeline %q is not among the files", m.Pipeline)
	}
	for _, v := range m.Variables {
		if name, isFile := strings.CutPrefix(v, "@"); isFile && files[name] {
			continue
		}
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" || strings.HasPrefix(name, "-") {
			return fmt.Errorf("variable %.80q is not NAME=VALUE", v)
		}
	}
	f := m.Flags
	if f.Parallelism < 0 {
		return fmt.Errorf("parallelism %d is negative", f.Parallelism)
	}
	texts := slices.Concat(m.Variables, f.Targets, f.Retry, f.Force, f.Tags, []string{f.Attempt, f.Fork, f.FailOn, f.Name, f.Note, m.Key})
	if len(texts) > maxTexts {
		return fmt.Errorf("there are more than %d variables and flags", maxTexts)
	}
	for _, text := range texts {
		if len(text) > maxText || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%.80q has more than 64 KiB, or a zero byte", text)
		}
	}
	return checkPriority(m.Priority)
}

// checkPath refuses a path that is not the plain path of a file below a folder.
func checkPath(p string) error {
	switch {
	case p == "" || p == "." || len(p) > maxPath || !filepath.IsLocal(p) || path.Clean(p) != p || strings.Contains(p, `\`):
		return fmt.Errorf("%.80q is not a path below the pipeline's folder", p)
	case strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the path %.80q has characters that cannot be shown", p)
	case slices.Contains(strings.Split(p, "/"), ".git"):
		return fmt.Errorf("%q is a file of Git and may hold a token; leave it out", p)
	}
	return nil
}

func checkPriority(n int) error {
	if n < -maxPriority || n > maxPriority {
		return fmt.Errorf("%w: the priority %d is not between -%d and %d", ErrInvalid, n, maxPriority, maxPriority)
	}
	return nil
}

// args are the arguments of mleflow apply for a manifest.
func (m *Manifest) args(parallelism int) []string {
	args := []string{"apply", "--no-color", "--on-interrupt=stop", fmt.Sprintf("--parallelism=%d", parallelism)}
	each := func(flag string, values ...string) {
		for _, v := range values {
			if v != "" {
				args = append(args, "--"+flag+"="+v)
			}
		}
	}
	f := m.Flags
	for _, v := range m.Variables {
		if name, isFile := strings.CutPrefix(v, "@"); isFile {
			each("var-file", name)
		} else {
			each("var", v)
		}
	}
	each("target", f.Targets...)
	each("retry", f.Retry...)
	each("force", f.Force...)
	each("tag", f.Tags...)
	each("attempt", f.Attempt)
	each("fork", f.Fork)
	each("fail-on", f.FailOn)
	each("name", f.Name)
	each("note", f.Note)
	for flag, on := range map[string]bool{"keep-going": f.KeepGoing, "require-cached": f.RequireCached, "locked": f.Locked, "full": f.Full} {
		if on {
			each(flag, "true")
		}
	}
	if f.Rerun != nil {
		each("rerun", fmt.Sprint(*f.Rerun))
	}
	return append(args, "--", m.Pipeline)
}
