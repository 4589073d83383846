package agentrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
)

// Copies of at least this size, or of this many files, get a warning.
const (
	manyBytes = 64 << 20
	manyFiles = 1000
)

// placeData gives the agent its data. Where the runtime isolates, they are links into
// the cache that the agent can only read. Elsewhere, a process of the same user could
// change the mode of such a link and write to the cache. There all attempts with the
// same data share one copy, which is checked afterwards.
func (s *setup) placeData(ctx context.Context) error {
	ref, err := s.describedData(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	files, bytes, err := s.shareData(ctx, ref, "data", &s.dirs.data)
	if err != nil {
		return err
	}
	if s.validates() {
		inputs := s.args.Validation.Inputs.Ref
		more, size, err := s.shareData(ctx, inputs, "validation", &s.dirs.validation)
		if err != nil {
			return err
		}
		files, bytes, ref.Files, ref.Size = files+more, bytes+size, ref.Files+inputs.Files, ref.Size+inputs.Size
	}
	s.env.Note("data: %s in place after %.1f s; copied: %s", amount(ref.Files, ref.Size), time.Since(began).Seconds(), amount(files, bytes))
	if bytes >= manyBytes || files >= manyFiles {
		s.env.Warn(fmt.Sprintf("the data were copied (%s), since %s", amount(files, bytes), s.whyCopied()))
	}
	return nil
}

func amount(files, bytes int64) string {
	return fmt.Sprintf("%d files with %d bytes", files, bytes)
}

func (a *attempt) whyCopied() string {
	if a.runtime.Isolates {
		return "they could not be linked: another user of the cache stored them, or they are on another file system"
	}
	return fmt.Sprintf("the runtime %q cannot keep agents from writing to the cache", a.runtime.Name)
}

// shareData places data as a folder of the home, at dir, which it changes to where they are.
// It returns the number and size of the copied files.
func (s *setup) shareData(ctx context.Context, ref cache.Ref, name string, dir *string) (files, bytes int64, err error) {
	tell := s.phases.placed(ref)
	if !s.runtime.Isolates {
		shared, err := s.env.Store.Share(ctx, ref, tell)
		switch {
		case err == nil:
			s.opened = append(s.opened, func(bool) error { return shared.Close() })
			s.shared, *dir = append(s.shared, shared), shared.Dir()
			tell(ref.Files, ref.Size)
			files, bytes = shared.Copied()
			return files, bytes, os.Symlink(*dir, filepath.Join(s.dirs.home, name))
		case !errors.Is(err, cache.ErrQuota) && !errors.Is(err, errors.ErrUnsupported):
			return 0, 0, err
		}
	}
	at := *dir
	opts := tree.Options{Mode: tree.Copy, Progress: func(r tree.Result) { tell(r.Files, r.Bytes) }}
	var made func(folders []string)
	if s.runtime.Isolates {
		opts.Mode = tree.Link
		var taken bool
		if taken, made, err = s.env.Store.TakeLinks(ctx, ref, at); err != nil {
			return 0, 0, err
		} else if taken {
			tell(ref.Files, ref.Size)
			s.passOnData(ref, at)
			return 0, 0, nil
		}
	}
	done, err := tree.Materialise(ctx, s.env.Store, ref, at, opts)
	if err == nil && made != nil && done.Linked == ref.Files {
		made(done.Folders)
		s.passOnData(ref, at)
	}
	return done.Copied + done.Cloned, done.BytesCopied, err
}

// passOnData leaves the links of this attempt to a later one. It does so only once the
// attempt has a result, because an agent that could not be stopped may still read them.
// An agent with capabilities may have remounted them for writing, so its links are not
// passed on.
func (s *setup) passOnData(ref cache.Ref, at string) {
	if len(s.sandbox.Capabilities) > 0 {
		return
	}
	s.opened = append(s.opened, func(bool) error {
		if !s.done {
			return nil
		}
		return s.env.Store.KeepLinks(ref, at)
	})
}

// checkData checks whether the agent changed data that other attempts read too. A
// change is the agent's fault only if no other attempt could have made it. Otherwise
// the attempt is void, and the next one gets its own copy.
func (f *finished) checkData(ctx context.Context) error {
	var all error
	for _, shared := range f.shared {
		all = errors.Join(all, f.checkShared(ctx, shared))
	}
	return all
}

func (f *finished) checkShared(ctx context.Context, shared cache.Shared) error {
	err := shared.Check(ctx)
	var changed *cache.ChangedError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &changed):
		return fmt.Errorf("check the data: %w", err)
	case changed.Shared:
		return step.Retryable(errors.New("the data were touched while several attempts read them, and it is unknown which one did it; "+
			"the attempt is void. From now on each attempt gets a copy of these data"), 0)
	case changed.What == "":
		f.env.Note("the agent touched its data (a mode, a link). Their content is unchanged, but no other attempt will get this copy")
	default:
		f.changed = true
		f.env.Note("the agent changed its data, which are read-only: %s; no other attempt will get this copy", changed.What)
	}
	return nil
}

// describedData stores the data together with the competition's description.
func (s *setup) describedData(ctx context.Context) (cache.Ref, error) {
	entries, err := s.described(ctx, s.env.Store, func(text []byte) (cache.Ref, error) { return cache.PutBytes(ctx, s.env.Store, text) })
	if err != nil {
		return cache.Ref{}, err
	}
	return tree.Put(ctx, s.env.Store, entries)
}

// described lists the data with the description, which put stores. A description in the
// data is replaced, except under the task own, where the author of the data may have
// written it.
func (a *attempt) described(ctx context.Context, store cache.Store, put func([]byte) (cache.Ref, error)) ([]tree.Entry, error) {
	entries, err := tree.Read(ctx, store, a.data().Ref)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(entries, func(e tree.Entry) bool { return e.Name == descriptionFile })
	var text cache.Ref
	switch {
	case a.args.Task != competitions.TaskOwn:
		if err := a.checkTexts(); err != nil {
			return nil, err
		}
		text = a.args.Texts.Description.Ref
	case i >= 0:
		return entries, nil
	default:
		if text, err = put(a.def.OwnDescription()); err != nil {
			return nil, err
		}
	}
	if i >= 0 {
		entries = slices.Delete(entries, i, i+1)
	}
	return append(entries, tree.NewEntry(descriptionFile, text, false)), nil
}

// Copies implements step.Copier.
func (a *attempt) Copies(ctx context.Context, store cache.Store) []step.Copy {
	if a.runtime.Isolates {
		return nil
	}
	c := step.Copy{Name: a.data().Name(), Shared: true, Why: a.whyCopied()}
	if !a.data().Ref.IsZero() {
		// Many attempts ask for the same tree.
		made, _ := a.deps.memo.LoadOrStore([2]digest.ContentID{a.data().Ref.ID, a.description}, sync.OnceValue(func() cache.Ref {
			entries, err := a.described(ctx, store, func(text []byte) (cache.Ref, error) {
				return cache.Ref{Kind: cache.Blob, ID: digest.Of(text), Size: int64(len(text))}, nil
			})
			if err != nil {
				return a.data().Ref // the texts are not available yet
			}
			_, ref, _ := tree.Encode(entries)
			return ref
		}))
		c.Ref = made.(func() cache.Ref)()
	}
	return []step.Copy{c}
}
