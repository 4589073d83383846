package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
)

const (
	outputFile   = "output.txt"
	messagesFile = "messages.txt"
	homeName     = "home"
	// look is how often the server looks at processes that an earlier one started.
	look = 500 * time.Millisecond
	// maxDeaths is how often a submission's process may be killed before it ends.
	maxDeaths = 3
	// killed is the exit status of a submission whose process was killed again and again.
	killed = 137
)

// Run starts what is queued until the context ends. The processes of submissions go on
// without the server, and the next one finds them: their runs notice nothing.
func (s *Service) Run(ctx context.Context) error {
	defer s.work.Wait()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		err := s.start(ctx)
		s.mu.Unlock()
		if err != nil { // such as a full disk, which may pass
			s.o.Say("Submissions cannot be started: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.sweep(); err != nil {
				s.o.Say("Old files of submissions cannot be removed: " + err.Error())
			}
		case <-changed:
		}
	}
}

// start looks after the submissions that run, and starts those whose turn it is. The
// caller holds the lock.
func (s *Service) start(ctx context.Context) error {
	for _, e := range s.subs {
		if e.State == Running && !e.watched {
			s.watch(ctx, e)
		}
	}
	for {
		e := s.turns.Next()
		if e == nil {
			return nil
		}
		if err := s.change(e, func(e *entry) { e.State, e.Started = Running, queue.Now() }); err != nil {
			return err
		}
		s.watch(ctx, e)
	}
}

// limits are those of an owner. Running is at least 1.
func (s *Service) limits(owner string) queue.Limits {
	l, ok := s.o.Owners[owner]
	if !ok {
		l = s.o.Limits
	}
	l.Running = cmp.Or(l.Running, s.o.Runs)
	for _, most := range []int{l.Parallelism, l.GPUs} { // each run may have one
		if most > 0 {
			l.Running = min(l.Running, most)
		}
	}
	return l
}

// part is what one of at most n runs gets of a limit, which is at least n: 0 of no limit.
func part(limit, n int) int {
	if limit <= 0 {
		return limit
	}
	return max(1, limit/n)
}

// parallelism is how many steps a submission runs at a time: what it asks for, at most an
// equal part of the server's limit and of the owner's.
func (s *Service) parallelism(e *entry) int {
	l, n := s.limits(e.Owner), 0
	for _, most := range []int{part(s.o.Parallelism, s.o.Runs), part(l.Parallelism, l.Running), e.Manifest.Flags.Parallelism} {
		if most > 0 && (n == 0 || most < n) {
			n = most
		}
	}
	return n
}

// watch looks after a submission that runs until it has ended or the context ends. The
// caller holds the lock.
func (s *Service) watch(ctx context.Context, e *entry) {
	e.watched = true
	s.work.Go(func() {
		exit, ended, err := s.follow(ctx, e)
		s.mu.Lock()
		defer s.mu.Unlock()
		e.watched = false
		if err != nil {
			s.o.Say(fmt.Sprintf("The submission %s of %s cannot run: %v", e.ID, e.Owner, err))
			s.note(e.ID, err)
		}
		if !ended {
			return
		}
		err = s.change(e, func(e *entry) {
			e.State, e.Exit, e.Ended = Ended, exit, queue.Now()
			if e.Cancelling > 0 {
				e.State = Cancelled
			}
		})
		if err = errors.Join(err, s.clear(e.ID)); err != nil {
			s.o.Say(err.Error())
		}
	})
}

// note adds why a submission cannot run to what it said.
func (s *Service) note(id string, why error) {
	f, err := nolink.OpenFile(s.queue(id, messagesFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(f, "Error: the server cannot run it: %v\n", why)
		f.Close()
	}
}

// follow runs a submission to its end: by a process of an earlier server as long as one
// lives, and by processes of its own.
func (s *Service) follow(ctx context.Context, e *entry) (exit int, ended bool, err error) {
	place := submitted.Place(s.queue(e.ID))
	told := 0
	for deaths := 0; ; {
		for _, alive := place.Alive(); alive; _, alive = place.Alive() {
			s.noteRun(e, place)
			told = s.tell(e, place, told)
			select {
			case <-ctx.Done():
				return 0, false, nil
			case <-time.After(look):
			}
		}
		s.noteRun(e, place)
		if exit, ended := place.Exit(); ended {
			return exit, true, nil
		}
		switch {
		case ctx.Err() != nil:
			return 0, false, nil
		case s.cancelling(e) > 0:
			return 130, true, nil
		case deaths == maxDeaths:
			return killed, true, fmt.Errorf("its process was killed %d times", deaths)
		}
		done, err := s.launch(ctx, e)
		if err != nil {
			return 1, true, err
		}
		deaths++
		for waiting := true; waiting; {
			select {
			case <-done:
				waiting = false
			case <-ctx.Done():
				return 0, false, nil
			case <-time.After(look):
				s.noteRun(e, place)
				told = s.tell(e, place, told)
			}
		}
	}
}

func (s *Service) cancelling(e *entry) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.Cancelling
}

