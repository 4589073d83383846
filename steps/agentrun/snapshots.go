package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
)

const (
	// shortestInterval is the shortest time between two snapshots.
	shortestInterval = time.Second
	// maxSnapshots limits the number of snapshots, maxSnapshot the size of one, and
	// allSnapshots the total size of the distinct ones.
	maxSnapshots = 5000
	maxSnapshot  = 2 << 30
	allSnapshots = 16 << 30
	// snapshotTries is how many times a file is read if it changes meanwhile.
	snapshotTries = 5
)

// The lists of snapshots outlive the process.
const (
	snapshotsFile = "snapshots.jsonl"
	// submissionShot is the path of a submission below the folder of its time.
	submissionShot = "/" + agent.SubmissionFile
	codesFile      = "code_snapshots.jsonl"
)

// shot is a snapshot: a file or tree, and when it was taken.
type shot struct {
	Seconds int64     `json:"seconds"`
	Ref     cache.Ref `json:"ref"`
}

// shots are the snapshots kept so far. Their list outlives the process.
type shots struct {
	*place
	list  []shot
	notes *os.File
	// below is the path of a snapshot in the folder that is named after its seconds, or "".
	below string
}

// tree builds a tree of the snapshots.
func (s *shots) tree(ctx context.Context, store cache.Store) (cache.Ref, error) {
	var b tree.Builder
	seen := map[int64]bool{}
	for _, one := range s.list {
		if seen[one.Seconds] {
			continue
		}
		seen[one.Seconds] = true
		if err := b.Add(fmt.Sprintf("%09d", one.Seconds)+s.below, one.Ref, false); err != nil {
			return cache.Ref{}, err
		}
	}
	return b.Build(ctx, store)
}

// snapshots keeps copies of the submission over time. It only reads the agent's files,
// from outside, and the agent cannot notice it.
type snapshots struct {
	shots
	// last is the last file kept.
	last fs.FileInfo
	// codes are copies of the agent's code. Whenever a snapshot of the submission is due
	// and the code has changed, there is one. A file that is being written is kept as it
	// was read.
	codes shots
}

// openSnapshots continues the lists of an earlier process.
func openSnapshots(ctx context.Context, p *place) (*snapshots, error) {
	files, err := openShots(ctx, p, snapshotsFile, submissionShot)
	codes, codesErr := openShots(ctx, p, codesFile, "")
	return &snapshots{shots: files, codes: codes}, errors.Join(err, codesErr)
}

// openShots reads the list of an earlier process and omits objects that are gone.
func openShots(ctx context.Context, p *place, name, below string) (kept shots, err error) {
	kept = shots{place: p, below: below}
	if p.every == 0 {
		return kept, nil
	}
	if kept.notes, err = nolink.OpenFile(filepath.Join(p.dirs.host, name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return kept, fmt.Errorf("keep snapshots: %w", err)
	}
	p.opened = append(p.opened, func(bool) error { return kept.notes.Close() })
	data, err := io.ReadAll(kept.notes)
	if err != nil {
		return kept, fmt.Errorf("keep snapshots: %w", err)
	}
	for _, one := range parseShots(data) {
		if whole(ctx, p.env.Store, one.Ref) {
			kept.list = append(kept.list, one)
		}
	}
	return kept, nil
}

// parseShots reads the lines of a list.
func parseShots(data []byte) (list []shot) {
	for line := range bytes.Lines(data) {
		var one shot
		if json.Unmarshal(line, &one) == nil {
			list = append(list, one)
		}
	}
	return list
}

// has reports whether an object that no record holds is still in the store.
func has(ctx context.Context, store cache.Store, ref cache.Ref) bool {
	r, err := store.Open(ctx, ref.ID)
	return err == nil && r.Close() == nil
}

// whole is has for a file, or a tree with all that is below it.
func whole(ctx context.Context, store cache.Store, ref cache.Ref) bool {
	lacks := func(e tree.Entry) error {
		if !whole(ctx, store, e.Ref()) {
			return fs.ErrNotExist
		}
		return nil
	}
	return has(ctx, store, ref) && (ref.Kind != cache.Tree || tree.Each(ctx, store, ref, lacks) == nil)
}

// run takes snapshots of the submission and the code until ctx ends.
func (s *snapshots) run(ctx context.Context) {
	if s.every == 0 {
		return
	}
	for {
		if progress.Sleep(ctx, s.every-s.elapsed()%s.every) != nil {
			return
		}
		if err := s.take(ctx); err != nil && ctx.Err() == nil {
			s.env.Note("no snapshot after %d s: %v", int64(s.elapsed().Seconds()), s.mask.Error(err))
		}
		if err := s.codes.takeCode(ctx); err != nil && ctx.Err() == nil {
			s.env.Note("no snapshot of the code after %d s: %v", int64(s.elapsed().Seconds()), s.mask.Error(err))
		}
	}
}

// errChanging means that a file changed while it was read.
var errChanging = errors.New("the submission is being written")

// take keeps the current submission, if there is one.
func (s *snapshots) take(ctx context.Context) error {
	if len(s.list) >= maxSnapshots {
		return fmt.Errorf("there are %d already", maxSnapshots)
	}
	at := int64(s.elapsed().Seconds())
	var ref cache.Ref
	var err error
	for try := range snapshotTries {
		if ref, err = s.read(ctx); !errors.Is(err, errChanging) {
			break
		}
		if err := progress.Sleep(ctx, min(s.every/8, time.Second<<try)); err != nil {
			return err
		}
	}
	if err != nil || ref.IsZero() {
		return err
	}
	return s.add(shot{Seconds: at, Ref: ref})
}

func (s *shots) add(one shot) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	s.list = append(s.list, one)
	_, err = s.notes.Write(append(line, '\n'))
	return err
}

