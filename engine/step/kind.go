package step

import (
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/named"
)

// Kind describes one kind of step.
type Kind struct {
	// Name is the label in the HCL block: step "<name>" "x" { … }.
	Name string
	// Version is part of every key. Bump it when the behaviour changes.
	Version string
	// Doc is one paragraph for the reference pages.
	Doc string
	// Volatile kinds read something that their arguments do not pin, so their
	// instances run in every apply.
	Volatile bool
	// Varies means that the same key may produce different bytes each time, as
	// with an agent. A lock file does not pin the outputs of such a kind.
	Varies bool
	// Observation, if set, says that results are observations. Results of other kinds
	// are computed again when Version rises.
	Observation *Observation
	// Untrusted kinds run code that must not see private values.
	Untrusted bool
	// Results means that outputs made from private values contain only a run's
	// results, such as scores. They may be published, although no untrusted
	// step may consume them. Steps of the kind run as soon as they can, ahead
	// of other kinds.
	Results bool
	// OwnsTimeout means that Run itself enforces the instance's time limit and
	// returns a result after it (an agent is stopped and its submission
	// harvested). For other kinds, the engine cancels Run at the limit.
	OwnsTimeout bool
	// LimitsInKey makes the timeout and the resources block part of the key,
	// because they affect the result.
	LimitsInKey bool
	// Args are the arguments of the block, in the order in which they are
	// hashed.
	Args []Attr
	// Blocks are the nested blocks, each at most once.
	Blocks []Block
	// Outputs are the outputs of an instance, sorted by name.
	Outputs []Output
	// InBlocks, if set, allows agent blocks, and steps with an Attr.Block of
	// the kind's name, to contain a block of that name, which adds a step of
	// the kind.
	InBlocks *InBlocks
	// CheckModel, for a kind that runs agents, checks the parts of a model
	// block that only the kind understands: providers, abilities, amounts. It
	// does no I/O. The error joins one WrongArg per mistake, whose Arg is the
	// argument's name in the block ("budget.cost").
	CheckModel func(Model) error
	// Counted, if set, names what an instance tries, from the general to the
	// specific, by the fields of its key. The run history's chain then has every
	// attempt at one.
	Counted func(fields []digest.Field) []string
	// Names, if set, returns the names of an instance for people: agent, competition and
	// seed, each "" if it is not known before anything runs. The plan stores them.
	Names func(Args) []string
	// New makes a step of decoded arguments. It does no I/O. An error is shown
	// to the author of the block.
	New func(Args) (Step, error)
	// Choose chooses the values of arguments that are their Attr.Open. It may
	// look at this machine. The choice is part of the key like a written value.
	// An error is shown like New's.
	Choose func(Args) ([]Choice, error)
}

// InBlocks describes a kind whose steps can be added by other blocks.
type InBlocks struct {
	// Output is the output that the other block receives as its argument with
	// the kind's name.
	Output string
	// Lock is an argument with a default: the first of the files that LockNames
	// names next to the file of the argument From, if one exists.
	From, Lock string
	LockNames  func(path string) []string
	// Named is an argument with a default: the files that the file of the argument From
	// names, by their paths relative to its folder. NamedBy returns them.
	Named   string
	NamedBy func(path, text string) []string
	// Place is an argument that holds a folder of this machine, if it is
	// written. The other block then has the same value for its argument of that
	// name.
	Place string
}

// Step is one instance that is ready to run.
type Step interface {
	// Run does the work. It writes only below env.WorkDir and into env.Store,
	// and returns soon after ctx is cancelled.
	Run(ctx context.Context, env *Env) (cache.Outputs, error)
}

// Fingerprinter is implemented by steps whose result depends on more than their
// arguments. Fingerprint is pure and fast: plan calls it.
type Fingerprinter interface {
	Fingerprint(h *digest.Hasher) error
}

// Varying is implemented by steps if some, but not all, of their kind may
// produce different bytes each time.
type Varying interface{ Varies() bool }

// Varies reports whether a step may produce different bytes each time.
func Varies(s Step) bool { return ask(s, Varying.Varies) }

