package rules

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/data/pysource"
)

var modelPredictions = Rule{
	Name:   "model-predictions",
	Doc:    "Code that calls a provider's models and writes the submission: predictions by an external model.",
	Honest: "Asking a model for advice is a note; an agent's own program belongs in AGENT_DIR.",
	begin: func(c *ruleCheck) visitor {
		return visitor{source: func(s *pysource.Source, tokens []pysource.Token) {
			line := callsModel(tokens)
			switch {
			case line < 0:
			case writesSubmission(tokens):
				c.warn(at(s, line), s.Excerpt(line, line, 1), "The program that writes the submission calls a provider's models.")
			default:
				c.note(at(s, line), s.Excerpt(line, line, 1), "The program calls a provider's models.")
			}
		}}
	},
}

// clients are packages that call providers' models.
var clients = []string{
	"openai", "anthropic", "google.generativeai", "google.genai", "litellm", "cohere", "mistralai", "groq", "together", "ollama", "dspy", "instructor",
	"langchain_openai", "langchain_anthropic", "langchain_google_genai", "replicate",
}

var modelAddress = pattern.New(`/v1/(chat/completions|messages|responses|completions)\b|:(stream)?[gG]enerateContent\b|api\.(openai|anthropic|mistral|groq)\.com|generativelanguage\.googleapis\.com`)

// callsModel is the first line of a source that shows a client of models; -1 for
// none.
func callsModel(tokens []pysource.Token) int {
	for _, i := range imports(tokens) {
		if slices.ContainsFunc(clients, func(client string) bool {
			return i.module == client || strings.HasPrefix(i.module, client+".") || i.module == "google" && i.name == "genai" && client == "google.genai"
		}) {
			return i.line
		}
	}
	for _, t := range tokens {
		if t.Kind == pysource.String && modelAddress.Regexp().MatchString(t.Value()) {
			return t.Line
		}
	}
	return -1
}

// writesSubmission reports whether a source names the submission and writes a file.
func writesSubmission(tokens []pysource.Token) bool {
	names, writes := false, false
	for _, t := range tokens {
		switch t.Kind {
		case pysource.String:
			value := strings.ToLower(t.Value())
			names = names || strings.Contains(value, "submission") && !strings.Contains(value, "sample_submission")
			writes = writes || value == "w" || value == "wb"
		case pysource.Name:
			writes = writes || slices.Contains([]string{"to_csv", "write_csv", "savetxt", "writerow", "writerows", "write_text"}, t.Text)
		}
	}
	return names && writes
}
