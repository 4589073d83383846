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
	codesFile     = "code_snapshots.jsonl"
)

// shot is a snapshot: a file or tree, and when it was taken.
type shot struct {
	Seconds int64     `json:"seconds"`
	Ref     cache.Ref `json:"ref"`
}

// shots are the snapshots kept so far. Their list outlives the process.
type shots struct {
	list  []shot
	notes *os.File
}

// build builds a tree of the snapshots. Each is at a folder named after its seconds, or
// below it.
func (s *shots) build(ctx context.Context, store cache.Store, below string) (cache.Ref, error) {
	var b tree.Builder
	seen := map[int64]bool{}
	for _, one := range s.list {
		if seen[one.Seconds] {
			continue
		}
		seen[one.Seconds] = true
		if err := b.Add(fmt.Sprintf("%09d", one.Seconds)+below, one.Ref, false); err != nil {
			return cache.Ref{}, err
		}
	}
	return b.Build(ctx, store)
}

// snapshots keeps copies of the submission over time. It only reads the agent's files,
// from outside, and the agent cannot notice it.
type snapshots struct {
	*place
	shots
	// last is the last file kept.
	last fs.FileInfo
}

// openSnapshots continues the list of an earlier process.
func openSnapshots(ctx context.Context, p *place) (*snapshots, error) {
	kept, err := openShots(ctx, p, snapshotsFile, has)
	return &snapshots{place: p, shots: kept}, err
}

// openShots reads the list of an earlier process and omits objects that are gone.
func openShots(ctx context.Context, p *place, name string, there func(context.Context, cache.Store, cache.Ref) bool) (kept shots, err error) {
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
		if there(ctx, p.env.Store, one.Ref) {
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

// run takes snapshots of the submission and the code until ctx ends.
func (s *snapshots) run(ctx context.Context, codes *codeSnapshots) {
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
		if err := codes.take(ctx); err != nil && ctx.Err() == nil {
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
	home, err := os.OpenRoot(s.dirs.home)
	if err != nil {
		return cache.Ref{}, err
	}
	defer home.Close()
	f, err := openSubmission(home)
	if f == nil || err != nil {
		return cache.Ref{}, err
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return cache.Ref{}, err
	case !before.Mode().IsRegular() || before.Size() == 0:
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
func (s *snapshots) bytes() (sum int64) {
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

// openSubmission opens the submission in the agent's home. It returns nil if there is
// none.
func openSubmission(home *os.Root) (*os.File, error) {
	if dir, err := home.Lstat("submission"); err != nil || !dir.IsDir() {
		return nil, nil //nolint:nilerr // a missing folder has no submission
	}
	dir, err := home.OpenRoot("submission")
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	defer dir.Close()
	if file, err := lookSubmission(dir); err != nil || !file.Mode().IsRegular() {
		return nil, nil //nolint:nilerr // as above
	}
	f, err := dir.OpenFile(agent.SubmissionFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return f, err
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

// tree builds the output "snapshots".
func (s *snapshots) tree(ctx context.Context) (cache.Ref, error) {
	return s.build(ctx, s.env.Store, "/"+agent.SubmissionFile)
}
