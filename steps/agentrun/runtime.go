package agentrun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Auto is the value of the argument runtime that lets the machine decide.
const Auto = "auto"

// AutoVariable is the environment variable that names the only runtime that Auto may
// choose on a machine.
const AutoVariable = "MLEFLOW_AUTO_RUNTIME"

// preference lists the runtimes that Auto may choose, strongest first. Docker of root often
// has no user namespace, which the sandbox always has, so it is for machines without one.
var preference = []string{"containerd", "sandbox", "docker", "process"}

// rejected is a runtime that Auto did not choose, with the reason and a fix.
type rejected struct{ runtime, why, fix string }

// choose resolves Auto for an attempt. It returns the strongest runtime that is
// available on the machine, isolates as required and can run the agent.
func (d Deps) choose(raw step.Args) ([]step.Choice, error) {
	var args arguments
	if err := raw.Decode(&args); err != nil {
		return nil, err
	}
	var passed []rejected
	for _, rt := range d.candidates() {
		no := rejected{runtime: rt.Name, why: d.reject(rt, &args)}
		if no.why == "" {
			here := rt.Here()
			if here.OK {
				c := d.choice(rt, here, passed)
				if other := args.otherPython(rt); other != "" {
					c.Why, c.Warning = c.Why+". Warning: "+other, other
				}
				return []step.Choice{c}, nil
			}
			no.why, no.fix = here.Because, here.Fix
		}
		passed = append(passed, no)
	}
	return nil, args.refusal(passed)
}

