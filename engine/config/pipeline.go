package config

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// Pipeline is one decoded pipeline file, together with those that it extends,
// not yet evaluated.
type Pipeline struct {
	// Path is the file as it was named.
	Path string
	// Source is the file's content. The files that it extends are among the
	// LocalFiles.
	Source []byte
	// Files are the parsed files, for snippets in diagnostics.
	Files diag.Sources
	// RemoteCache is the URL of the cache in the file's settings, or empty.
	RemoteCache string
	// Settings are the arguments of the mleflow block that steps take where they
	// do not write them; see step.Attr.Setting.
	Settings map[string]hcl.Expression

	Variables map[string]*Variable
	// Steps are in the order of the file, after those of the file it extends.
	Steps []*Step
	// Evaluate is the evaluate block, or nil.
	Evaluate *Block
	// Outputs are in the same order.
	Outputs []*Output
	Notify  []Notify

	// folders are the values of path.module, by root, and modules where the modules are
	// declared. moves are the moved blocks.
	folders map[string]string
	modules map[string]hcl.Range
	moves   []move
	// named are the local values, models, agents and outputs by root and name, and the
	// variables of modules.
	named map[string]map[string]*node
	kinds *step.Registry
	// benchmark is Options.Benchmark.
	benchmark func(step.Benchmark) (arg string, err error)
	byAddr    map[addr.Step]*Step
	funcs     map[string]function.Function
	budget    *bounded.Budget // of all evaluation
	local     *local.Files
	order     []node
}

// Names are the names of the blocks of a type, "model" or "agent", sorted.
func (p *Pipeline) Names(blockType string) []string {
	return slices.Sorted(maps.Keys(p.named[blockType]))
}

// LocalFiles is what expanding the pipeline read from its folder.
func (p *Pipeline) LocalFiles() *local.Files { return p.local }

// folderOf returns the absolute folder of a file, so that it stays valid when
// the working directory changes; the name unchanged if that is unknown.
func folderOf(path string) string {
	dir := filepath.Dir(path)
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// Variable is a variable block.
type Variable struct {
	Name        string
	Description string
	Type        cty.Type
	// Default is cty.NilVal if the variable is required.
	Default     cty.Value
	Sensitive   bool
	Validations []Validation
	Range       hcl.Range

	// optional are the defaults of optional attributes in its type.
	optional *typeexpr.Defaults
	// plain means that text from a command line or the environment is the value
	// itself, because the type is primitive or not written. Other text is an expression.
	plain bool
}

// Validation is a rule of a variable or a step.
type Validation struct {
	Condition, Message hcl.Expression
	Range              hcl.Range
}

// Block is a block with a name and arguments: a model, an agent, a step or an evaluation.
type Block struct {
	Name string
	// Range is the block's header.
	Range hcl.Range
	// Args are the expressions by argument name; Blocks those of each nested
	// block by block name, or TYPE.LABEL of one with a label.
	Args   map[string]hcl.Expression
	Blocks map[string]map[string]hcl.Expression
	// dir is the folder of the file of a model or an agent, relative to the pipeline's.
	dir string
}

func newBlock(name string, r hcl.Range, attrs hcl.Attributes) Block {
	return Block{Name: name, Range: r, Args: exprs(attrs), Blocks: map[string]map[string]hcl.Expression{}}
}

func (b *Block) expressions() []hcl.Expression {
	return slices.Concat(sortedExprs(b.Args), blockExprs(b.Blocks))
}

// ArgRange returns the range of an argument, a nested block, or an argument of one as
// BLOCK.ARGUMENT. It is that of the block's header if it was not written.
func (b *Block) ArgRange(name string) hcl.Range {
	if e := b.Args[name]; e != nil {
		return e.Range()
	}
	if block := sortedExprs(b.Blocks[name]); len(block) > 0 {
		return block[0].Range()
	}
	at := max(0, strings.LastIndex(name, "."))
	if e := b.Blocks[name[:at]][strings.TrimPrefix(name[at:], ".")]; e != nil {
		return e.Range()
	}
	return b.Range
}

// Output is an output block.
type Output struct {
	Name        string
	Description string
	Value       hcl.Expression
	// Publish are the expressions of its publish block; nil without one.
	Publish map[string]hcl.Expression
	Range   hcl.Range
}

// Step is a step block.
type Step struct {
	Block
	Addr addr.Step
	Kind *step.Kind

	ForEach   hcl.Expression
	DependsOn hcl.Expression
	On        hcl.Expression
	Timeout   hcl.Expression
	// When is the condition under which it runs, or nil.
	When hcl.Expression
	// Before are its preconditions, and After its postconditions.
	Before, After []Validation

	// short has the shortcuts of its expressions, if instances of the pipeline may be skipped.
	short *shared
	// argNames are the names of arguments and blocks, once the step is expanded.
	argNames []string
}

// Retry says how often and when an instance is retried.
type Retry struct {
	// Tries is the total number of tries, at least 1.
	Tries int
	// Backoff is the wait after the first failure; it doubles up to
	// MaxBackoff.
	Backoff, MaxBackoff time.Duration
}

// Options are what the language needs from its surroundings.
type Options struct {
	// Kinds are the step kinds of the process.
	Kinds *step.Registry
	// Functions are added to the standard ones.
	Functions map[string]function.Function
	// Benchmark checks a benchmark block, and names the argument that is wrong; nil checks
	// nothing.
	Benchmark func(step.Benchmark) (arg string, err error)
	// Version is checked against required_version.
	Version string
	// Private are folders whose content must not reach untrusted code, such as
	// the cache.
	Private []string
	// Within is the only folder whose files the pipeline may read; "" is any.
	Within string
	// Digests is the file in which digests of large local files are remembered, if any.
	Digests string
	// Files are the files that a past run recorded, by name, for a pipeline
	// that is expanded again; nil reads the pipeline's folder.
	Files map[string][]byte
	// Shipped are pipeline files that are used where the pipeline's folder has
	// none of the name; nil means none.
	Shipped fs.FS
}
