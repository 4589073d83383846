package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/step"
)

// The blocks of the language, as data: the reference pages are generated
// from them.

// BlockDoc documents a block type and its arguments.
type BlockDoc struct {
	Type   string
	Labels []string
	Doc    string
	Args   []ArgDoc
}

// ArgDoc documents one argument or nested block of a block.
type ArgDoc struct {
	Name     string
	Required bool
	Doc      string
	// block is the schema of a nested block, and labels are its labels. It is nil
	// for an argument, and for a block of a kind, see kindBlock.
	block  *hcl.BodySchema
	labels []string
	ofKind bool
}

func optional(name, doc string) ArgDoc { return ArgDoc{Name: name, Doc: doc} }

func required(name, doc string) ArgDoc { return ArgDoc{Name: name, Doc: doc, Required: true} }

// nested documents a block in a block.
func nested(name string, block *hcl.BodySchema, doc string, labels ...string) ArgDoc {
	return ArgDoc{Name: name, Doc: doc, block: block, labels: labels}
}

// schemaOf returns the schema of a block with these arguments and nested blocks.
func schemaOf(args ...ArgDoc) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, a := range args {
		switch {
		case a.ofKind:
		case a.block != nil:
			s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: a.Name, LabelNames: a.labels})
		default:
			s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name, Required: a.Required})
		}
	}
	return s
}

// argDocs returns the arguments of a block of a file.
func argDocs(blockType string) []ArgDoc {
	return Blocks[slices.IndexFunc(Blocks, func(b BlockDoc) bool { return b.Type == blockType })].Args
}

// blockIn returns the schema of a nested block.
func blockIn(args []ArgDoc, name string) *hcl.BodySchema {
	return args[slices.IndexFunc(args, func(a ArgDoc) bool { return a.Name == name })].block
}

// fieldsOf returns the schema of a block that a struct declares; see step.Attrs.
func fieldsOf[T any]() *hcl.BodySchema {
	var none T
	return attrSchema(step.Attrs(none, nil))
}

