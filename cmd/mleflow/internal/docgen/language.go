package docgen

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/engine/config"
)

// Language returns the page on the pipeline language. added are the functions
// that are not part of the engine's own.
func Language(added map[string]function.Function) []byte {
	p := newPage("The pipeline language")
	p.text("A pipeline is one HCL file. References between blocks make the graph; nothing else does but `depends_on`. Unknown names, unexpected arguments and values of a wrong type are errors with their position in the file.")
	p.text("Limits keep a hostile file from taking the machine: 4 MiB of text nested at most 1,000 levels deep, 1,000,000 elements or 192 MiB in a value, 20,000,000 steps of evaluation, 250,000 instances. What passes one is an error at its place. Definitions of competitions and cluster files have the same limits of text and values.")
	p.heading(2, "Blocks")
	for _, b := range config.Blocks {
		head := b.Type
		for _, label := range b.Labels {
			head += ` "` + strings.ToUpper(label) + `"`
		}
		p.heading(3, head)
		p.text(b.Doc)
		var rows [][]string
		for _, a := range b.Args {
			rows = append(rows, []string{code(a.Name), yes(a.Required), a.Doc})
		}
		p.table([]string{"Argument", "Required", "Meaning"}, rows)
	}
	p.heading(2, "Names")
	p.table([]string{"Name", "Meaning"}, [][]string{
		{"`var.NAME`", "The value of a variable."}, {"`local.NAME`", "A named expression."},
		{"`model.NAME`, `model[TEXT]`", "A model block."}, {"`agent.NAME`, `agent[TEXT]`", "An agent block."}, {"`each.key`, `each.value`", "The element of `for_each`."},
		{"`path.pipeline`", "The folder of the pipeline file, as an absolute path; what Terraform calls `path.module`. Paths given to file, dir and their like, and in files, start there; other paths that are not absolute start at the working directory."},
		{"`step.KIND.NAME.OUTPUT`", "An output of a step."}, {"`step.KIND.NAME[KEY].OUTPUT`", "An output of one instance of a step with `for_each`."},
	})
	p.extending()
	p.publishing()
	p.heading(2, "Functions of mleflow")
	added = maps.Clone(added)
	maps.Copy(added, config.LocalFunctions())
	p.functions(added)
	p.heading(2, "Standard functions")
	p.functions(config.Functions())
	return p.bytes()
}

// extending documents the argument extends of the block mleflow.
func (p *page) extending() {
	p.heading(2, "Extending a file")
	p.text("A file can add to another in the same folder, and change the variables of it:")
	p.text("```hcl\n" + `mleflow {
  extends = "mlebench.hcl"
}
variable "set" { default = "low" }
agent "mine" {
  command = ["python3", "agent.py"]
  files   = { "agent.py" = "agent.py" }
}` + "\n```")
	p.text("The two are one pipeline. A `variable` block that the base declares as well replaces the arguments that it writes and leaves the others as they are; its validations are added. `remote_cache` and `required_isolation` replace those of the base, folders of `competitions` are added, and every `required_version` must be met. All other blocks are added to those of the base, and none can have a name twice.")
	p.text("The base is named by a path relative to the file that extends it, and must be in the pipeline's folder or below. It may extend a file itself. All paths of files are relative to the pipeline's folder, in a base below it as well. A run records the base with the other files that it read, so `bundle`, `verify` and `diff` know it.")
	p.text("`include` adds the blocks of other files without a chain, for example a folder with one agent per file:")
	p.text("```hcl\n" + `mleflow {
  include = ["agents/*.hcl"]
}` + "\n```")
	p.text("A pattern is relative to the file that writes it; `**` matches folders of any depth. The included files come before the one that includes them, which can change their variables as it can those of its base. They cannot include or extend others.")
}

// publishing documents the block publish of steps and outputs.
func (p *page) publishing() {
	p.heading(2, "Publishing")
	p.text("A `publish` block in a step or an output writes results to files after the run, as `mleflow get` does:")
	p.text("```hcl\n" + `step "agent-run" "solve" {
  for_each = local.runs
  # …
  publish { to = "results/${each.key}" }
}
output "board" {
  value = step.aggregate.board.files
  publish { to = "/srv/boards/lite" }
}` + "\n```")
	var rows [][]string
	for _, a := range config.PublishArgs {
		rows = append(rows, []string{code(a.Name), yes(a.Required), a.Doc})
	}
	p.table([]string{"Argument", "Required", "Meaning"}, rows)
	p.text("An output block publishes its value: content as it is, a string as a file with that text, any other value as JSON. A step publishes all of its outputs, each under its name, or the one that `output` names. Everything must be known before a step runs, so paths are made of variables, locals and `each`.")
	p.text("`mleflow plan` says for each path whether it is written, replaced or unchanged. Nothing is written where the content is there already. A path is replaced only if it holds exactly what was published there last: anything that mleflow did not write, or that was changed since, is left alone and the run fails, before anything runs if the result is cached. Move or remove it, and apply again. An `apply` that fails publishes the results of the steps that succeeded; if it is interrupted or killed, the next one publishes them.")
	p.text("Paths may not overlap, and a folder that `dir(…)` reads cannot be published into, since each run would change the input of the next one: leave it out with `exclude`. Addresses of object storage are not supported.")
}

func (p *page) functions(all map[string]function.Function) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		rows = append(rows, []string{code(name + "(" + paramNames(f) + ")"), descriptionOf(name, f)})
	}
	p.table([]string{"Function", "Gives"}, rows)
}

// descriptionOf is a function's own description, or ours where the library
// has none.
func descriptionOf(name string, f function.Function) string {
	switch {
	case f.Description() != "":
		return strings.ReplaceAll(f.Description(), `\"`, `"`)
	case name == "can":
		return "Returns true if the given expression can be evaluated without an error."
	case name == "try":
		return "Returns the value of the first given expression that can be evaluated without an error."
	}
	return ""
}

func paramNames(f function.Function) string {
	var names []string
	for _, param := range f.Params() {
		names = append(names, param.Name)
	}
	if v := f.VarParam(); v != nil {
		names = append(names, v.Name+"...")
	}
	return strings.Join(names, ", ")
}
