package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/named"
)

// Runtime is an Executor with its name and its guarantees.
type Runtime struct {
	// Name is the value of a runtime argument in the pipeline.
	Name string
	// Doc is one paragraph for the reference pages.
	Doc string
	// Isolates means that the guest cannot reach the host's files, processes and
	// network. If it is false, a step says so in its log.
	Isolates bool
	// Images means that a Spec needs an image.
	Images bool
	// MapsPaths means that the guest sees mounts at Mount.Guest.
	MapsPaths bool
	// Resumes means that the runtime supports Spec.Resume.
	Resumes bool
	// Left reports whether a dead process left a command under this ID that Run with
	// Spec.Resume would continue. End stops and removes that command. Both are nil if
	// Resumes is false.
	Left     func(ctx context.Context, id string) (bool, error)
	End      func(ctx context.Context, id string) error
	Executor Executor
	// Available reports whether the runtime can run commands on this machine for this
	// user. It may try, which takes at most a second and leaves nothing behind. It is
	// nil in runtimes that need nothing.
	Available func() Availability
	// ResolveImage returns the digest, "sha256:…", of a Spec's Image. It examines only
	// the name and files and uses neither the network nor a daemon. It is nil in
	// runtimes without images.
	ResolveImage func(image string) (string, error)
	// ProgramImage builds an image with only one static program of the host, as
	// /usr/bin/NAME, and returns it as a Spec's Image. An image of the same program is
	// built only once. It is nil in runtimes without images.
	ProgramImage func(ctx context.Context, program, name string) (string, error)
	// HostImage is the Spec's Image for a guest that sees the programs of this machine,
	// read-only, and nothing else of it. It is "" in runtimes that need a real image.
	HostImage string
	// HostProgram returns the reason why such a guest does not see a program of this
	// machine, or nil if it does.
	HostProgram func(name string) error
	// Volume mounts a file system of limited size at a folder of the host. It is nil in
	// runtimes that do not support volumes.
	Volume func(context.Context, VolumeSpec) (Volume, error)
	// Sweep removes the remains of dead processes from the machine that can no longer
	// be resumed. It is nil in runtimes that leave nothing.
	Sweep func(context.Context) error
}

// Availability reports whether a runtime can be used here.
type Availability struct {
	OK bool
	// Because is the finding in half a sentence: a version, or the missing requirement.
	Because string
	// Fix says how to meet the missing requirement; "" if none is missing.
	Fix string
}

// Here reports whether the runtime can run commands on this machine.
func (r Runtime) Here() Availability {
	if r.Available == nil {
		return Availability{OK: true, Because: "it needs nothing"}
	}
	return r.Available()
}

// VolumeSpec describes a volume.
type VolumeSpec struct {
	// Dir is the mount point, which is created if it does not exist. The volume hides
	// its content. The volume's own file is next to it.
	Dir string
	// Bytes is the size of the file system, including its metadata.
	Bytes int64
	// User is the owner of its root, as in Sandbox.User.
	User string
}

// Volume is a mounted volume. If a dead process left a volume mounted at the folder, it
// is taken over with its content. Sweep may remove one that a dead process left a day
// after its creation.
type Volume interface {
	// Close unmounts the volume and removes its content. Keep releases it instead, so
	// that a later process can take it over.
	Close() error
	Keep() error
}

// Path returns the path at which the guest sees the mount.
func (r Runtime) Path(m Mount) string {
	if r.MapsPaths {
		return m.Guest
	}
	return m.Host
}

// Registry is the set of runtimes that a process knows.
type Registry = named.Set[Runtime]

// NewRegistry returns a registry of the given runtimes. It panics on a duplicate or
// incomplete one, which is a programming error.
func NewRegistry(runtimes ...Runtime) *Registry {
	for _, rt := range runtimes {
		if rt.Doc == "" || rt.Executor == nil {
			panic(fmt.Sprintf("runtime %q is incomplete", rt.Name))
		}
	}
	return named.New("runtime", func(rt Runtime) string { return rt.Name }, runtimes...)
}

// Enclosed runs programs that come with content, such as a competition's metric: in the
// sandbox, where they see the programs of this machine and the Spec's mounts, and have
// no network. Where there is no sandbox, Otherwise runs them, without network if this
// user may create a network namespace. Mounts must have the same path on both sides.
type Enclosed struct {
	Sandbox   Runtime
	Otherwise Executor
}

// Isolates reports whether programs run in the sandbox.
func (e Enclosed) Isolates() bool { return e.Sandbox.Executor != nil && e.Sandbox.Here().OK }

// Run implements Executor.
func (e Enclosed) Run(ctx context.Context, spec Spec, logs io.Writer) (Exit, error) {
	if !e.Isolates() {
		if way := alone(); way != nil {
			limit := []string{"prlimit", "--nproc=" + strconv.Itoa(spec.Limits.Processes), "--"}
			spec.Command, spec.Limits.Processes = slices.Concat(way, limit, spec.Command), 0
		}
		return e.Otherwise.Run(ctx, spec, logs)
	}
	program := spec.Command[0]
	spec.Image, spec.Env = e.Sandbox.HostImage, maps.Clone(spec.Env)
	spec.Env["PATH"] = strings.TrimPrefix(spec.Env["PATH"]+":"+DefaultPath, ":")
	exit, err := e.Sandbox.Executor.Run(ctx, spec, logs)
	if hidden := e.Sandbox.HostProgram(program); hidden != nil && spec.Env["VIRTUAL_ENV"] == "" && (errors.Is(err, ErrStart) || err == nil && !exit.OK()) {
		_, _ = fmt.Fprintf(logs, "\n(The %s in PATH is outside of the sandbox that this ran in, which has the programs in /usr.)", program)
	}
	return exit, err
}

// alone begins a command that has no network, where the machine lets this user make
// namespaces, and is nil elsewhere. In a user namespace the limit of processes counts
// those within; outside, all that the user has. It does not hold root.
var alone = sync.OnceValue(func() []string {
	for _, way := range [][]string{{"unshare", "--net", "--"}, {"unshare", "--user", "--map-current-user", "--net", "--"}} {
		if exec.Command(way[0], append(slices.Clone(way[1:]), "true")...).Run() == nil { //nolint:gosec // fixed words
			return way
		}
	}
	return nil
})
