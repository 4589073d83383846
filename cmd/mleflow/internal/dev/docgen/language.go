package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/engine/config"
)

// languagePage returns the page on the pipeline language. added are the functions
// that are not part of the engine's own.
func languagePage(added map[string]function.Function) []byte {
	p := newPage("The pipeline language")
	p.text("This page is the reference of pipeline files, one HCL file each; `mleflow validate` checks one. References between blocks make the graph, with `depends_on`. Unknown names, unexpected arguments and values of a wrong type are errors with their position in the file.")
	p.text("A file may have 4 MiB of text nested at most 1,000 levels deep, 1,000,000 elements or 192 MiB in a value, 20,000,000 steps of evaluation, and 250,000 instances. A heredoc may have some 7,000 lines of 60 characters; read longer texts with `file(…)`. What exceeds a limit is an error at its place.")
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
		p.example("blocks", b.Type)
	}
	p.heading(2, "Names")
	p.table([]string{"Name", "Meaning"}, [][]string{
		{"`module.NAME.OUTPUT`", "An output of a module."}, {"`path.module`", "The relative path from the pipeline's folder to that of the module, `.` in the pipeline itself."},
		{"`var.NAME`", "The value of a variable."}, {"`local.NAME`", "A named expression."},
		{"`model.NAME`, `model[TEXT]`", "A model block."}, {"`agent.NAME`, `agent[TEXT]`", "An agent block."}, {"`each.key`, `each.value`", "The element of `for_each`."},
		{"`path.pipeline`", "The folder of the pipeline file, as an absolute path. Paths given to file, dir and their like, and in files, start there; other paths that are not absolute start at the working directory."},
		{"`step.KIND.NAME.OUTPUT`", "An output of a step."}, {"`step.KIND.NAME[KEY].OUTPUT`", "An output of one instance of a step with `for_each`. If KEY depends on the result of a step, it is that of any instance: all are done first."},
	})
	p.extending()
	p.modules()
	p.secrets()
	p.conditions()
	p.running()
	p.renaming()
	p.saving()
	p.publishing()
	p.evaluating()
	p.heading(2, "Functions of mleflow")
	added = maps.Clone(added)
	maps.Copy(added, config.LocalFunctions())
	p.functions(added)
	p.heading(2, "Standard functions")
	var names []string
	for name, f := range config.Functions(nil) {
		names = append(names, name+"("+paramNames(f)+")")
	}
	slices.Sort(names)
	p.text("They do what they do in Terraform, with the exceptions [below](#differences-from-terraform).")
	p.text(code(strings.Join(names, "`, `")) + ".")
	p.differing()
	return p.bytes()
}

