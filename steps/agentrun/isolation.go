package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// lookGuest is where isolated commands see the program that looks for breaches,
// lookTime how long it may take.
const (
	lookGuest = "/run/mleflow-look"
	lookTime  = time.Minute
)

// tryIsolation starts this program in the agent's sandbox, before the agent, to try
// what no agent may reach from there. The agent is not started if anything of it
// succeeds, or if it cannot be tried.
func (s *session) tryIsolation(ctx context.Context) error {
	if s.deps.Forbidden == nil || !s.runtime.Isolates {
		return nil
	}
	targets, closeAll, err := s.deps.Forbidden(ctx)
	if err != nil {
		return step.Retryable(fmt.Errorf("try the isolation: %w", err), 0)
	}
	defer closeAll()
	if s.networkMode() == "open" {
		targets = targets.Open()
	}
	found, err := s.look(ctx, targets)
	if err != nil {
		return step.Retryable(fmt.Errorf("try the isolation: %w", err), 0)
	}
	if len(found) > 0 {
		return fmt.Errorf("the runtime %q does not keep the agent from %s; the agent was not started. %s", s.runtime.Name, strings.Join(found, ", "), s.remedy())
	}
	s.env.Note("isolation: %d forbidden addresses, files and variables were tried from inside the sandbox; none was reached", targets.Len())
	s.startedAt(time.Now())
	return nil
}

func (s *session) remedy() string {
	if s.networkMode() == "open" {
		return "Its network is open; name what it needs in network.allow instead, or keep the machine's own network from these addresses, such as by a NetworkPolicy"
	}
	return "mleflow doctor says what is missing here"
}

// look runs the program that looks in a sandbox like the agent's: the same root,
// mounts, user, devices and network, and the agent's environment without its secrets.
func (s *session) look(ctx context.Context, targets *breach.Targets) (found []string, err error) {
	self := s.deps.Self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the running program: %w", err)
		}
	}
	asked, err := json.Marshal(targets)
	if err != nil {
		return nil, err
	}
	mount := executor.Mount{Host: self, Guest: lookGuest, ReadOnly: true}
	spec := s.spec(nil)
	spec.ID += " look"
	spec.Command, spec.Dir, spec.ImageDir = []string{s.runtime.Path(mount), breach.Command}, "/", false
	for i := range spec.Mounts {
		spec.Mounts[i].CopyUp = false // the agent's own start does
	}
	spec.Mounts = append(spec.Mounts, mount)
	spec.Services, spec.OnStart, spec.OnMemory, spec.Resume = nil, nil, nil, false
	spec.Limits.Timeout = lookTime
	var answer, log bytes.Buffer
	spec.Stdin, spec.Stdout = bytes.NewReader(asked), &answer
	exit, err := s.runtime.Executor.Run(ctx, spec, &log)
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
