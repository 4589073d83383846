package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/named"
)

// Runtime is an Executor with its name and what it promises.
type Runtime struct {
	// Name is the value of a runtime argument in the pipeline.
	Name string
	// Doc is one paragraph for the reference pages.
	Doc string
	// Isolates says that the guest cannot reach the host's files, processes
	// and network. Where it is false, a step says so in its log.
	Isolates bool
	// Images says that a Spec needs an image.
	Images bool
	// MapsPaths says that the guest sees mounts at Mount.Guest.
	MapsPaths bool
	// Resumes says that the runtime honours Spec.Resume.
	Resumes bool
	// Left reports whether a dead process left a command under this ID that
	// Run with Spec.Resume would continue, and End ends and removes that. They are
	// nil where Resumes is false.
	Left     func(ctx context.Context, id string) (bool, error)
	End      func(ctx context.Context, id string) error
	Executor Executor
	// Available says whether the runtime can run commands on this machine for
	// this user. It may try, which takes a second at most and leaves nothing. It
	// is nil in runtimes that need nothing.
	Available func() Availability
	// ResolveImage returns the digest of the image that a Spec's Image names,
	// "sha256:…", by looking at the name and at files only: neither network
	// nor daemon. It is nil in runtimes without images.
	ResolveImage func(image string) (string, error)
	// ProgramImage makes an image of one static program of the host alone, as
	// /usr/bin/NAME, and returns it as a Spec's Image; the same program is made
	// once. It is nil in runtimes without images.
	ProgramImage func(ctx context.Context, program, name string) (string, error)
	// HostImage is a Spec's Image that stands for the programs of this machine, seen
	// read-only, and nothing else of it. It is "" in runtimes that need a real one.
	HostImage string
	// HostProgram says why a program of this machine is not among those, nil if it is.
	HostProgram func(name string) error
	// Volume mounts a file system of limited size at a folder of the host. It
	// is nil in runtimes that cannot.
	Volume func(context.Context, VolumeSpec) (Volume, error)
	// Sweep removes what dead processes left on the machine and nobody may
	// resume any more. It is nil in runtimes that leave nothing.
	Sweep func(context.Context) error
}

// Availability says whether a runtime can be used here.
type Availability struct {
	OK bool
	// Because is what was found: a version, or what is missing. Half a sentence.
	Because string
	// Fix says how to get what is missing; empty if nothing is.
	Fix string
}

// Here says whether the runtime can run commands on this machine.
func (r Runtime) Here() Availability {
	if r.Available == nil {
		return Availability{OK: true, Because: "it needs nothing"}
	}
	return r.Available()
}

// VolumeSpec says which volume to mount.
type VolumeSpec struct {
	// Dir is where; it is made if it is missing. What it holds is hidden by the
	// volume. The volume's own file is next to it.
	Dir string
	// Bytes is the size of the file system, its own bookkeeping included.
	Bytes int64
	// User owns its root, as in Sandbox.User.
	User string
	// Until is when a volume that a dead process left may be swept away; the
	// zero time is a day after it was made.
	Until time.Time
}

// Volume is a mounted volume. One that a dead process left mounted at the
// folder is taken over with what it holds.
type Volume interface {
	// Resumed reports whether it was taken over.
	Resumed() bool
	// Close unmounts it and removes what it holds. Keep lets go of it instead,
	// so that a later process may take it over.
	Close() error
	Keep() error
}

// Path returns where the guest sees the mount.
func (r Runtime) Path(m Mount) string {
	if r.MapsPaths {
		return m.Guest
	}
	return m.Host
}

// Registry is the set of runtimes a process knows.
type Registry = named.Set[Runtime]

// NewRegistry returns the registry of the given runtimes. It panics on a
// duplicate or incomplete one: the list is written by programmers.
func NewRegistry(runtimes ...Runtime) *Registry {
	for _, rt := range runtimes {
		if rt.Doc == "" || rt.Executor == nil {
			panic(fmt.Sprintf("runtime %q is incomplete", rt.Name))
		}
	}
	return named.New("runtime", func(rt Runtime) string { return rt.Name }, runtimes...)
}
