package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/event"
)

// ErrNoRun means that there is no such run.
var ErrNoRun = errors.New("no such run")

// errNoRuns is ErrNoRun for a run history without runs.
var errNoRuns = fmt.Errorf("%w: nothing has been applied with this cache", ErrNoRun)

// Store is a folder with runs and the states of pipelines.
type Store struct {
	dir   string
	facts func() map[string]string
}

// New returns the run history in a folder, which need not exist yet.
func New(dir string) *Store { return &Store{dir: nolink.Folder(dir)} }

// Describe sets a function that returns Info.Environment. Each run has it at the latest
// when it is closed.
func (l *Store) Describe(facts func() map[string]string) { l.facts = facts }

func (l *Store) runs() string { return filepath.Join(l.dir, "runs") }

// Info describes a run at its beginning.
type Info struct {
	ID string `json:"id"`
	// Pipeline is the absolute path of the pipeline's file.
	Pipeline string `json:"pipeline"`
	// Name is the pipeline's name for people.
	Name string   `json:"name,omitempty"`
	Argv []string `json:"argv,omitempty"`
	// Variables are the values of non-sensitive variables in JSON.
	Variables map[string]json.RawMessage `json:"variables,omitempty"`
	// SavedPlan is the digest of the saved plan that was applied, if any.
	SavedPlan string `json:"saved_plan,omitempty"`
	// Version is the version of mleflow.
	Version string `json:"version,omitempty"`

	Host        string   `json:"host,omitempty"`
	OS          string   `json:"os,omitempty"`
	CPUs        float64  `json:"cpus,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	GPUs        []string `json:"gpus,omitempty"`
	PID         int      `json:"pid,omitempty"`
	// Environment has further facts about the program and the machine by name,
	// such as the processor and the digest of the binary.
	Environment map[string]string `json:"environment,omitempty"`

	Started time.Time `json:"started"`
	// Resumed is the earlier, unfinished run of the pipeline, if any.
	Resumed string `json:"resumed,omitempty"`
}

// State is the state of a run.
type State string

// The states of a run.
const (
	// Running: its process is alive.
	Running State = "running"
	// Finished: all steps succeeded.
	Finished State = "finished"
	// Failed: it ended with failures.
	Failed State = "failed"
	// Paused: a person paused it, to continue it later.
	Paused State = "paused"
	// Cancelled: a person stopped it.
	Cancelled State = "cancelled"
	// Interrupted: its process was killed.
	Interrupted State = "interrupted"
	// Unreadable: its folder is damaged, or belongs to another user.
	Unreadable State = "unreadable"
)

// Entry is a run in a list.
type Entry struct {
	Info
	About
	State State `json:"state"`
	// User is the name or number of the user whose run it is, as the file system says.
	User string `json:"user,omitempty"`
	// Finish is the last event of a run that was not killed.
	Finish *event.RunFinished `json:"finish,omitempty"`
}

// PipelineName is the name that lists show for the pipeline of a run.
func (e Entry) PipelineName() string {
	if e.Pipeline == "" {
		return "?"
	}
	return filepath.Base(e.Pipeline)
}

// List returns all runs, newest first, and those that began in the future at the end. Of an unreadable run, only the ID and
// the time in it are known. Other folders are skipped.
func (l *Store) List() ([]Entry, error) {
	ids, err := l.ids()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	entries := make([]Entry, 0, len(ids))
	for _, id := range ids {
		p, err := l.open(id)
		if err == nil {
			entries = append(entries, p.Entry())
		} else if started, ok := idTime(id); ok && !errors.Is(err, fs.ErrNotExist) {
			entries = append(entries, Entry{Info: Info{ID: id, Started: started}, State: Unreadable, User: userOf(filepath.Join(l.runs(), id))})
		}
	}
	soon := soon()
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(last(a.Started.After(soon), b.Started.After(soon)), b.Started.Compare(a.Started))
	})
	return entries, nil
}

// userOf returns the name of the user to whom a file belongs; "" if there is none.
func userOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	uid, _ := nolink.Owner(info)
	return nolink.UserName(uid)
}

// OfOthers reports whether a run is another user's.
func (e Entry) OfOthers() bool { return e.User != "" && e.User != nolink.UserName(os.Geteuid()) }

// IDs returns the IDs of all runs, newest first, without reading the runs.
func (l *Store) IDs() ([]string, error) {
	ids, err := l.ids()
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return ids, nil
}

// Open opens the run with exactly this ID, or returns ErrNoRun.
func (l *Store) Open(id string) (*Past, error) {
	if id == "" || len(id) > 255 || strings.HasPrefix(id, ".") || strings.ContainsAny(id, "/\\\x00") {
		return nil, fmt.Errorf("open run %.60q: %w", id, ErrNoRun)
	}
	p, err := l.open(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open run %q: %w", id, ErrNoRun)
	}
	return p, err
}

func (l *Store) ids() ([]string, error) {
	found, err := os.ReadDir(l.runs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	runs := lists.Where(found, func(f os.DirEntry) bool { return f.IsDir() && !strings.HasPrefix(f.Name(), ".") })
	ids := lists.Of(runs, os.DirEntry.Name)
	soon := soon().Format(idLayout)
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(last(a > soon, b > soon), cmp.Compare(b, a)) })
	return ids, nil
}

// soon is the time after which a run cannot have begun: the clock was ahead then, or it is
// behind now. Such runs come after all others, so that "latest" is the last one.
func soon() time.Time { return time.Now().UTC().Add(time.Hour) }

// last compares two runs of which one may have to come after all others.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Find opens a run by its ID, a unique prefix of its ID, or its unique name.
// "latest" and "" mean the newest run, and "latest~N" the Nth run before it.
// The error is ErrNoRun, or it names the candidates.
func (l *Store) Find(ref string) (*Past, error) {
	ids, err := l.ids()
	if err != nil {
		return nil, fmt.Errorf("find run: %w", err)
	}
	if ref == "" || ref == "latest" {
		return l.newest(ids)
	}
	if back, ok := strings.CutPrefix(ref, "latest~"); ok {
		n, err := strconv.Atoi(back)
		if err != nil || n < 0 || n >= len(ids) {
			return nil, fmt.Errorf("find run %.60q: %w", ref, ErrNoRun)
		}
		return l.newest(ids[n:])
	}
	all := slices.Clone(ids)
	match := slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, ref) })
	if len(match) == 0 {
		if match = l.named(ref, all); len(match) > 1 {
			return nil, fmt.Errorf("find run %.60q: %d runs have that name, the newest is %s; write an id", ref, len(match), match[0])
		}
	}
	switch {
	case slices.Contains(match, ref):
		return l.open(ref)
	case len(match) == 1:
		return l.open(match[0])
	case len(match) > 1:
		return nil, fmt.Errorf("find run %.60q: %d runs start with it, the newest is %s; write more of the id", ref, len(match), match[0])
	}
	return nil, fmt.Errorf("find run %.60q: %w", ref, ErrNoRun)
}

func (l *Store) newest(ids []string) (*Past, error) {
	for _, id := range ids {
		p, err := l.open(id)
		if _, ok := idTime(id); err == nil || ok && !errors.Is(err, fs.ErrNotExist) {
			return p, err // "latest" must not mean an older run
		}
	}
	return nil, fmt.Errorf("find latest run: %w", errNoRuns)
}

// idLayout is the layout of the time in an ID.
const idLayout = "20060102T150405Z"

// idTime returns the time in an ID. ok is false for other names.
func idTime(id string) (t time.Time, ok bool) {
	second, _, _ := strings.Cut(id, "-")
	t, err := time.Parse(idLayout, second)
	return t, err == nil
}

// newID returns an ID that sorts by time to the millisecond: the second, then
// four hexadecimal digits made of the millisecond and a random number.
func newID(t time.Time) string {
	t = t.UTC()
	fraction := t.Nanosecond()/1e6*65 + rand.IntN(65)
	return fmt.Sprintf("%s-%04x", t.Format(idLayout), fraction)
}
