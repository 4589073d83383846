package service

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
)

// Options say how a server runs submissions. The zero value is usable.
type Options struct {
	// Program is this program, os.Executable if it is empty.
	Program string
	// Runs is how many submissions run at a time, Parallelism how many steps all of them
	// run, and each has an equal part; 0 is 4 and the number of processors, or no limit on a
	// cluster.
	Runs, Parallelism int
	// Limits are those of an owner whom Owners does not name.
	Limits queue.Limits
	Owners map[string]queue.Limits
	// Secrets are what agents of submissions may have.
	Secrets []Secret
	// HostCode lets submissions run code with the rights of the server: steps of kind
	// exec and the runtime "process".
	HostCode bool
	// Hosts are private places that agents and models of submissions may reach, such as
	// "vllm.lab:8000"; "*" lets agents have the network of the machine.
	Hosts []string
	// Competitions are folders of competitions besides those that ship with mleflow.
	Competitions []string
	// On is a cluster file; RemoteCache is an address.
	On, RemoteCache string
	// Offline forbids downloads.
	Offline bool
	// Environ are variables NAME=VALUE for the processes that apply. They have no others
	// but PATH, HOME, which is empty, and those that name the machine's devices and
	// folders.
	Environ []string
	// Say is told what a person at the server should know; nil is nobody.
	Say func(string)
}

// Secret is a value that the server's administrator names. Submissions refer to it as
// "env:NAME".
type Secret struct {
	Name string
	// Ref says where the server finds it, such as "env:NAME" or "file:PATH".
	Ref string
	// Owners may use it; "*" is everyone.
	Owners []string
}

// Service keeps submissions and runs them. It is safe for concurrent use.
type Service struct {
	dir, cache string
	o          Options
	lock       *os.File

	mu   sync.Mutex
	subs map[string]*entry
	// runs has the submissions of runs.
	runs    map[string]*entry
	turns   queue.Turns[*entry]
	changed chan struct{}
	work    sync.WaitGroup
}

// entry is a submission in memory. All but what Service.mu guards is constant.
type entry struct {
	Submission
	Manifest Manifest `json:"-"`
	// Cancelling is how often somebody asked to end it while it ran.
	Cancelling int `json:"cancelling,omitempty"`
	// watched means that a goroutine of this process looks after it.
	watched bool
}

// Turn implements queue.Entry.
func (e *entry) Turn() queue.Turn {
	phase := map[State]queue.Phase{Queued: queue.Waiting, Running: queue.Active}[e.State]
	return queue.Turn{ID: e.ID, Owner: e.Owner, Priority: e.Priority, Phase: phase, Started: e.Started}
}

// secretName is the syntax of names of secrets, which are variables of the environment.
var secretName = pattern.New(`^[A-Z][A-Z0-9_]{0,63}$`)

func (o *Options) check() error {
	for _, s := range o.Secrets {
		own := slices.Contains([]string{"PATH", "HOME", "TMPDIR"}, s.Name) || strings.HasPrefix(s.Name, "MLEFLOW_") || strings.HasPrefix(s.Name, "LD_")
		if !secretName.Regexp().MatchString(s.Name) || own {
			return fmt.Errorf("secret %q: choose a name of capital letters, digits and _, which no program reads, such as OPENAI_API_KEY", s.Name)
		}
		if _, err := secret.ParseRef(s.Ref); err != nil {
			return fmt.Errorf("secret %s: %w", s.Name, err)
		}
	}
	if o.Program == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the running program: %w", err)
		}
		o.Program = self
	}
	o.Runs = cmp.Or(o.Runs, 4)
	if o.Parallelism == 0 && o.On == "" {
		o.Parallelism = runtime.NumCPU()
	}
	if o.Parallelism > 0 {
		o.Runs = min(o.Runs, o.Parallelism)
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return nil
}

// Open opens the queue in the cache folder dir. It refuses while another server holds it,
// and says which.
func Open(dir string, o Options) (*Service, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	made, err := disk.Open(dir, disk.Options{}) // a folder of the queue makes no cache
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		return nil, err
	}
	s := &Service{
		cache: nolink.Folder(dir), o: o, subs: map[string]*entry{}, runs: map[string]*entry{}, changed: make(chan struct{}),
	}
	s.turns = queue.Turns[*entry]{Parallel: o.Runs, Limits: s.limits, What: "submissions"}
	s.dir = filepath.Join(s.cache, "service")
	for _, name := range []string{"", "queue", "files"} {
		if err := queue.Folder(filepath.Join(s.dir, name)); err != nil {
			return nil, fmt.Errorf("open the queue: %w", err)
		}
	}
	if err := s.hold(); err != nil {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the queue: %w", err), s.Close())
	}
	return s, nil
}

// hold takes the lock of the only server of the cache.
func (s *Service) hold() error {
	path := filepath.Join(s.dir, "lock")
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the queue: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		who, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		f.Close()
		return fmt.Errorf("another server serves the cache %s: %s; end it, or name another cache with --cache-dir", s.cache, cmp.Or(strings.TrimSpace(string(who)), "one that has just been started"))
	}
	host, _ := os.Hostname()
	text := fmt.Sprintf("process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), errOf(f.WriteAt([]byte(text), 0))); err != nil {
		f.Close()
		return fmt.Errorf("open the queue: %w", err)
	}
	s.lock = f
	return nil
}

func errOf(_ int, err error) error { return err }

// Close gives the queue back. Run must have returned.
func (s *Service) Close() error { return s.lock.Close() }

func (s *Service) queue(id string, names ...string) string {
	return filepath.Join(append([]string{s.dir, "queue", id}, names...)...)
}