// Attr is one argument.
type Attr struct {
	Name string
	// Type is the type to which the expression is converted: ArtifactType for
	// content, an object type for several outputs of a step at once.
	Type cty.Type
	// Required arguments must be written. A missing optional argument has the
	// value Default, or null if Default is the zero Value.
	Required bool
	Default  cty.Value
	// Cosmetic arguments do not change bytes and are not part of the key. Doc
	// explains why.
	Cosmetic bool
	// Command marks a program and its arguments. They run where the arguments
	// files and inputs are copied, not in the pipeline's folder.
	Command bool
	// Block means that the argument is not written itself. A nested block with
	// its name, which is the name of a kind, provides it; see Kind.InBlocks.
	Block bool
	// Files marks a map of content in which a string is the path of a file or
	// folder of the pipeline. A single folder stands for { "." = … }.
	Files bool
	// OneOf lists the allowed strings, if they are restricted.
	OneOf []string
	// Open, if set, is the string that leaves the value to the machine, such as
	// "auto"; see Kind.Choose.
	Open string
	// ByCommand means that the command line may give a value that no pipeline shows.
	ByCommand bool
	// Setting means that a step without the argument takes it from the
	// pipeline's mleflow block, if that has an argument of this name.
	Setting bool
	// Made, if set, provides the argument if it is not written.
	Made *Made
	// Served means that the kind keeps the content of the argument from the code that it
	// runs. An untrusted kind may then have the private outputs of the step that is made
	// for the argument, if that step consumed nothing private.
	Served bool
	// Group names the arguments that are shown together, such as GroupLimits; "" is none.
	Group string
	// Doc is one sentence for the reference pages, units included.
	Doc string
}

// Made describes the step that provides a missing argument. It is a step of
// another kind, with an instance for each combination of the arguments passed
// on to it. In the language it is an ordinary step with the same name, so it is
// planned, cached, locked and explained like a written one.
type Made struct {
	// Kind is the kind of the step. The argument is the object of its outputs.
	Kind string
	// When names the argument that requests the step: it must be written, with
	// a value that the file does not show to be its default. With "name=value",
	// only that value requests it.
	When string
	// Args are the arguments that are passed on under the same names. Those that
	// are content must be the same in all instances with equal other ones, which
	// must be known before anything runs.
	Args []string
}

// Block is a nested block: a name and its arguments. In Args it is an object
// under the block's name, or null if the block is not written.
type Block struct {
	Name string
	Args []Attr
	Doc  string
	// Group is as in Attr.
	Group string
}

// GroupLimits is the group of the arguments that bound what a step may use and reach.
const GroupLimits = "limits"

// Secrecy defines who may consume an output.
type Secrecy int

// The secrecies of an output.
const (
	// Inherit: private if the instance consumed anything private.
	Inherit Secrecy = iota
	// Private outputs must never be seen by an untrusted step.
	Private
	// Public outputs may be seen by anyone, regardless of their inputs.
	Public
	// Withheld outputs are for people. They may be published, but no untrusted
	// step may consume them or anything made from them. Only a model block may
	// replay them.
	Withheld
)

// Output is one named result of a kind.
type Output struct {
	Name string
	// Type is ArtifactType for content, or the type of a small value.
	Type    cty.Type
	Secrecy Secrecy
	// Optional means that the output may be missing from a result. It is then null.
	Optional bool
	Doc      string
}

// Registry is the set of kinds that a process knows.
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

// Kind returns the kind with that name, or nil.
func (r *Registry) Kind(name string) *Kind {
	kind, _ := r.Get(name)
	return kind
}

// MayHide reports whether an output may hold answers, or what was made from them,
// whatever its instance consumed.
func (k *Kind) MayHide(name string) bool {
	if k == nil || k.Output(name) == nil {
		return true
	}
	secrecy := k.Output(name).Secrecy
	return secrecy == Private || secrecy == Inherit && !k.Results && !k.Untrusted
}

// GroupOf returns the group of the argument or block that a field of a key is about. The
// timeout and the resources, which LimitsInKey adds, are limits.
func (k *Kind) GroupOf(label string) string {
	name, _, _ := strings.Cut(label, ".")
	if k.LimitsInKey && (name == "timeout" || name == "resources") {
		return GroupLimits
	}
	if a := AttrOf(k.Args, name); a != nil {
		return a.Group
	}
	if b := k.Block(name); b != nil {
		return b.Group
	}
	return ""
}

// AttrOf returns the argument with that name, or nil.
func AttrOf(attrs []Attr, name string) *Attr {
	return find(attrs, func(a *Attr) bool { return a.Name == name })
}

// Block returns the nested block with that name, or nil.
func (k *Kind) Block(name string) *Block {
	return find(k.Blocks, func(b *Block) bool { return b.Name == name })
}

// Output returns the output with that name, or nil.
func (k *Kind) Output(name string) *Output {
	return find(k.Outputs, func(o *Output) bool { return o.Name == name })
}

func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
