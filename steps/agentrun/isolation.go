package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// lookGuest is the path in the sandbox of the program that looks for breaches; lookTime
// is its time limit.
const (
	lookGuest = "/run/mleflow-look"
	lookTime  = time.Minute
)

// tryIsolation runs this program in the agent's sandbox, before the agent, and tries
// everything that no agent may reach from there. If any of it can be reached, or the
// trial fails, the agent is not started.
func (r *running) tryIsolation(ctx context.Context) error {
	if r.deps.Forbidden == nil || !r.runtime.Isolates {
		return nil
	}
	targets, closeAll, err := r.deps.Forbidden(ctx)
	if err != nil {
		return step.Retryable(fmt.Errorf("try the isolation: %w", err), 0)
	}
	defer closeAll()
	if r.networkMode() == "open" {
		targets = targets.Open()
	}
	found, err := r.look(ctx, targets)
	if err != nil {
		return step.Retryable(fmt.Errorf("try the isolation: %w", err), 0)
	}
	if len(found) > 0 {
		return fmt.Errorf("the runtime %q does not keep the agent from %s; the agent was not started. %s", r.runtime.Name, strings.Join(found, ", "), r.remedy())
	}
	r.env.Note("isolation: %d forbidden addresses, files and variables were tried from inside the sandbox; none was reached", targets.Len())
	r.startedAt(time.Now())
	return nil
}

func (a *attempt) remedy() string {
	if a.networkMode() == "open" {
		return "Its network is open; name what it needs in network.allow instead, or keep the machine's own network from these addresses, such as by a NetworkPolicy"
	}
	return "mleflow doctor says what is missing here"
}

// look runs that program in a sandbox like the agent's: with the same root, mounts,
// user, devices and network, and with the agent's environment without its secrets.
func (r *running) look(ctx context.Context, targets *breach.Targets) (found []string, err error) {
	self, err := r.self()
	if err != nil {
		return nil, err
	}
	asked, err := json.Marshal(targets)
	if err != nil {
		return nil, err
	}
	mount := executor.Mount{Host: self, Guest: lookGuest, ReadOnly: true}
	spec := r.spec(nil)
	spec.ID += " look"
	spec.Command, spec.Dir, spec.ImageDir = []string{r.runtime.Path(mount), breach.Command}, "/", false
	for i := range spec.Mounts {
		spec.Mounts[i].CopyUp = false // the agent's own start copies
	}
	spec.Mounts = append(spec.Mounts, mount)
	spec.Services, spec.OnStart, spec.OnFreezer, spec.OnUse, spec.Resume = nil, nil, nil, nil, false
	spec.Limits.Timeout = lookTime
	var answer, log bytes.Buffer
	spec.Stdin, spec.Stdout = bytes.NewReader(asked), &answer
	exit, err := r.runtime.Executor.Run(ctx, spec, &log)
	switch {
	case err != nil:
		return nil, err
	case !exit.OK():
		return nil, fmt.Errorf("the program that looks for breaches ended with %s, status %d: %.500s", exit.Reason, exit.Code, log.String())
	}
	if err := json.Unmarshal(answer.Bytes(), &found); err != nil {
		return nil, fmt.Errorf("the program that looks for breaches answered %.200q: %w", answer.String(), err)
	}
	return found, nil
}