// otherPython returns a warning if a virtual environment is activated but the agent
// will run another Python.
func (args *arguments) otherPython(rt executor.Runtime) string {
	active := cmp.Or(os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"))
	program := args.program()
	if active == "" || !args.onHost(rt) || args.Agent.Python != nil || program != "python" && program != "python3" {
		return ""
	}
	return fmt.Sprintf("agent %q runs the system's Python: the environment that is activated here (%s) is not in the sandbox, nor are its packages. "+
		"To have them, write in the agent block python { venv = %q }; or, so that others can have the same, python { requirements = \"requirements.txt\" } and pip freeze > requirements.txt", args.Agent.Name, active, active)
}

// reject returns the reason why a runtime is unsuitable even where it is available, or
// "".
func (d Deps) reject(rt executor.Runtime, args *arguments) string {
	if isolation := args.isolation(rt); !conditions.AtLeast(isolation, args.Required) {
		return "its isolation is " + isolation
	}
	why := args.unsuited(rt)
	if why == "" {
		if err := args.hostProgram(rt); err != nil {
			why = err.Error()
		}
	}
	if why != "" || !rt.Images || !args.builtIn() && !(args.speaksACP() && args.hasImage()) {
		return why
	}
	if err := d.static(); err != nil {
		return fmt.Sprintf("the agent needs %s in its image: %v", BuiltIn, err)
	}
	return ""
}

// hostProgram returns an error if the agent's program is one of the machine's that its
// sandbox does not show.
func (args *arguments) hostProgram(rt executor.Runtime) error {
	program := args.program()
	if !args.onHost(rt) || args.Agent.Python != nil && !strings.Contains(program, "/") {
		return nil
	}
	return rt.HostProgram(program)
}

// candidates returns the runtimes that Auto may choose here.
func (d Deps) candidates() (list []executor.Runtime) {
	for _, name := range preference {
		if rt, err := d.Runtimes.Get(name); err == nil && (d.Auto == "" || d.Auto == name) {
			list = append(list, rt)
		}
	}
	return list
}

// choice explains the choice of Auto. It warns of a runtime that does not isolate.
func (d Deps) choice(rt executor.Runtime, here executor.Availability, passed []rejected) step.Choice {
	var reasons []string
	for _, p := range passed {
		reasons = append(reasons, p.runtime+": "+p.why)
	}
	c := step.Choice{Arg: "runtime", Value: rt.Name, Why: cmp.Or(strings.Join(reasons, "; "), here.Because)}
	if d.Auto != "" {
		c.Why = AutoVariable + " names it"
	}
	if !rt.Isolates {
		c.Warning = fmt.Sprintf("agents are NOT ISOLATED: runtime = %q is %q here (%s). They can read whatever you can, the answers included, and their results are marked untrusted. "+
			"mleflow doctor says how to get isolation; required_isolation = %q refuses instead", Auto, rt.Name, c.Why, conditions.Sandbox)
	}
	return c
}

// refusal returns the error that no runtime is suitable, with the reason and the fix
// for each.
func (args *arguments) refusal(passed []rejected) error {
	text := fmt.Sprintf("no runtime of this machine can run agent %q", args.Agent.Name)
	arg := "runtime"
	if args.Required != conditions.None {
		text, arg = text+fmt.Sprintf(" with the required isolation %q", args.Required), "required_isolation"
	}
	for _, p := range passed {
		text += fmt.Sprintf("\n  %s: %s", p.runtime, p.why)
		if p.fix != "" {
			text += "; " + p.fix
		}
	}
	return step.WrongArg(arg, fmt.Errorf("%s\nmleflow doctor examines the machine", text))
}

// unsuited returns the reason why a runtime cannot run the agent on any machine, or "".
func (args *arguments) unsuited(rt executor.Runtime) string {
	who := args.Agent
	switch {
	case args.onHost(rt):
		return ""
	case rt.Images && !args.hasImage() && (!args.builtIn() || rt.ProgramImage == nil):
		return fmt.Sprintf("it needs an image, and agent %q has no image", who.Name)
	case !rt.Images && args.hasImage():
		return fmt.Sprintf("it runs no images, and agent %q has an image", who.Name)
	}
	return ""
}

// takeRuntime finds the runtime that the arguments name. Auto stays unresolved where
// nothing runs.
func (a *attempt) takeRuntime() (err error) {
	if a.args.Runtime == Auto {
		a.runtime = executor.Runtime{Name: Auto}
		return nil
	}
	if a.runtime, err = a.deps.Runtimes.Get(a.args.Runtime); err != nil {
		return step.WrongArg("runtime", err)
	}
	if has := a.args.isolation(a.runtime); !conditions.AtLeast(has, a.args.Required) {
		return step.WrongArg("required_isolation", fmt.Errorf("the required isolation is %q, and that of runtime %q is %q; with runtime = %q the strongest that the machine has is taken, or the plan is refused",
			a.args.Required, a.runtime.Name, has, Auto))
	}
	return nil
}

// isolation returns the isolation that a runtime gives the agent.
func (args *arguments) isolation(rt executor.Runtime) string {
	return conditions.IsolationOf(rt.Name, rt.Isolates, args.onHost(rt))
}

// onHost reports whether the agent runs in a sandbox that shows the machine's own
// programs.
func (args *arguments) onHost(rt executor.Runtime) bool {
	return rt.HostImage != "" && !args.hasImage() && !args.builtIn()
}

// builtIn reports whether the agent is part of mleflow, so that a runtime that uses
// images needs an image of mleflow.
func (args *arguments) builtIn() bool {
	who := args.Agent
	return len(who.Command) > 0 && who.Command[0] == BuiltIn && !args.hasImage() && !args.speaksACP()
}

func (args *arguments) hasImage() bool { return args.Agent.Image != "" || args.Agent.Built != nil }

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
	asked, err := json.Marshal(targets)
	if err != nil {
		return nil, err
	}
	spec := r.spec(nil)
	if err := r.inPlace(&spec, breach.Command); err != nil {
		return nil, err
	}
	spec.ID += " look"
	spec.Dir, spec.ImageDir = "/", false
	for i := range spec.Mounts {
		spec.Mounts[i].CopyUp = false // the agent's own start copies
	}
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

// inPlace makes a specification one of this program with a hidden sub-command, in place of
// the agent's.
func (r *running) inPlace(spec *executor.Spec, command string) error {
	self, err := r.self()
	if err != nil {
		return err
	}
	mount := executor.Mount{Host: self, Guest: lookGuest, ReadOnly: true}
	spec.Command, spec.Mounts = []string{r.runtime.Path(mount), command}, append(spec.Mounts, mount)
	return nil
}

// attack makes a specification one of a thief.
func (r *running) attack(spec *executor.Spec) error {
	text, err := json.Marshal(r.deps.Thief)
	if err != nil {
		return err
	}
	spec.Env[breach.TargetsVariable] = string(text)
	return r.inPlace(spec, breach.ThiefCommand)
}
