package agentrun

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

//go:embed instructions.txt
var instructionsText string

//go:embed validate_submission.sh
var validateScript string

var instructionsTemplate = template.Must(template.New("instructions").Parse(instructionsText))

// instructions are the values of the text that an agent is given.
type instructions struct {
	Competition, Home, Data, Submission, Code, Logs, Agent string
	// Server is the address of the validity server.
	Server  string
	Seed    int64
	Timeout string
	// Network says what can be reached.
	Network string
}

func (i instructions) text() (string, error) {
	var b strings.Builder
	err := instructionsTemplate.Execute(&b, i)
	return b.String(), err
}

func (s *session) instructions() instructions {
	in := instructions{
		Competition: s.args.Competition, Seed: s.args.Seed, Home: s.at(""), Data: s.at("data"),
		Submission: s.at("submission"), Code: s.at("code"), Logs: s.at("logs"), Agent: s.at("agent"),
		Server: "$" + gatewayVariable, Network: s.networkText(),
	}
	if s.runtime.Isolates {
		in.Server = fmt.Sprintf("http://localhost:%d", validityPort)
	}
	if limit := s.env.Limits.Timeout; limit > 0 {
		in.Timeout = limit.String()
	}
	return in
}

func (s *session) networkText() string {
	switch s.networkMode() {
	case "open":
		return "open."
	case "allow":
		return "only " + strings.Join(s.args.Network.Allow, ", ") + ", through the\n              proxy that the usual variables (HTTPS_PROXY and so on) name."
	}
	return "none."
}

// networkMode is none, allow or open.
func (a *attempt) networkMode() string {
	switch {
	case a.args.Network != nil && a.args.Network.Open:
		return "open"
	case a.policy != nil:
		return "allow"
	}
	return "none"
}

// descriptionFile is where agents look for the text of the competition.
const descriptionFile = "description.md"

// description is the competition's text in our words.
func (a *attempt) description() string {
	return fmt.Sprintf("# %s\n\n%s\n", a.def.Title, strings.TrimSpace(a.def.Description))
}

// describedData returns the data with the competition's description beside
// them, unless they bring one.
func (a *attempt) describedData(ctx context.Context, store cache.Store) (cache.Ref, error) {
	data := a.args.Data.Ref
	entries, err := tree.Read(ctx, store, data)
	if err != nil || slices.ContainsFunc(entries, func(e tree.Entry) bool { return e.Name == descriptionFile }) {
		return data, err
	}
	text, err := cache.PutBytes(ctx, store, []byte(a.description()))
	if err != nil {
		return data, err
	}
	return tree.Put(ctx, store, append(entries, tree.NewEntry(descriptionFile, text, false)))
}
