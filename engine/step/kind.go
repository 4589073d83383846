package step

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/named"
)

// Kind describes one kind of step.
type Kind struct {
	// Name is the label in the HCL block: step "<name>" "x" { … }.
	Name string
	// Version is part of every key; bump it when behaviour changes.
	Version string
	// Doc is one paragraph for the reference pages.
	Doc string
	// Volatile kinds read something that their arguments do not pin: their
	// instances run in every apply.
	Volatile bool
	// Varies says that the same key may produce different bytes each time, as an
	// agent does. A lock file pins no outputs of such a kind.
	Varies bool
	// Untrusted kinds run code that must not see private values.
	Untrusted bool
	// Results says that outputs made from private values only contain what a run
	// is for, such as scores: they may be published, though no untrusted step may
	// consume them. They run as soon as they can, ahead of other kinds.
	Results bool
	// OwnsTimeout says that Run enforces the instance's time limit itself and has
	// a result after it (an agent is stopped and its submission harvested). For
	// other kinds the engine cancels Run at the limit.
	OwnsTimeout bool
	// LimitsInKey puts the timeout and the resources block into the key, because
	// they are conditions of the result.
	LimitsInKey bool
	// Args are the arguments of the block, in the order they are hashed.
	Args []Attr
	// Blocks are the nested blocks, each at most once.
	Blocks []Block
	// Outputs are the outputs of an instance, sorted by name.
	Outputs []Output
	// InBlocks, if set, lets agent blocks, and steps with an Attr.Block of the kind's
	// name, have a block of that name, which adds a step of the kind.
	InBlocks *InBlocks
	// CheckModel, for a kind that runs agents, checks what only it knows of a
	// model block: providers, abilities, amounts. It does no I/O. The error joins
	// one WrongArg a mistake, whose Arg is that of the block ("budget.cost").
	CheckModel func(Model) error
	// New decodes arguments into a step. It does no I/O. An error is shown
	// to the person who wrote the block.
	New func(Args) (Step, error)
	// Choose decides, where an argument is its Attr.Open, what it is on this
	// machine, which it may look at. The choice is in the key like a value that
	// is written. An error is shown like New's.
	Choose func(Args) ([]Choice, error)
}

// InBlocks describes a kind whose steps other blocks may add.
type InBlocks struct {
	// Output is what the other block gets, as its argument of the kind's name.
	Output string
	// Lock is the argument that, unless it is written, is the file beside the one of
	// the argument From that LockName names, if there is one.
	From, Lock string
	LockName   func(path string) string
	// Place is an argument that, if it is written, is a folder of this machine, and
	// is the other block's argument of that name, too.
	Place string
}

// Step is one instance, ready to run.
type Step interface {
	// Run does the work. It writes only below env.WorkDir and into
	// env.Store, and stops soon after ctx is cancelled.
	Run(ctx context.Context, env *Env) (cache.Outputs, error)
}

// Fingerprinter is implemented by steps whose result depends on more than
// their arguments. Fingerprint is pure and fast: plan calls it.
type Fingerprinter interface {
	Fingerprint(h *digest.Hasher) error
}

// Varying is implemented by steps of which some, but not all of their kind, may
// produce different bytes each time.
type Varying interface{ Varies() bool }

// Varies reports whether a step says that it varies.
func Varies(s Step) bool {
	v, ok := s.(Varying)
	return ok && v.Varies()
}

// Attr is one argument.
type Attr struct {
	Name string
	// Type is the type the expression is converted to; ArtifactType for
	// content, an object type for several outputs of a step at once.
	Type cty.Type
	// Required arguments must be written. An optional one has the value Default if
	// it is not written, or null if Default is the zero Value.
	Required bool
	Default  cty.Value
	// Cosmetic arguments do not change bytes and are not in the key; Doc
	// says why.
	Cosmetic bool
	// Command marks a program and its arguments, which run where the arguments
	// files and inputs are copied and not in the pipeline's folder.
	Command bool
	// Block says that the argument is not written as such: a block of the kind of its
	// name gives it, see Kind.InBlocks.
	Block bool
	// Files marks a map of content in which a string is the path of a file or
	// folder of the pipeline, and for which one folder stands for { "." = … }.
	Files bool
	// OneOf lists the allowed strings, if there are only certain ones.
	OneOf []string
	// Open, when set, is the text that leaves the value to the machine, such as
	// "auto"; see Kind.Choose.
	Open string
	// Setting says that a step which does not write the argument takes it from
	// the pipeline's mleflow block, if that has one of this name.
	Setting bool
	// Made, when set, makes the argument where it is not written.
	Made *Made
	// Doc is one sentence for the reference pages, units included.
	Doc string
}

// Made says which step provides an argument that is not written: one of another
// kind, with an instance for each combination of the arguments that are passed
// on to it. In the language it is an ordinary step of the same name, so that it
// is planned, cached, locked and explained as if it had been written.
type Made struct {
	// Kind is the kind of the step; the argument is the object of its outputs.
	Kind string
	// When names the argument that requests it: it must be written, with a value
	// other than its default as far as the file shows.
	When string
	// Args are the arguments that are passed on under the same names. They must be
	// known before anything runs.
	Args []string
}

// Block is a nested block: a name and its arguments. In Args it is an object
// under the block's name, null if the block is not written.
type Block struct {
	Name string
	Args []Attr
	Doc  string
}

// Secrecy says who may consume an output.
type Secrecy int

// The secrecies of an output.
const (
	// Inherit: private if the instance consumed anything private.
	Inherit Secrecy = iota
	// Private outputs are never seen by an untrusted step.
	Private
	// Public outputs may be seen by anyone, whatever they were made from.
	Public
	// Withheld outputs are for people: they may be published, but no untrusted
	// step may consume them, or what is made from them. Only a model block may
	// replay them.
	Withheld
)

// Output is one named result of a kind.
type Output struct {
	Name string
	// Type is ArtifactType for content, else the type of a small value.
	Type    cty.Type
	Secrecy Secrecy
	Doc     string
}

// Registry is the set of kinds a process knows.
type Registry struct{ *named.Set[*Kind] }

// NewRegistry returns a registry of the given kinds. It panics on a duplicate
// or incomplete kind, which is a programming error.
func NewRegistry(kinds ...Kind) *Registry {
	list := make([]*Kind, len(kinds))
	for i := range kinds {
		if list[i] = &kinds[i]; kinds[i].Version == "" || kinds[i].New == nil {
			panic(fmt.Sprintf("step kind %q: version and constructor are needed", kinds[i].Name))
		}
	}
	return &Registry{named.New("step kind", func(k *Kind) string { return k.Name }, list...)}
}

// Kind returns the kind of that name, or nil.
func (r *Registry) Kind(name string) *Kind {
	kind, _ := r.Get(name)
	return kind
}

// Output returns the output of that name, or nil.
func (k *Kind) Output(name string) *Output {
	for i := range k.Outputs {
		if k.Outputs[i].Name == name {
			return &k.Outputs[i]
		}
	}
	return nil
}
