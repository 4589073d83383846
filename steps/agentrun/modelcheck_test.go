package agentrun_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// TestModelChecks: each mistake in a model block is found, at its argument, with
// what is wrong and how to fix it.
func TestModelChecks(t *testing.T) {
	check := agentrun.Kind(agentrun.Deps{Catalog: catalog(t), Runtimes: executor.NewRegistry()}).CheckModel
	recording := []*step.Artifact{{}}
	for name, test := range map[string]struct {
		change func(m *step.Model)
		// want is the argument, then words of the message.
		want []string
	}{
		"valid":              {func(*step.Model) {}, nil},
		"local, without key": {func(m *step.Model) { m.Key.Ref, m.BaseURL = "", "http://127.0.0.1:8000/v1" }, nil},
		"recording":          {func(m *step.Model) { m.Key.Ref, m.Replay = "", recording }, nil},
		"recording, or live": {func(m *step.Model) { m.Replay, m.OnMiss = recording, "live" }, nil},

		"provider":        {func(m *step.Model) { m.Provider = "opnai" }, []string{"provider", `"opnai"`, `Did you mean "openai"?`, "base_url"}},
		"no provider":     {func(m *step.Model) { m.Provider = "" }, []string{"provider", "openai, anthropic, gemini"}},
		"no key":          {func(m *step.Model) { m.Key.Ref = "" }, []string{"key", `key = "env:NAME"`, "replay"}},
		"superfluous key": {func(m *step.Model) { m.Replay = recording }, []string{"key", "needs no key", `on_miss = "live"`}},
		"on_miss":         {func(m *step.Model) { m.Key.Ref, m.Replay, m.OnMiss = "", recording, "stop" }, []string{"on_miss", `"stop"`, `"fail" or "live"`}},
		"only on_miss":    {func(m *step.Model) { m.OnMiss = "fail" }, []string{"on_miss", "add replay"}},
		"no endpoint":     {func(m *step.Model) { m.BaseURL = "api.openai.com" }, []string{"base_url", `"https://api.openai.com/v1"`}},
		"plain http":      {func(m *step.Model) { m.BaseURL = "http://api.openai.com/v1" }, []string{"base_url", "unencrypted", "https://"}},
		"key in endpoint": {func(m *step.Model) { m.BaseURL = "https://u:p@host/v1" }, []string{"base_url", "the key has its own argument"}},
		"other scheme":    {func(m *step.Model) { m.BaseURL = "ftp://host" }, []string{"base_url", "https"}},
		"no models":       {func(m *step.Model) { m.Models = nil }, []string{"models", "empty", `"gpt-5*"`}},
		"space in model":  {func(m *step.Model) { m.Models = []string{"gpt 5"} }, []string{"models", `"gpt 5"`}},
		"unknown price":   {func(m *step.Model) { m.Models = []string{"my-model"} }, []string{"models", `price "my-model"`, `"0 USD"`}},
		"ability":         {func(m *step.Model) { m.Tools = []string{"websearch"} }, []string{"tools", `"websearch"`, `Did you mean "web_search"?`}},
		"tool without a price": {func(m *step.Model) { m.Tools, m.Budget.Cost = []string{"code_interpreter"}, "1 USD" },
			[]string{"tools", `code_interpreter by "gpt-5.5"`, `tool_calls = { code_interpreter = "… USD" }`}},
		"tool with a price":    {func(m *step.Model) { m.Tools, m.Budget.Cost = []string{"web_search"}, "1 USD" }, nil},
		"tool without a limit": {func(m *step.Model) { m.Tools = []string{"code_interpreter"} }, nil},
		"tool of a recording": {func(m *step.Model) {
			m.Key.Ref, m.Replay, m.Tools, m.Budget.Cost = "", recording, []string{"code_interpreter"}, "1 USD"
		}, nil},
		"price of a tool": {func(m *step.Model) {
			m.Prices = map[string]step.ModelPrice{"gpt-*": {Input: "1 USD", Output: "10 USD", ToolCalls: map[string]string{"websearch": "1 USD"}}}
		}, []string{"price.gpt-*.tool_calls", `Did you mean "web_search"?`}},
		"calls of the run": {func(m *step.Model) { m.RunBudget.ToolCalls = 3 }, []string{"run_budget.tool_calls_per_request", "block budget"}},
		"no unit":          {func(m *step.Model) { m.Budget.Cost = "20" }, []string{"budget.cost", `"20 USD"`}},
		"no amount":        {func(m *step.Model) { m.Budget.Cost = "a lot" }, []string{"budget.cost", `"a lot"`}},
		"negative":         {func(m *step.Model) { m.RunBudget.Cost = "-1 USD" }, []string{"run_budget.cost", "-1"}},
		"nothing":          {func(m *step.Model) { m.RunBudget.Cost = "0 USD" }, []string{"run_budget.cost", "allows nothing", "no limit"}},
		"price": {func(m *step.Model) { m.Prices = map[string]step.ModelPrice{"gpt-*": {Input: "1.25", Output: "10 USD"}} },
			[]string{"price.gpt-*.input", `"1.25 USD"`}},
		"wait": {func(m *step.Model) { m.Retry.Longest = "soon" }, []string{"retry.longest", `"soon"`, `"60s"`}},
	} {
		t.Run(name, func(t *testing.T) {
			m := step.Model{Name: "main", Provider: "openai", Key: &step.SecretRef{Ref: "env:K"}, Models: []string{"gpt-5.5"}}
			test.change(&m)
			err := check(m)
			if test.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			mistakes := step.Mistakes(err)
			wrong := (*step.ArgError)(nil)
			if len(mistakes) != 1 || !errors.As(mistakes[0], &wrong) || wrong.Arg != test.want[0] {
				t.Fatalf("%q, want one mistake at %s", err, test.want[0])
			}
			for _, words := range test.want[1:] {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
		})
	}
	all := check(step.Model{Name: "main", Provider: "x", Key: &step.SecretRef{}, Models: []string{""}, OnMiss: "live", Retry: step.ModelRetry{Longest: "-1s"}})
	var args []string
	for _, one := range step.Mistakes(all) {
		wrong := (*step.ArgError)(nil)
		if errors.As(one, &wrong) {
			args = append(args, wrong.Arg)
		}
	}
	if diff := cmp.Diff([]string{"provider", "on_miss", "models", "retry.longest"}, args); diff != "" {
		t.Errorf("all mistakes at once (-want +got):\n%s", diff)
	}
}

// TestModelVariables: what leads to the gateway can be set by nothing else.
func TestModelVariables(t *testing.T) {
	b := newBench(t)
	main := block("main", "openai", "http://127.0.0.1:1/v1", nil)
	for name, test := range map[string]struct {
		agent cty.Value
		env   string
		want  string
	}{
		"env of the agent": {who([]string{"/bin/true"}, map[string]cty.Value{"models": cty.ListVal([]cty.Value{main}), "env": cty.MapVal(map[string]cty.Value{"OPENAI_API_KEY": cty.StringVal("x")})}), "", "OPENAI_API_KEY leads to the model gateway"},
		"env of the step":  {withModels("true", main), "MLEFLOW_MODEL_MAIN_URL", "remove it from env"},
		"names that clash": {withModels("true", block("a-b", "openai", "http://127.0.0.1:1/v1", nil), block("a_b", "openai", "http://127.0.0.1:1/v1", nil)), "", "rename one"},
	} {
		args := values(b, t, test.agent)
		if test.env != "" {
			args["env"] = cty.MapVal(map[string]cty.Value{test.env: cty.StringVal("x")})
		}
		if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
