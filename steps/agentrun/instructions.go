package agentrun

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"text/template"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/task"
)

// textArguments are the arguments of the agent's texts.
type textArguments struct {
	Task  competitions.Task `cty:"task"`
	Texts *texts            `cty:"texts" is:"cosmetic" made:"task" when:"task" passing:"competition task"`
}

// texts are the outputs of a step of kind task.
type texts struct {
	Description  *step.Artifact `cty:"description"`
	Instructions *step.Artifact `cty:"instructions"`
}

// notesText is the text, next to the instructions of the task, that describes an
// attempt's conditions.
//
//go:embed notes.txt
var notesText string

var notesDigest = sync.OnceValue(func() digest.ContentID { return digest.Of([]byte(notesText)) })

//go:embed validate_submission.sh
var validateScript string

var (
	notesTemplate        = template.Must(template.New("notes").Parse(notesText))
	instructionsTemplate = template.Must(template.New("instructions").Parse(task.OwnInstructions))
)

// facts are the values for our own texts.
type facts struct {
	Competition, Home, Data, Submission, Code, Logs, Agent string
	// Server is the address of the validity server.
	Server  string
	Seed    int64
	Timeout string
	// Network names the servers that can be reached.
	Network string
}

// writeTexts writes the texts for the agent next to the data. The reference's
// instructions are written unchanged, with our notes next to them.
func (s *setup) writeTexts(ctx context.Context) error {
	notes, err := s.facts().fill(notesTemplate)
	if err != nil {
		return fmt.Errorf("write notes: %w", err)
	}
	instructions, err := s.instructionsText(ctx)
	if err != nil {
		return fmt.Errorf("write instructions: %w", err)
	}
	return errors.Join(
		s.own(filepath.Join(s.dirs.home, instructionsFile), instructions, 0o644),
		s.own(filepath.Join(s.dirs.home, notesFile), notes, 0o644),
		s.own(filepath.Join(s.dirs.home, validateFile), []byte(validateScript), 0o755),
	)
}

// maxInstructions limits the size of the general instructions.
const maxInstructions = 1 << 20

func (s *setup) instructionsText(ctx context.Context) ([]byte, error) {
	if s.args.Task == competitions.TaskOwn {
		return s.facts().fill(instructionsTemplate)
	}
	if err := s.checkTexts(); err != nil {
		return nil, err
	}
	return cache.Get(ctx, s.env.Store, s.instructions, maxInstructions)
}

func (s *setup) facts() facts {
	f := facts{
		Competition: s.args.Competition, Seed: s.args.Seed, Home: s.at(""), Data: s.at("data"),
		Submission: s.at("submission"), Code: s.at("code"), Logs: s.at("logs"), Agent: s.at("agent"),
		Server: "$" + gatewayVariable, Network: s.networkText(),
	}
	if s.runtime.Isolates {
		f.Server = fmt.Sprintf("http://localhost:%d", validityPort)
	}
	if limit := s.env.Limits.Timeout; limit > 0 {
		f.Timeout = limit.String()
	}
	return f
}

func (a *attempt) networkText() string {
	switch a.networkMode() {
	case "open":
		return "open."
	case "allow":
		return "only " + strings.Join(a.args.Network.Allow, ", ") + ", through the\n              proxy that the usual variables (HTTPS_PROXY and so on) name."
	}
	return "none."
}

// networkMode is "none", "allow" or "open", as declared.
func (a *attempt) networkMode() string {
	switch {
	case a.args.Network != nil && a.args.Network.Open:
		return "open"
	case a.policy != nil:
		return "allow"
	}
	return "none"
}

func (f facts) fill(t *template.Template) ([]byte, error) {
	var b strings.Builder
	err := t.Execute(&b, f)
	return []byte(b.String()), err
}

// checkTexts compares the texts that the step received with their pins.
func (a *attempt) checkTexts() error {
	given := a.args.Texts
	if got := given.Description.Ref.ID; got != a.description {
		return step.Mismatch(fmt.Errorf("the description of %s by %s has SHA-256 %s, but the task %q requires %s", a.def.ID, given.Description.From, got, a.args.Task, a.description))
	}
	if got := given.Instructions.Ref.ID; got != a.instructions {
		return step.Mismatch(fmt.Errorf("the instructions by %s have SHA-256 %s, but the task %q requires %s", given.Instructions.From, got, a.args.Task, a.instructions))
	}
	return nil
}
