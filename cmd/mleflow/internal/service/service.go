package service

import (
	"context"
	"errors"
	"io"
)

// Options say how a server runs submissions. The zero value is usable.
type Options struct {
	// Program is this program, os.Executable if it is empty.
	Program string
	// Runs is how many submissions run at a time, Parallelism how many steps all of them
	// run; 0 is 4 and the number of processors.
	Runs, Parallelism int
	// Limits are those of an owner whom Owners does not name.
	Limits Limits
	Owners map[string]Limits
	// Secrets are what agents of submissions may have.
	Secrets []Secret
	// HostCode lets submissions run code with the rights of the server: runtime
	// "process", commands of publish, check and the like.
	HostCode bool
	// Competitions are folders of competitions besides those that ship with mleflow.
	Competitions []string
	// On is a cluster file; RemoteCache is an address.
	On, RemoteCache string
	// Offline forbids downloads.
	Offline bool
	// Environ are variables NAME=VALUE for the processes that apply, besides PATH, HOME
	// and those of mleflow that name the machine's devices and sandboxes.
	Environ []string
	// Say is told what a person at the server should know; nil is nobody.
	Say func(string)
}

// Limits bound what one owner has at a time. Zeros do not bound.
type Limits struct {
	Queued, Running, Parallelism, GPUs int
	// Weight is the owner's share against others'; 0 is 1.
	Weight float64
}

// Secret is a value that the server's administrator names. Submissions refer to it as
// "secret:NAME".
type Secret struct {
	Name string
	// Ref says where the server finds it, such as "env:NAME" or "file:PATH".
	Ref string
	// Owners may use it; "*" is everyone.
	Owners []string
}

// Service keeps submissions and runs them. It is safe for concurrent use.
type Service struct{}

// Open opens the queue in the cache folder dir. It refuses while another server holds it,
// and says which.
func Open(dir string, o Options) (*Service, error) { return nil, errors.ErrUnsupported }

// Close gives the queue back. Run must have returned.
func (s *Service) Close() error { return nil }

// Run starts what is queued until the context ends. Then it ends the runs as an interrupt
// does: isolated agents go on, and the next server continues.
func (s *Service) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Missing returns those digests of which owner has not sent the content. Content that only
// others sent, or that the cache has, is missing: to know a digest gives no right to a file.
func (s *Service) Missing(ctx context.Context, owner string, digests []string) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// Put takes a content of owner. It refuses one of another digest.
func (s *Service) Put(ctx context.Context, owner, digest string, r io.Reader) error {
	return errors.ErrUnsupported
}

// Submit queues a pipeline. The submission survives a crash once it is returned.
func (s *Service) Submit(ctx context.Context, owner string, m Manifest) (Submission, error) {
	return Submission{}, errors.ErrUnsupported
}

// List returns all submissions, newest first.
func (s *Service) List() []Submission { return nil }

// Get returns a submission.
func (s *Service) Get(id string) (Submission, error) { return Submission{}, ErrUnknown }

// Cancel takes a submission out of the queue, or ends its run and the agents of it.
func (s *Service) Cancel(id string) (Submission, error) { return Submission{}, ErrUnknown }

// SetPriority changes the priority of a submission that has not ended.
func (s *Service) SetPriority(id string, n int) (Submission, error) {
	return Submission{}, ErrUnknown
}

// Publish lets anybody read the runs of a submission, or nobody any more.
func (s *Service) Publish(id string, public bool) (Submission, error) {
	return Submission{}, ErrUnknown
}

// OfRun returns the submission of a run, for its owner and whether it is public. ok is
// false for runs that nobody submitted.
func (s *Service) OfRun(run string) (sub Submission, ok bool) { return Submission{}, false }

// OwnerOf returns who submitted a run, "" if nobody did.
func (s *Service) OwnerOf(run string) string { sub, _ := s.OfRun(run); return sub.Owner }

// Output opens what a submission printed: its standard output or, with messages, its
// standard error. It grows while the submission runs.
func (s *Service) Output(id string, messages bool) (io.ReadCloser, error) { return nil, ErrUnknown }

// Changed returns a channel that is closed when any submission changes next.
func (s *Service) Changed() <-chan struct{} { return nil }
