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

// What is copied is worth a warning from either of these on.
const (
	manyBytes = 64 << 20
	manyFiles = 1000
)

// placeData gives the agent its data. Where the runtime isolates, they are links
// into the cache which the agent can only read. Elsewhere nothing keeps a process
// of the same user from changing the mode of such a link and writing to the cache:
// there all attempts with the same data read one copy, which is looked at
// afterwards.
func (s *setup) placeData(ctx context.Context) error {
	ref, err := s.describedData(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	files, bytes, err := s.shareData(ctx, ref)
	if err != nil {
		return err
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
	return fmt.Sprintf("the runtime %q cannot keep agents from writing to the cache", a.runtime.Name)
}

// shareData places the data and returns how much was copied.
func (s *setup) shareData(ctx context.Context, ref cache.Ref) (files, bytes int64, err error) {
	tell := s.phases.placed(ref)
	if !s.runtime.Isolates {
		s.shared, err = s.env.Store.Share(ctx, ref, tell)
		switch {
		case err == nil:
			s.opened = append(s.opened, func(bool) error { return s.shared.Close() })
			s.dirs.data = s.shared.Dir()
			tell(ref.Files, ref.Size)
			files, bytes = s.shared.Copied()
			return files, bytes, os.Symlink(s.dirs.data, filepath.Join(s.dirs.home, "data"))
		case !errors.Is(err, cache.ErrQuota) && !errors.Is(err, errors.ErrUnsupported):
			return 0, 0, err
		}
	}
	opts := tree.Options{Mode: tree.Copy, Progress: func(r tree.Result) { tell(r.Files, r.Bytes) }}
	if s.runtime.Isolates {
		opts.Mode = tree.Link
		if taken, err := s.env.Store.TakeLinks(ctx, ref, s.dirs.data); err != nil {
			return 0, 0, err
		} else if taken {
			tell(ref.Files, ref.Size)
			s.passOnData(ref)
			return 0, 0, nil
		}
	}
	done, err := tree.Materialise(ctx, s.env.Store, ref, s.dirs.data, opts)
	if err == nil && s.runtime.Isolates && done.Linked == ref.Files {
		s.passOnData(ref)
	}
	return done.Copied + done.Cloned, done.BytesCopied, err
}

// passOnData leaves the links of this attempt to a later one, once it has a result:
// an agent that could not be stopped may still read them. One with capabilities may
// have mounted them for writing.
func (s *setup) passOnData(ref cache.Ref) {
	if len(s.sandbox.Capabilities) > 0 {
		return
	}
	s.opened = append(s.opened, func(bool) error {
		if !s.done {
			return nil
		}
		return s.env.Store.KeepLinks(ref, s.dirs.data)
	})
}

// checkData looks whether the agent changed the data that others read, too. What it
// did to them is its own fault only if nobody else could have done it: otherwise
// the attempt is void, and the next has data of its own.
func (f *finished) checkData(ctx context.Context) error {
	if f.shared == nil {
		return nil
	}
	err := f.shared.Check(ctx)
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

// descriptionFile is where agents look for the text of the competition.
const descriptionFile = "description.md"

// describedData stores the data with the competition's description next to
// them.
func (s *setup) describedData(ctx context.Context) (cache.Ref, error) {
	entries, err := s.described(ctx, s.env.Store, func(text []byte) (cache.Ref, error) { return cache.PutBytes(ctx, s.env.Store, text) })
	if err != nil {
		return cache.Ref{}, err
	}
	return tree.Put(ctx, s.env.Store, entries)
}

// described lists the data with the description, which put stores. One that they
// bring is left under the task own only: it may be what an author wrote.
func (a *attempt) described(ctx context.Context, store cache.Store, put func([]byte) (cache.Ref, error)) ([]tree.Entry, error) {
	entries, err := tree.Read(ctx, store, a.args.Data.Ref)
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
	c := step.Copy{Name: a.args.Data.Name(), Shared: true, Why: a.whyCopied()}
	if !a.args.Data.Ref.IsZero() {
		// Many attempts ask for the same.
		made, _ := a.memo.LoadOrStore([2]digest.ContentID{a.args.Data.Ref.ID, a.description}, sync.OnceValue(func() cache.Ref {
			entries, err := a.described(ctx, store, func(text []byte) (cache.Ref, error) {
				return cache.Ref{Kind: cache.Blob, ID: digest.Of(text), Size: int64(len(text))}, nil
			})
			if err != nil {
				return a.args.Data.Ref // the texts are not there yet
			}
			_, ref, _ := tree.Encode(entries)
			return ref
		}))
		c.Ref = made.(func() cache.Ref)()
	}
	return []step.Copy{c}
}
