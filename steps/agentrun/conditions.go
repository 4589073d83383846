package agentrun

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/steps/modelblock"
	"github.com/mleflow/mleflow/steps/task"
)

// Conditions implements step.Conditioned.
func (a *attempt) Conditions() []string {
	set := append(conditions.Of(a.runtime.Name, a.args.isolation(a.runtime)), conditions.Task+"="+string(a.args.Task))
	add := func(key string, values ...string) {
		if len(values) == 0 {
			values = []string{conditions.NoneOf}
		}
		for _, v := range values {
			set = append(set, key+"="+v)
		}
	}
	if a.args.Agent.Venv != "" {
		add(conditions.Environment, conditions.HostVenv)
	}
	limits := a.raw.Limits
	add(conditions.Time, a.timeText())
	add(conditions.CPUs, limitText(limits.CPUs > 0, strconv.FormatFloat(limits.CPUs, 'g', -1, 64)))
	add(conditions.Memory, limitText(limits.MemoryBytes > 0, sizeText(limits.MemoryBytes)))
	add(conditions.GPUs, strconv.Itoa(limits.GPUs))
	mode := a.network()
	add(conditions.Network, mode)
	if mode == "allow" {
		add(conditions.Host, a.args.Network.Allow...)
	}
	var budgets, prices []string
	for _, m := range a.args.Agent.Models {
		budgets = append(budgets, budgetText(m.Budget, m.RunBudget))
		prices = append(prices, modelblock.OwnPrices(m)...)
	}
	add(conditions.Budget, budgets...)
	if len(prices) > 0 { // the prices of the list are the rule
		add(conditions.Prices, prices...)
	}
	add(conditions.Feedback, a.feedbackText())
	if f := a.durable.fork; f != nil {
		add(conditions.Forked, f.Attempt.Short()+"@"+conditions.Limit(f.At))
	}
	add(conditions.Knowledge, a.knowledge()...)
	if len(a.args.Caps) > 0 {
		add(conditions.Capability, a.args.Caps...)
	}
	return step.UnionConditions(set)
}

// network is what the agent could reach: "none", "allow" or "open", which it is wherever
// the runtime keeps it from nothing.
func (a *attempt) network() string {
	if !a.runtime.Isolates {
		return "open"
	}
	return a.networkMode()
}

// knowledge lists what the agent has besides its files and the competition.
func (a *attempt) knowledge() (list []string) {
	agent := a.args.Agent
	if a.args.hasImage() {
		list = append(list, "image")
	}
	for _, f := range agent.Files {
		if f.Local == nil {
			list = append(list, "data")
		}
	}
	if a.args.Shim {
		list = append(list, "shim")
	}
	for _, m := range agent.Models {
		list = append(list, m.Tools...)
	}
	return list
}

func limitText(limited bool, text string) string {
	if limited {
		return text
	}
	return conditions.Unlimited
}

// timeText writes the time limit.
func (a *attempt) timeText() string {
	limit := a.raw.Limits.Timeout
	text := limitText(limit > 0, conditions.Limit(limit))
	if pausable(a.args.Agent.Models) {
		text += "+waits"
	}
	return text
}

// sizeText writes a size exactly, in the largest binary unit that allows it.
func sizeText(bytes int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := int64(1) << (40 - 10*i); bytes%size == 0 {
			return strconv.FormatInt(bytes/size, 10) + unit
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}

// budgetText writes the limits of a model, as in "10usd/1000requests"; those that all
// attempts share begin with "run:".
func budgetText(own, shared step.ModelBudget) string {
	var parts []string
	for _, b := range []struct {
		prefix string
		step.ModelBudget
	}{{"", own}, {"run:", shared}} {
		if b.Cost != "" {
			cost, _ := gateway.ParseDollars(b.Cost) // checked with the arguments
			parts = append(parts, b.prefix+cost.String()+"usd")
		}
		if b.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("%s%dtokens", b.prefix, b.Tokens))
		}
		if b.Requests > 0 {
			parts = append(parts, fmt.Sprintf("%s%drequests", b.prefix, b.Requests))
		}
	}
	return cmp.Or(strings.Join(parts, "/"), conditions.Unlimited)
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
	// Validation is the folder of the held-out inputs; "" without a validation score.
	Validation string
	Queries    int64
	Every      string
	Report     string
}

// writeTexts writes the texts for the agent next to the data. The reference's
// instructions are written unchanged, with our notes next to them.
func (s *setup) writeTexts(ctx context.Context) error {
	notes, err := s.facts().fill(notesTemplate)
	if err == nil && s.validates() {
		var more []byte
		more, err = s.facts().fill(queriesTemplate)
		notes = append(notes, more...)
	}
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
		Validation: s.at("validation"), Queries: s.args.Queries, Every: step.Text(s.args.QueryEvery), Report: s.args.Report,
	}
	if s.runtime.Isolates && s.networkMode() != "open" {
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