// Blocks documents the top-level blocks in the order of the reference page.
var Blocks = []BlockDoc{
	{Type: "mleflow", Doc: "Settings of the file itself.", Args: []ArgDoc{
		optional("extends", "Another pipeline file, such as \"mlebench.hcl\", that this one adds to; see [extending a file](#extending-a-file)."),
		optional("include", "Patterns of pipeline files whose blocks are added to those of this one, such as [\"agents/*.hcl\"], relative to this file."),
		optional("required_version", "Version constraint that the running mleflow must satisfy, such as \">= 0.1\"."),
		optional("remote_cache", "Address of a cache on object storage behind the local one, such as \"s3://bucket/prefix?region=eu-central-1\". The flag --remote-cache and MLEFLOW_REMOTE_CACHE take precedence."),
		optional("competitions", "Folders of your own competitions, relative to the pipeline's folder, such as [\"./competitions\"]. Each is one competition or holds several. The folders named by the flag --competitions and by MLEFLOW_COMPETITIONS are added."),
		optional("required_isolation", "The least isolation that every attempt must have: \"sandbox\" or \"container\". A plan in which an attempt would have less is refused. Steps that write the argument themselves use theirs. A variable may be used."),
	}},
	{Type: "variable", Labels: []string{"name"}, Doc: "A value set from outside: -var name=value, -var-file, or the environment variable MLEFLOW_VAR_name. Used as var.name.", Args: []ArgDoc{
		optional("type", "Type constraint, such as string, number, bool, list(string) or object({…}). Any type if omitted. Values of -var and the environment are plain text if the type is string, number, bool or omitted, and expressions otherwise: any=5, any=[1, 2]. A -var-file is HCL, or JSON if its name ends in .json."),
		optional("default", "Value if none is set. Without a default, the variable is required."),
		optional("description", "What the value is for."),
		optional("sensitive", "True for a value that must not be stored or shown. Step arguments and outputs cannot use it."),
		nested("validation", ruleSchema, "Block with condition and error_message. The condition can use var.name. May be repeated."),
	}},
	{Type: "locals", Doc: "Named expressions, used as local.name. May be repeated."},
	{Type: "model", Labels: []string{"name"}, Doc: "A provider of language models, and what an agent may ask of it: see [models](models.md). Used as model.name or model[expression], and with for_each as model.name[key]. The provider's key stays outside the agent's sandbox.", Args: []ArgDoc{
		required("provider", "The protocol: \"openai\", also that of compatible servers, \"anthropic\" or \"gemini\"."),
		optional("base_url", "Address of the server, such as \"http://10.0.0.5:8000/v1\". By default the provider's own."),
		optional("key", "The provider's key by reference: \"env:NAME\", \"file:PATH\" or \"command:LINE\". It is read when the agent starts and is never stored. Not in the key of the step. See [paths of secrets](#paths-of-secrets)."),
		required("models", "List of the models that the agent may ask for. A * in a name stands for any characters."),
		optional("tools", "List of the provider's own abilities that the agent may use, such as \"web_search\"; none by default. See [what is refused](models.md#what-is-refused)."),
		nested("budget", fieldsOf[step.ModelBudget](), "Block with the limits of one attempt: cost (such as \"20 USD\"), tokens, requests, per_minute (requests) and concurrent (requests at once); also tool_calls_per_request (the calls of the provider's own tools that are reserved for a request that sets no limit of them)."),
		nested("run_budget", fieldsOf[step.ModelBudget](), "Block with the limits of all attempts of one apply together, with the same arguments."),
		nested("price", fieldsOf[step.ModelPrice](), "Block with a label, the name of a model or a pattern, and the price of a million tokens: input, output, cache_read, cache_write, cache_write_hour, input_audio (such as \"1.25 USD\"). max_output and max_input are the most tokens of a response and a request. tool_calls and tool_requests are maps from the provider's own tools to the price of a thousand calls, or of a thousand requests that call the tool (such as { web_search = \"10 USD\" }). It takes precedence over the table of prices. May be repeated.", "pattern"),
		nested("retry", fieldsOf[step.ModelRetry](), "Block: attempts (how often a request is sent at most) and longest (the longest wait between two, such as \"60s\"). By default every failure is passed on to the agent."),
		optional("pause_clock", "True to extend the time limit of an attempt by the time that the provider made the agent wait. The result says so."),
		optional("replay", "A recording that answers in place of the provider: the path of a folder, the output transcript of a step, or a list of those. Without network and without key."),
		optional("prices", "The prices of price blocks as a map by name or pattern, for a variable: { my-model = { input = \"0 USD\", output = \"0 USD\" } }. A price block of the same name takes precedence."),
		optional("on_miss", "What happens to a request that the recording has no answer to: \"fail\", the default, or \"live\", which asks the provider from there on."),
		optional("for_each", "Set, list or map: one model for each element, with each.key and each.value. model.NAME is then a map from key to model, and the models are called NAME.KEY."),
		optional("record_tokens", "The kind of server: \"vllm\", \"sglang\", \"tgi\" or \"openai\". It is asked for token ids and log-probabilities, which are recorded with the transcript and which the agent does not see. See [training](training.md#trajectories-with-token-ids)."),
	}},
	{Type: "agent", Labels: []string{"name"}, Doc: "Who solves a competition. Used as agent.name or agent[expression].", Args: []ArgDoc{
		optional("command", "Program and leading arguments. The program \"mleflow\" is the running binary. Either command or acp is required."),
		optional("acp", "In place of command: program and leading arguments of an agent that speaks the Agent Client Protocol, such as [\"opencode\", \"acp\"]. mleflow is its client, in the agent's sandbox. See [agents that speak ACP](agents.md#agents-that-speak-acp)."),
		optional("args", "Further arguments."),
		optional("files", "Files and folders of the pipeline's folder, or outputs of steps, that are copied to AGENT_DIR, where the command then runs: a map from the path there to a path, file(…), dir(…) or output; or one dir(…) for all. Their content is part of the key."),
		optional("image", "OCI image: a reference pinned by digest, an archive or a layout folder, or the output of a step that makes one, such as step.image.NAME.image. The runtime process runs no images."),
		optional("models", "List of the model blocks whose models it may use, the main one first, such as [model.main]. The variables that clients of the provider read (OPENAI_BASE_URL, OPENAI_API_KEY and so on) name a gateway and a key that is valid only there, in this attempt."),
		optional("env", "Environment variables, a map of strings. They are part of the key and are stored."),
		optional("secrets", "Environment variables by reference, a map from name to \"env:NAME\", \"file:PATH\" or \"command:LINE\". Values are read when the agent starts and are never stored. See [paths of secrets](#paths-of-secrets)."),
		{Name: "python", ofKind: true, Doc: "Block: the Python packages that it needs, which are installed once and shown read-only: requirements = \"requirements.txt\" (or a pyproject.toml), and version, such as \"3.11\"; or venv, a virtual environment of this machine; or environment, the output of a step of kind python. See [packages](agents.md#packages)."},
		optional("for_each", "Set, list or map: the block is a sweep, one agent for each element, with each.key and each.value. agent.NAME is then a map from key to agent, and the agents are called NAME[KEY]."),
		optional("matrix", "Map from names to lists of strings, numbers or booleans: a sweep of all combinations, such as { lr = [0.1, 0.01], depth = [3, 5] }, with each.value.lr and each.value.depth. The keys are like \"depth=3,lr=0.1\"."),
	}},
	{Type: "step", Labels: []string{"kind", "name"}, Doc: "One step, or with for_each one for each element. Its outputs are referred to as step.kind.name.output, or step.kind.name[key].output.", Args: metaArgs},
	{Type: "module", Labels: []string{"name"}, Doc: "The blocks of other files as a part of the pipeline, with values for their variables; see [modules](#modules). The outputs of the module are used as module.name.output.", Args: []ArgDoc{
		required("source", "The folder with the files *.hcl of the module, or one file, by a path relative to this file, such as \"../common\"."),
		optional("NAME", "The value of the variable of that name in the module."),
	}},
	{Type: "moved", Doc: "Says that an agent, a model, a step or a module had another name: what was at from is at to. Its results are kept; see [renaming](#renaming).", Args: []ArgDoc{
		required("from", "The former address: agent.NAME, model.NAME, step.KIND.NAME or module.NAME. With [\"KEY\"] it is one agent of a sweep, or one instance of a step."),
		required("to", "The address of today, of the same kind, or one that another moved block names as from."),
	}},
	{Type: "benchmark", Labels: []string{"name"}, Doc: "A set of competitions with the rule by which agents are ranked over it; see [benchmarks](leaderboard.md#benchmarks). Used as benchmark.name: its competitions in for_each, and itself in the step that makes the board.", Args: []ArgDoc{
		required("competitions", "The identifiers of the competitions, each once, such as competitions(\"low\") or a list."),
		required("aggregate", "The rule: \"medals\", \"mean_percentile\", \"normalised_score\", \"mean_rank\" or \"elo\"."),
		optional("sample", "For normalised_score, a map from competition to the score that counts as 0. By default the sample submission's, sample_score in the definition."),
		optional("best", "For normalised_score, a map from competition to the score that counts as 1. By default the best of the human leaderboard."),
	}},
	{Type: "evaluate", Labels: []string{"name"}, Doc: "A comparison of two agents that runs only the attempts that its answer needs; see [the cheapest answer](#the-cheapest-answer). A pipeline has at most one.", Args: []ArgDoc{
		required("agents", "The names of two agents, as in the label agent of the graded attempts: [\"mine\", \"baseline\"]."),
		required("over", "The step block that grades the attempts, such as step.grade.score, with for_each over agents, competitions and seeds."),
		optional("decide", "The verdict of the reports that is compared, such as any_medal (the default), gold_medal, above_median or valid_submission."),
		optional("difference", "The smallest difference that matters, in percentage points; default 5."),
		optional("confidence", "The probability that the answer is right; default 0.95."),
		required("budget", "The largest number of attempts of both agents together."),
	}},
	{Type: "output", Labels: []string{"name"}, Doc: "A value shown after the pipeline was applied.", Args: []ArgDoc{
		required("value", "The value."),
		optional("description", "What the value is."),
		nested("publish", schemaOf(PublishArgs...), "Block: after the run, content, or any other value as text, is written to a path; see [publishing](#publishing)."),
	}},
	{Type: "notify", Labels: []string{"name"}, Doc: "Who is told about the runs of this pipeline: a receiver that the configuration of the user who applies it defines under this name. A pipeline cannot name an address or a command. See [notifications](notify.md). Not in the key of any step.", Args: []ArgDoc{
		optional("on", "List of the kinds of messages, such as [\"failed\", \"budget 80%\"]. By default those of the receiver."),
	}},
}