// tell asks the process of a submission to end, as often as somebody asked for it, and
// returns how often it has.
func (s *Service) tell(e *entry, place submitted.Place, told int) int {
	pid, alive := place.Alive()
	if !alive || pid <= 1 || s.cancelling(e) <= told {
		return told
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.o.Say(fmt.Sprintf("The process of %s cannot be ended: %v", e.ID, err))
	}
	return told + 1
}

// noteRun enters the run that a submission's process has begun.
func (s *Service) noteRun(e *entry, place submitted.Place) {
	run := place.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	if run == "" || run == e.Submission.Run {
		return
	}
	if err := s.change(e, func(e *entry) { e.Submission.Run, e.Runs = run, append(e.Runs, run) }); err != nil {
		s.o.Say(err.Error())
	}
}

// launch starts the process of a submission, in a process group of its own, so that it
// outlives the server. done is closed when it has ended.
func (s *Service) launch(ctx context.Context, e *entry) (done chan struct{}, err error) {
	l := s.limits(e.Owner)
	rules := submitted.Rules{HostCode: s.o.HostCode, Hosts: s.o.Hosts, RemoteCache: s.o.RemoteCache, GPUs: part(l.GPUs, l.Running)}
	env := s.environ(e.ID)
	for _, one := range s.o.Secrets {
		if !slices.Contains(one.Owners, e.Owner) && !slices.Contains(one.Owners, "*") {
			continue
		}
		ref, err := secret.ParseRef(one.Ref)
		if err != nil {
			return nil, err
		}
		value, err := ref.Resolve(ctx)
		if err != nil {
			s.o.Say(fmt.Sprintf("The secret %s is not there for %s: %v", one.Name, e.Owner, err))
			continue
		}
		rules.Secrets, env = append(rules.Secrets, one.Name), append(env, one.Name+"="+value)
	}
	place := submitted.Place(s.queue(e.ID))
	if err := place.Prepare(rules); err != nil {
		return nil, err
	}
	cmd := exec.Command(s.o.Program, s.args(e)...)
	cmd.Dir, cmd.Env = place.Folder(), append(env, submitted.Variable+"="+string(place), "MLEFLOW_CONFIG=none")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for _, name := range []string{outputFile, messagesFile} {
		f, err := nolink.OpenFile(s.queue(e.ID, name), os.O_TRUNC|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done = make(chan struct{})
	go func() { // not waited for by Run: the process may outlive it
		defer close(done)
		_ = cmd.Wait() // the process notes its own end
	}()
	return done, nil
}

// args is the command line of a submission's process. It has nothing of the submission
// but the values of flags of a closed list.
func (s *Service) args(e *entry) []string {
	args := e.Manifest.args(s.parallelism(e))
	more := []string{"--cache-dir=" + s.cache, "--remote-cache=" + cmp.Or(s.o.RemoteCache, "none"), "--on=" + cmp.Or(s.o.On, "none")}
	for _, dir := range s.o.Competitions {
		more = append(more, "--competitions="+dir)
	}
	if s.o.Offline {
		more = append(more, "--offline")
	}
	return slices.Insert(args, 1, more...)
}

// passed are the variables of the server's environment that its processes have, too.
var passed = []string{
	"PATH", "TMPDIR", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR", "CONTAINERD_ADDRESS", "MLEFLOW_CONTAINERD",
	"MLEFLOW_DEVICES", "MLEFLOW_LEASES", "MLEFLOW_CACHE_QUOTA",
}

func (s *Service) environ(id string) []string {
	env := []string{"HOME=" + s.queue(id, homeName)}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, s.o.Environ...)
}
