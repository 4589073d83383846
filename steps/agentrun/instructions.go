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

var instructionsTemplate = template.Must(template.New("instructions").Parse(instructionsText))

// instructions are the values of the text that an agent is given.
type instructions struct {
	Competition, Data, Submission, Code, Logs, Agent string
	Seed                                             int64
	Timeout                                          string
}

func (i instructions) text() (string, error) {
	var b strings.Builder
	err := instructionsTemplate.Execute(&b, i)
	return b.String(), err
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