// read stores the submission. It returns the zero Ref if there is none, and errChanging
// if the file changed while it was read.
func (s *snapshots) read(ctx context.Context) (cache.Ref, error) {
	f, before, err := s.dirs.openSubmission()
	if f == nil || err != nil {
		return cache.Ref{}, err
	}
	defer f.Close()
	switch {
	case before.Size() == 0:
		return cache.Ref{}, nil
	case before.Size() > min(maxSnapshot, s.storable()):
		return cache.Ref{}, fmt.Errorf("it has %d bytes", before.Size())
	case s.last != nil && same(s.last, before):
		return s.list[len(s.list)-1].Ref, nil
	case before.Size() > min(allSnapshots, s.storable())-s.bytes():
		return cache.Ref{}, fmt.Errorf("with its %d bytes the snapshots would have more than they may", before.Size())
	}
	ref, err := cache.Put(ctx, s.env.Store, io.LimitReader(f, maxSnapshot), cache.Ref{})
	if err != nil {
		return cache.Ref{}, err
	}
	after, err := f.Stat()
	if err != nil || !same(before, after) {
		return cache.Ref{}, errChanging
	}
	s.last = before
	return ref, nil
}

// bytes is the total size of distinct snapshots.
func (s *shots) bytes() (sum int64) {
	seen := map[cache.Ref]bool{}
	for _, one := range s.list {
		if !seen[one.Ref] {
			seen[one.Ref] = true
			sum += one.Ref.Size
		}
	}
	return sum
}

// same reports whether two results of Stat show the same unmodified file.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// openSubmission opens the submission in the agent's home, and describes it. It returns
// nil if there is none, or something other than a file.
func (l layout) openSubmission() (*os.File, fs.FileInfo, error) {
	home, err := os.OpenRoot(l.home)
	if err != nil {
		return nil, nil, err
	}
	defer home.Close()
	if dir, err := home.Lstat("submission"); err != nil || !dir.IsDir() {
		return nil, nil, nil //nolint:nilerr // a missing folder has no submission
	}
	dir, err := home.OpenRoot("submission")
	if err != nil {
		return nil, nil, nil //nolint:nilerr // as above
	}
	defer dir.Close()
	if file, err := lookSubmission(dir); err != nil || !file.Mode().IsRegular() {
		return nil, nil, nil //nolint:nilerr // as above
	}
	f, err := dir.OpenFile(agent.SubmissionFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, fs.ErrPermission) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// lookSubmission describes the submission in its folder. It is the only file of an
// agent that may be a link: a relative one to a file in the folder. The root rejects
// all others.
func lookSubmission(dir *os.Root) (fs.FileInfo, error) {
	info, err := dir.Lstat(agent.SubmissionFile)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return info, err
	}
	if file, err := dir.Stat(agent.SubmissionFile); err == nil && file.Mode().IsRegular() {
		return file, nil
	}
	return info, nil
}

// Limits of the code snapshots: for one copy, and for all distinct copies.
var (
	codeCaps = caps{bytes: 16 << 20, entries: 2000, depth: 16}
	allCode  = int64(512 << 20)
)

// takeCode keeps the current code, unless it equals the last copy.
func (c *shots) takeCode(ctx context.Context) error {
	left := min(allCode, c.storable()) - c.bytes()
	if len(c.list) >= maxSnapshots || left <= 0 {
		return nil // what there is shows the beginning; the end is the output "code"
	}
	at := int64(c.elapsed().Seconds())
	home, err := os.OpenRoot(c.dirs.home)
	if err != nil {
		return err
	}
	defer home.Close()
	h := &harvester{store: c.env.Store, mask: c.mask, budget: left, live: true, taken: func(int64) {}}
	var b tree.Builder
	if _, err := h.harvest(ctx, home, kept{name: "code", caps: codeCaps}, &b); err != nil {
		return err
	}
	ref, err := b.Build(ctx, c.env.Store)
	if err != nil {
		return err
	}
	if ref.Files == 0 || len(c.list) > 0 && c.list[len(c.list)-1].Ref.ID == ref.ID {
		return nil
	}
	c.phases.note(step.Running, func(now *step.Phase) { now.Code = ref })
	return c.add(shot{Seconds: at, Ref: ref})
}