// differing documents what differs from Terraform.
func (p *page) differing() {
	p.heading(2, "Differences from Terraform")
	p.text("`regexreplace` and `strlen`, which counts characters as `length` does, are ours. `file` gives content, which is a string where one is needed. `for_each` takes lists, too, and there is no `count`: `for_each = { for i in range(n) : tostring(i) => i }`. Paths start at the pipeline's folder, not at the working directory. A `module` has no `for_each`, and its address is a part of the name: `step.KIND.MODULE.NAME`.")
	value := func(s string) string {
		if s == "" {
			return "error"
		}
		return code(s)
	}
	var rows [][]string
	for _, d := range differences {
		rows = append(rows, []string{strings.TrimPrefix(code(strings.Join(strings.Fields(d.Blocks), " "))+": "+code(d.Expr), ": "), value(d.Terraform), value(d.Here), d.Why})
	}
	p.table([]string{"Expression", "Terraform", "Here", "Why"}, rows)
	rows = nil
	for _, row := range blocks {
		rows = append(rows, []string{code(strings.Join(strings.Fields(row.terraform), " ")), row.instead})
	}
	p.table([]string{"Terraform's blocks, arguments and names that are left out", "What to write"}, rows)
	rows = nil
	for _, row := range leftOut {
		rows = append(rows, []string{"`" + strings.ReplaceAll(row.names, " ", "`, `") + "`", row.why})
	}
	p.table([]string{"Terraform's functions that are left out", "Why, or what to write"}, rows)
	p.table([]string{"Terraform's workflow", "Here"}, workflow)
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
	p.text("The two are one pipeline. A `variable` block of the same name replaces the arguments that it writes and leaves the others; its validations are added. `remote_cache` and `required_isolation` replace those of the base, folders of `competitions` are added, and every `required_version` must be met. All other blocks are added, and none can have a name twice.")
	p.text("The base is named by a relative path, and may extend a file itself. All paths of files are relative to the pipeline's folder, in the base too.")
	p.text("The pipelines of mleflow, such as `lite.hcl`, are part of the program. Where the folder has no file of the name, `extends` and the command line use the shipped one. It includes the files of your folder, so `agents/mine.hcl` adds an agent. Relative paths, such as `-var raw=DIR`, start at the working directory.")
	p.text("`include` adds the blocks of other files without a chain, for example a folder with one agent per file:")
	p.text("```hcl\n" + `mleflow {
  include = ["agents/*.hcl"]
}` + "\n```")
	p.text("A pattern is relative to the file that writes it, and may start with `../`; `**` matches folders of any depth. The file can change variables of those that it includes. These cannot include or extend others.")
}

// modules documents the block module.
func (p *page) modules() {
	p.heading(2, "Modules")
	p.text("A module is a folder of pipeline files, or one file, that several pipelines share. Its variables are its inputs, and its outputs are what others see of it:")
	p.code("hcl", `# common/grading.hcl
variable "submissions" {}
step "grade" "score" {
  for_each   = var.submissions
  submission = each.value
  # …
}
output "reports" { value = { for k, s in step.grade.score : k => s.report } }

# lab/pipeline.hcl
module "grading" {
  source      = "../common"
  submissions = { for k, s in step.agent-run.solve : k => s.submission }
}
step "aggregate" "board" { reports = values(module.grading.reports) }`)
	p.text("The module's names are its own: it sees neither the locals and steps of the pipeline nor those of other modules, and they see only its outputs. An input without a type may be anything, also content or an agent. A variable with a validation needs a value that is known before anything runs. A module may contain modules. `evaluate`, `notify`, `publish` in an output, and settings other than `required_version` belong in the pipeline.")
	p.text("A step of a module has the module's name before its own: `step.grade.grading.score[\"a\"]` in plans, `-target` and lock files. The name of a module is in no key, so a module that is renamed, or used by another pipeline, finds its results in the cache. The names of agents and models are in results; a pipeline has each once, modules included.")
	p.text("Paths of files start at the pipeline's folder. `path.module` is the relative path from there to the folder of the module's files: `file(\"${path.module}/run.sh\")`. Modules are read in the pipeline's folder, in its Git repository, or below the working directory; links that lead elsewhere are refused. Runs and bundles record their text, and `apply --server` sends it. A module has no `for_each`.")
}

// secrets documents where paths of secrets start.
func (p *page) secrets() {
	p.heading(2, "Paths of secrets")
	p.text("A secret is named by reference: `env:NAME`, `file:PATH` or `command:LINE`. Relative paths start at the folder of the file that names the secret, where its command runs, too: in an included file or a module, at its folder. The value of a variable starts at the pipeline's folder. Absolute paths stay, `~/` is your home folder, and `../` is allowed.")
	p.code("hcl", `# common/model.hcl
model "main" {
  provider = "openai"
  key      = "file:keys/openai" # common/keys/openai, whichever pipeline has the module
  models   = ["gpt-5.5"]
}`)
	p.text("References are read when an attempt starts: by a worker elsewhere on its own machine, from its working directory. `plan` looks whether the file is there. A pipeline that is submitted to a server names only the server's secrets, as `env:NAME`. The location of a model's key, and the folder of every secret, are in no key.")
}

