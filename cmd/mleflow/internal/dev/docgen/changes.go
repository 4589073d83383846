package main

// The sections on when a step runs, on renaming and on saved plans. TestExamples reads the
// examples; scripts of cmd/mleflow run them.
const (
	whenExample = `step "grade" "score" {
  for_each = step.agent-run.solve
  # …
}
step "aggregate" "good" {
  reports = values(step.grade.score)[*].report
  when    = anytrue([for s in step.grade.score : coalesce(s.score, 0) > 0.9])
}`
	movedExample = `moved {
  from = agent.first
  to   = agent.second
}`
)

// workflow is what differs from Terraform besides expressions.
var workflow = [][]string{
	{"`moved`", "The same rules: chains, keys of `for_each`, modules; no cycles, one new name each. Here `agent` and `model` blocks move, too, and `to` must be declared, since nothing is destroyed. Without the block a step still finds its results, because addresses are in no key."},
	{"`plan -out FILE`, `apply FILE`", "The file is JSON without values of sensitive variables, and any path is its name. It may be applied again: after an interruption its `apply` goes on. What holds is that nothing else changed, so a plan can be applied in another checkout. `-var` is refused, except for sensitive variables."},
	{"`count = var.on ? 1 : 0`", "`when = var.on`. It may also read results of steps, and is then decided during `apply`."},
}

// running documents the argument when.
func (p *page) running() {
	p.heading(2, "Steps that run only if")
	p.text("`when` says under which condition a step runs. It may read results of other steps:")
	p.code("hcl", whenExample)
	p.text("`plan` says that the step is deferred until the values are known. If the condition is false, the step is not needed: `plan`, `apply`, `show`, the page and `--json` say so with the place of the condition. With `for_each` each instance has its own. A step that reads only such steps is left out, too, and one that reads some of a block gets the rest: `values(step.grade.score)` has those that ran. A step that merely waits, by `depends_on`, runs. `when` is in no key, and a bundle's is decided again by `verify`.")
	p.text("The value must be true or false; null is an error. A condition reads nothing that the step itself could not have: a score is made from answers, so it cannot decide whether an agent runs, and what a private condition leaves out cannot be counted in an untrusted step.")
}

// renaming documents the block moved.
func (p *page) renaming() {
	p.heading(2, "Renaming")
	p.text("The name of an agent or a model is in the keys of its attempts, so a new name would run them again. `plan` says if only the name differs, with the block to add:")
	p.code("hcl", movedExample)
	p.text("Results that were recorded under the former name are then used, and counted: `--retry` counts the tries before, and the attempt is the same in the lists of both runs. Only attempts and other results that cannot be computed again are found so; grades, which have the name in their labels, are computed again with the new one. An attempt that was interrupted begins again.")
	p.text("`from` and `to` are `agent.NAME`, `model.NAME`, `step.KIND.NAME` or `module.NAME`; `agent.grid[\"x\"]` is one agent of a sweep, so an agent can become part of one. Chains are followed: a to b, then b to c. Addresses are in no key, so steps and modules find their results without the block; with it their durations and the reasons of `plan` continue. Lock files have addresses: write them again with `mleflow lock`. Keep the block as long as you want to use the results.")
}

// saving documents plan --out.
func (p *page) saving() {
	p.heading(2, "Saved plans")
	p.text("What a plan showed, such as on a pull request, is what runs after the merge:")
	p.code("sh", `mleflow plan pipeline.hcl -var seeds=3 --out pipeline.plan
mleflow apply pipeline.plan`)
	p.text("The file holds the decision on each step with its key, the values of variables, the flags that chose the steps, and the digests of all files that were read: pipeline, agents, folders of competitions, lock file. `apply` plans again and refuses with the difference, status 3, if a file changed, if a step has another key, if a cached step has no result any more, or if one that was to run has one. It refuses a plan of another version. It is no order: a file that somebody edited or forged makes nothing run that the pipeline does not say.")
	p.text("Paths are relative to the working directory, so another checkout can apply the plan. Its cache must have what the plan took from the cache: share it by a [remote cache](remote.md). An `apply` that was interrupted goes on when the file is applied again; what it did is not repeated, with `--force` and `--retry` neither. No value of a sensitive variable is written: give it again, by `-var` or the environment. The evaluation's own choices and the places of a cluster are not part of the plan.")
}
