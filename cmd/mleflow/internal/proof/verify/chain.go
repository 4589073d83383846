package verify

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// submissionFile is the one file that an attempt submits.
const submissionFile = "submission.csv"

// chain are the steps behind a grade, by their indexes among the instances.
type chain struct {
	grade, prepare, download int
	// checksum is -1 if the grade uses prepared data directly.
	checksum int
	// split is the holdout whose rows the attempt's queries are scored on, -1 without any.
	split int
	// agent is the agent-run or another step that made the submission, and output its
	// submitted output. agent is -1 if the submission is a file of the pipeline.
	agent  int
	output string
	// private reports whether the submission was made from private data.
	private              bool
	competition, version string
}

// chains follows grades and boards through a pipeline.
type chains struct{ g *config.Graph }

// argument returns an argument of an instance; null where there is none.
func (c chains) argument(i int, name string) cty.Value {
	args, diags := c.g.Args(i)
	if v := args.Get(name); v != cty.NilVal && !diags.HasErrors() {
		return v
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

func (c chains) text(i int, name string) string {
	v := c.argument(i, name)
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// artifact returns the content of an argument.
func (c chains) artifact(what string, v cty.Value) (*step.Artifact, error) {
	if v.IsNull() || !v.IsKnown() || v.Type() != step.ArtifactType {
		return nil, fmt.Errorf("%s do not come from a step", what)
	}
	return v.EncapsulatedValue().(*step.Artifact), nil
}

// maker returns the instance that produced content.
func (c chains) maker(what string, a *step.Artifact) (int, error) {
	at, err := addr.Parse(a.From)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", what, err)
	}
	i, found := c.g.Find(at)
	if !found {
		return -1, fmt.Errorf("%s come from %s, which is not in the pipeline", what, a.From)
	}
	return i, nil
}

// origin returns the instance that produced content as the named output. It must be of
// one of the kinds.
func (c chains) origin(what string, v cty.Value, output string, kinds ...string) (int, error) {
	a, err := c.artifact(what, v)
	if err != nil {
		return -1, err
	}
	if a.Local != nil {
		return -1, fmt.Errorf("%s are %s, a file of the pipeline", what, a.Local.Path())
	}
	i, err := c.maker(what, a)
	if err != nil {
		return -1, err
	}
	if slices.Contains(kinds, c.kind(i)) && a.Output == output {
		return i, nil
	}
	return -1, fmt.Errorf("%s are output %q of %s, a step of kind %s", what, a.Output, a.From, c.kind(i))
}

func (c chains) kind(i int) string    { return c.g.Instances[i].Step.Kind.Name }
func (c chains) address(i int) string { return c.g.Instances[i].Addr.String() }

// of follows a grade. The maker of the submission is known even if the chain is broken.
func (c chains) of(grade int) (chain, error) {
	l := chain{grade: grade, checksum: -1, split: -1, agent: -1, competition: c.text(grade, "competition"), version: c.text(grade, "version")}
	if err := c.submitter(&l); err != nil {
		return l, err
	}
	answers, err := c.origin("the answers", c.argument(grade, "answers"), "private", conditions.ChecksumKind, conditions.PrepareKind)
	if err != nil {
		return l, err
	}
	if l.prepare = answers; c.kind(answers) == conditions.ChecksumKind {
		l.checksum = answers
		if l.prepare, err = c.checked(answers); err != nil {
			return l, err
		}
	}
	if l.download, err = c.origin("the raw data", c.argument(l.prepare, "raw"), "tree", conditions.DownloadKind); err != nil {
		return l, err
	}
	for _, i := range []int{answers, l.prepare, l.download} {
		if id := c.text(i, "competition"); id != l.competition {
			return l, fmt.Errorf("the answers come from %s, which is of competition %s", c.address(i), id)
		}
		if v := c.text(i, "version"); i != l.download && v != l.version {
			return l, fmt.Errorf("the answers come from %s, which is of version %s", c.address(i), v)
		}
	}
	if l.agent < 0 || c.kind(l.agent) != conditions.AttemptKind {
		return l, nil
	}
	if err := cmp.Or(c.submitted(l), c.saw(l)); err != nil {
		return l, err
	}
	l.split, err = c.heldOut(l)
	return l, err
}

// checked returns the prepare step whose files a checksum step passed.
func (c chains) checked(checksum int) (int, error) {
	prepared := c.argument(checksum, "prepared")
	if prepared.IsNull() || !prepared.Type().IsObjectType() {
		return -1, errors.New("the checked files do not come from a step")
	}
	private, err := c.origin("the checked files", prepared.GetAttr("private"), "private", conditions.PrepareKind)
	if err != nil {
		return -1, err
	}
	public, err := c.origin("the checked files", prepared.GetAttr("public"), "public", conditions.PrepareKind)
	if err == nil && public != private {
		err = fmt.Errorf("the checked files come from two steps, %s and %s", c.address(public), c.address(private))
	}
	return private, err
}

// submitter finds the step that made the submission.
func (c chains) submitter(l *chain) error {
	artifact, err := c.artifact("the submitted files", c.argument(l.grade, "submission"))
	if err != nil || artifact.Local != nil {
		return err
	}
	if l.agent, err = c.maker("the submitted files", artifact); err == nil {
		l.output, l.private = artifact.Output, c.g.Instances[l.agent].Private
	}
	return err
}

// submitted checks that the graded file is the attempt's submission: the file
// submissionFile of its output "submission". Its other files may hold many candidates,
// from which a publisher could choose the best.
func (c chains) submitted(l chain) error {
	at := c.address(l.agent)
	if l.output != "submission" {
		return fmt.Errorf("the submission is taken from output %q of %s; what an attempt submits is its output \"submission\"", l.output, at)
	}
	if file := c.text(l.grade, "file"); path.Clean(file) != submissionFile {
		return fmt.Errorf("the submission is the file %s that %s left; what an attempt submits is %s", file, at, submissionFile)
	}
	if v := c.argument(l.grade, "snapshots"); !v.IsNull() {
		if from, err := c.origin("the snapshots", v, "snapshots", conditions.AttemptKind); err != nil || from != l.agent {
			return cmp.Or(err, fmt.Errorf("the snapshots are not those of %s, which made the submission", at))
		}
	}
	return nil
}

// saw checks that the agent was given the public half of the preparation that it is
// graded with.
func (c chains) saw(l chain) error {
	if id := c.text(l.agent, "competition"); id != l.competition {
		return fmt.Errorf("the submission is that of %s, an attempt at competition %s", c.address(l.agent), id)
	}
	return c.ofPrepared(l, "the files that the agent saw", l.agent)
}

// ofPrepared checks that the data of a step are the public half of a preparation.
func (c chains) ofPrepared(l chain, what string, i int) error {
	data, err := c.origin(what, c.argument(i, "data"), "public", conditions.ChecksumKind, conditions.PrepareKind)
	if err != nil {
		return err
	}
	if c.kind(data) == conditions.ChecksumKind {
		if data, err = c.checked(data); err != nil {
			return err
		}
	}
	if data != l.prepare {
		return fmt.Errorf("%s are of %s, the answers of %s", what, c.address(data), c.address(l.prepare))
	}
	return nil
}

// heldOut returns the step that held out the rows of an attempt's validation score; -1
// without one. It must split the public half that the attempt is graded with.
func (c chains) heldOut(l chain) (split int, err error) {
	split = -1
	if c.text(l.agent, "feedback") != agentrun.FeedbackValidation {
		return split, nil
	}
	v := c.argument(l.agent, "validation")
	if v.IsNull() || !v.Type().IsObjectType() {
		return split, errors.New("the held-out files do not come from a step")
	}
	for _, name := range []string{"private", "inputs", "public"} {
		i, err := c.origin("the held-out files", v.GetAttr(name), name, conditions.HoldoutKind)
		switch {
		case err != nil:
			return -1, err
		case split >= 0 && i != split:
			return -1, fmt.Errorf("the held-out files come from two steps, %s and %s", c.address(split), c.address(i))
		}
		split = i
	}
	if id, version := c.text(split, "competition"), c.text(split, "version"); id != l.competition || version != l.version {
		return -1, fmt.Errorf("the held-out files come from %s, which is of %s %s", c.address(split), id, version)
	}
	return split, c.ofPrepared(l, "the files of which rows were held out", split)
}

// rows returns the grades whose reports a board combines.
func (c chains) rows(board int) ([]int, error) {
	reports := c.argument(board, "reports")
	if reports.IsNull() || !reports.CanIterateElements() {
		return nil, errors.New("its reports do not come from a step")
	}
	var list []int
	for it := reports.ElementIterator(); it.Next(); {
		_, v := it.Element()
		i, err := c.origin("its reports", v, "report", conditions.GradeKind)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}