const (
	stateFile    = "submission.json"
	manifestFile = "manifest.json"
)

// load reads the submissions of earlier servers, and removes what a crash left half done.
func (s *Service) load() error {
	folders, err := os.ReadDir(filepath.Join(s.dir, "queue"))
	if err != nil {
		return err
	}
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), ".") {
			if err := os.RemoveAll(s.queue(f.Name())); err != nil {
				return err
			}
			continue
		}
		e := &entry{}
		err := cmp.Or(queue.Read(s.queue(f.Name(), stateFile), e), queue.Read(s.queue(f.Name(), manifestFile), &e.Manifest))
		if err == nil && e.ID != f.Name() {
			err = errors.New("it is a copy of another")
		}
		if err != nil {
			s.o.Say(fmt.Sprintf("The submission %s is left out: %v", f.Name(), err))
			continue
		}
		s.keep(e)
		s.turns.Enter(e)
	}
	return s.sweep()
}

// keep enters a submission into the maps.
func (s *Service) keep(e *entry) {
	s.subs[e.ID] = e
	for _, run := range e.Runs {
		s.runs[run] = e
	}
}

// change changes a submission, on disk before in memory, and tells everybody. The caller
// holds the lock.
func (s *Service) change(e *entry, do func(*entry)) error {
	next := *e
	next.Runs = slices.Clone(e.Runs)
	do(&next)
	if err := queue.Write(s.queue(e.ID, stateFile), next); err != nil {
		return fmt.Errorf("record submission %s: %w", e.ID, err)
	}
	s.turns.Change(e, func() { *e = next })
	s.keep(e)
	s.wake()
	return nil
}

func (s *Service) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns a channel that is closed when any submission changes next.
func (s *Service) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// List returns all submissions, newest first.
func (s *Service) List() []Submission {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Submission, 0, len(s.subs))
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.subs))) {
		list = append(list, s.shown(s.subs[id]))
	}
	return list
}

// shown is a submission for others, with what it waits for. The caller holds the lock.
func (s *Service) shown(e *entry) Submission {
	out := e.Submission
	out.Runs = slices.Clone(e.Runs)
	if e.State == Queued {
		if out.Waits = s.turns.Obstacle(e.Owner); out.Waits == "" && s.turns.Next() != e {
			out.Waits = "others are before it"
		}
	}
	return out
}

// Get returns a submission.
func (s *Service) Get(id string) (Submission, error) {
	return s.with(id, func(*entry) error { return nil })
}

// with does something with a submission, and returns what it is then.
func (s *Service) with(id string, do func(*entry) error) (Submission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.subs[id]
	if e == nil {
		return Submission{}, ErrUnknown
	}
	err := do(e)
	return s.shown(e), err
}

// SetPriority changes the priority of a submission that has not ended.
func (s *Service) SetPriority(id string, n int) (Submission, error) {
	if err := checkPriority(n); err != nil {
		return Submission{}, err
	}
	return s.with(id, func(e *entry) error {
		if e.State.Over() {
			return ErrOver
		}
		return s.change(e, func(e *entry) { e.Priority = n })
	})
}

// Publish lets anybody read the runs of a submission, or nobody any more.
func (s *Service) Publish(id string, public bool) (Submission, error) {
	return s.with(id, func(e *entry) error { return s.change(e, func(e *entry) { e.Public = public }) })
}

// Cancel takes a submission out of the queue, or ends its run and the agents of it. The
// second time, it does not wait until they have ended.
func (s *Service) Cancel(id string) (Submission, error) {
	return s.with(id, func(e *entry) error {
		switch e.State {
		case Queued:
			err := s.change(e, func(e *entry) { e.State, e.Ended = Cancelled, queue.Now() })
			if err == nil {
				err = s.clear(e.ID)
			}
			return err
		case Running:
			return s.change(e, func(e *entry) { e.Cancelling++ })
		default:
			return ErrOver
		}
	})
}

// Continue queues a submission again that has ended, such as one whose run was paused or
// failed. The next run takes from the cache what earlier ones finished.
func (s *Service) Continue(id string) (Submission, error) {
	return s.with(id, func(e *entry) error {
		if !e.State.Over() {
			return ErrLives
		}
		err := cmp.Or(s.turns.Full(e.Owner), s.clear(id), submitted.Place(s.queue(id)).Reopen())
		if err == nil {
			err = s.place(e.Owner, e.Manifest, s.queue(id, submitted.FolderName))
		}
		if err != nil {
			return err
		}
		return s.change(e, func(e *entry) {
			e.State, e.Exit, e.Cancelling, e.Started, e.Ended = Queued, 0, 0, time.Time{}, time.Time{}
		})
	})
}

// OfRun returns the submission of a run, for its owner and whether it is public. ok is
// false for runs that nobody submitted.
func (s *Service) OfRun(run string) (sub Submission, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.runs[run]
	if e == nil {
		return sub, false
	}
	return s.shown(e), true
}

// OwnerOf returns who submitted a run, "" if nobody did.
func (s *Service) OwnerOf(run string) string {
	sub, _ := s.OfRun(run)
	return sub.Owner
}

// Output opens what a submission printed: its standard output or, with messages, its
// standard error. It grows while the submission runs.
func (s *Service) Output(id string, messages bool) (io.ReadCloser, error) {
	if _, err := s.Get(id); err != nil {
		return nil, err
	}
	name := outputFile
	if messages {
		name = messagesFile
	}
	f, err := nolink.Open(s.queue(id, name))
	if errors.Is(err, fs.ErrNotExist) {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return f, err
}