// conditions documents the blocks precondition and postcondition.
func (p *page) conditions() {
	p.heading(2, "Conditions")
	p.text("A step can say what must hold before it runs, and of its result:")
	p.code("hcl", `step "grade" "score" {
  for_each = step.agent-run.solve
  # …
  precondition {
    condition     = competition(each.key).size_gb < 10
    error_message = "${each.key} is too large"
  }
  postcondition {
    condition     = self.score != null
    error_message = "${each.key} has no score: ${self.reason}"
  }
}`)
	p.text("A precondition whose values are known is checked by `plan`. One that reads a result of another step makes its step wait for that, and is checked before it runs. A postcondition reads the outputs that are values as `self.OUTPUT`. If it does not hold, the step has failed and what depends on it is skipped; its result is kept, so `plan` refuses it again until the condition holds, or `--force` repeats the step. Conditions are in no key. They read nothing that the step itself could not have: a step of an untrusted kind has no condition on private outputs. A message with private or sensitive values is not shown.")
}

// evaluating documents the block evaluate.
func (p *page) evaluating() {
	p.heading(2, "The cheapest answer")
	p.text("An `evaluate` block compares two agents with as few attempts as the answer needs:")
	p.code("hcl", `mleflow { extends = "lite.hcl" }
variable "agent" { default = "mine" }
variable "against" { default = ["baseline"] }
variable "seeds" { default = 20 }
evaluate "agents" {
  agents     = ["mine", "baseline"]
  over       = step.grade.score
  decide     = "any_medal"
  difference = 5
  budget     = 400
}`)
	p.text("`mleflow apply` runs pairs in rounds, a pair being an attempt of each agent at a competition with the same rank of seed. After a round it reads the reports and chooses the next pairs. It ends when one agent is better, when the difference is smaller than `difference`, or when the budget allows no further round. `seeds` is the largest number of pairs of a competition.")
	p.text("Then the rest of the pipeline runs. The attempts that were not asked for are not needed: they do not run, and `values(step.grade.score)` has only those that did. So do steps that depend on them alone. Attempts of other agents run as usual.")
	p.text("The rounds depend only on the reports. A second `apply` takes them from the cache, and an interrupted one goes on. A failed attempt counts as no success. An attempt without a final result, such as one that the machine's failure ended, stops the evaluation; apply again. `-target` and `--attempt` run what they name, without the evaluation. `plan`, `show` and the bundle have the block and its answer, and `mleflow verify BUNDLE` repeats the rounds from the reports: it refuses a bundle that left out an attempt for which the evaluation asks.")
	p.text("The rule (`agents`, `over`, `decide`, `difference`, `confidence` and the competitions) is declared in the chain of the cache before the first attempt. An answer of attempts that began under another rule, or none, is marked as chosen afterwards, [everywhere](verify.md#evaluations). `budget` and `seeds` may be raised when the answer is undecided: the confidence holds at every look, and the first budget is named. [Assumptions](leaderboard.md#the-cheapest-answer) are the same on every surface.")
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
	p.text("An output block publishes its value: content as it is, a string as a file with that text, any other value as JSON. A step publishes all of its outputs, or the one that `output` names. Paths are made of variables, locals and `each`.")
	p.text("`mleflow plan` says for each path whether it is written, replaced or unchanged. A path is replaced only if it holds exactly what was published there last. Otherwise, or if it is changed while it is replaced, the run fails and your content stays: move or remove it, and apply again. Content that is there already, even by your hand, becomes private with `private = true`. An `apply` that fails publishes the results of the steps that succeeded; if it is interrupted, the next one does.")
	p.text("Paths may not overlap. A folder that `dir(…)` reads cannot be published into: leave it out with `exclude`. Addresses of object storage are not supported.")
}

func (p *page) functions(all map[string]function.Function) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		rows = append(rows, []string{code(name + "(" + paramNames(f) + ")"), f.Description()})
	}
	p.table([]string{"Function", "Gives"}, rows)
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
