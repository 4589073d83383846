package pipeline

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

//go:embed first_model.hcl
var firstModel string

//go:embed first_model.py
var modelAgent []byte

// modelBlocks returns what stands for the parts of a first pipeline that concern a
// model, PROVIDER/NAME; "" is none.
func modelBlocks(named string) ([]string, error) {
	if named == "" {
		return []string{"MODELBLOCK\n", "", "MODELS\n", "", "REPORTS", "  reports = values(step.grade.score)[*].report"}, nil
	}
	provider, name, _ := strings.Cut(named, "/")
	if dialect.Named(provider) == nil || name == "" {
		var known []string
		for _, d := range dialect.All() {
			known = append(known, d.Name()+"/NAME")
		}
		return nil, app.Usagef("--model: %q is none of %s; servers with the protocol of OpenAI, such as vLLM, are openai/NAME with -var base_url=ADDRESS", named, strings.Join(known, ", "))
	}
	budget, price := "    cost     = \"1 USD\"\n    requests = 20", ""
	if _, ok := gateway.PriceOf(&gateway.Model{Provider: provider}, name); !ok {
		budget = "    requests = 20 # once the price below is right, also: cost = \"1 USD\""
		price = "  price " + quoteHCL(name) + " { # of a million tokens; mleflow has none of this model\n    input  = \"0 USD\"\n    output = \"0 USD\"\n  }\n"
	}
	block := strings.NewReplacer("MODEL", quoteHCL(name), "PROVIDER", provider, "KEYVAR", strings.ToUpper(provider)+"_API_KEY", "BUDGET", budget, "PRICE", price).Replace(firstModel)
	return []string{
		"MODELBLOCK\n", block, "MODELS\n", "  models  = [model.main]\n  env     = { MODEL = var.model }\n",
		"REPORTS", "  reports  = values(step.grade.score)[*].report\n  attempts = values(step.agent-run.solve) # adds time, tokens and cost",
	}, nil
}

// writeModelAgent writes a program that asks a model beside a pipeline and returns
// its name.
func writeModelAgent(a *app.App, file string) (string, error) {
	path := filepath.Join(filepath.Dir(file), "agent.py")
	err := wholefile.Create(path, 0o644, wholefile.Bytes(modelAgent))
	if errors.Is(err, fs.ErrExist) {
		return "", app.Usagef("%s exists and is not overwritten; to run it with the model, add --agent %s", path, path)
	}
	if err != nil {
		return "", fmt.Errorf("write agent: %w", err)
	}
	fmt.Fprintf(a.Stderr, "Wrote %s, which asks the model.\n", path)
	return path, nil
}
