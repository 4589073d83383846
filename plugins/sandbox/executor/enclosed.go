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
)

// Enclosed runs programs that come with content, such as a competition's metric: in the
// sandbox, where they see the programs of this machine and the Spec's mounts, and have
// no network. Where there is no sandbox, Otherwise runs them, without network if this
// user may create a network namespace. Mounts must have the same path on both sides.
type Enclosed struct {
	Sandbox   Runtime
	Otherwise Executor
}

// Run implements Executor.
func (e Enclosed) Run(ctx context.Context, spec Spec, logs io.Writer) (Exit, error) {
	if e.Sandbox.Executor == nil || !e.Sandbox.Here().OK {
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
	if hidden := e.Sandbox.HostProgram(program); hidden != nil && (errors.Is(err, ErrStart) || err == nil && !exit.OK()) {
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
