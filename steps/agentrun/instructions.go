package agentrun

import (
	_ "embed"
	"strings"
	"text/template"
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