// metaArgs are the arguments every step block takes besides those of its kind.
var metaArgs = []ArgDoc{
	optional("for_each", "Set, list or map. The step has one instance for each element, with each.key and each.value. The keys must be known before anything runs."),
	optional("depends_on", "List of references to steps that must run first and that no argument refers to."),
	optional("when", "Condition: the step runs only if it is true. It may read values of other steps, and is decided when they are known. See [steps that run only if](#steps-that-run-only-if). Not in the key."),
	optional("on", "Where the step runs if --on names a cluster file: the name of one of its backends, or \"local\" for this machine. Not in the key. Without --on it is ignored."),
	optional("timeout", "Wall-clock limit of one attempt, such as \"90s\", \"24h\" or \"2d\"."),
	nested("precondition", ruleSchema, "Block with condition and error_message, which is checked for each instance before it runs; may be repeated. See [conditions](#conditions)."),
	nested("postcondition", ruleSchema, "The same for its result, self.OUTPUT; may be repeated. See [conditions](#conditions)."),
	nested("retry", schemaOf(required("attempts", ""), optional("backoff", ""), optional("max_backoff", "")), "Block: attempts (total number), backoff (first wait, doubling; default \"1s\"), max_backoff (default \"1m\"). A failure that may be temporary is retried, such as a failed command or a server that did not answer. Content that does not match a pin is not."),
	nested("publish", schemaOf(PublishArgs...), "Block: after the run, outputs are written to a path; see [publishing](#publishing)."),
	nested("resources", schemaOf(optional("cpus", ""), optional("memory", ""), optional("gpus", ""), optional("disk", "")), "Block: cpus (number, default 1), memory (such as \"16GiB\"), gpus (number of devices), disk (such as \"1TiB\")."),
}

// fileSchema is the schema of a file, and schemas has those of its blocks by type.
var fileSchema, schemas = func() (*hcl.BodySchema, map[string]*hcl.BodySchema) {
	file, blocks := &hcl.BodySchema{}, map[string]*hcl.BodySchema{}
	for _, b := range Blocks {
		file.Blocks = append(file.Blocks, hcl.BlockHeaderSchema{Type: b.Type, LabelNames: b.Labels})
		blocks[b.Type] = schemaOf(b.Args...)
	}
	return file, blocks
}()

// stepSettings are the arguments of the mleflow block that are arguments of steps.
var stepSettings = []string{"required_isolation"}

// Names are the names of the arguments, and of those of nested blocks as BLOCK.ARGUMENT.
func (b BlockDoc) Names() (names []string) {
	for _, a := range b.Args {
		names = append(names, a.Name)
		if a.block != nil {
			for _, inner := range a.block.Attributes {
				names = append(names, a.Name+"."+inner.Name)
			}
		}
	}
	return names
}
