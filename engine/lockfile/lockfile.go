package lockfile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// format is the version of the format.
const format = 1

// File is a lock file.
type File struct {
	// Version is the version of the program that wrote the file.
	Version string
	// Pipeline is the base name of the pipeline file.
	Pipeline string
	// Steps are sorted by address.
	Steps []Step
}

// Step holds the pins of one instance.
type Step struct {
	Addr addr.Instance
	// Action is the instance's key, or zero if an input varies.
	Action digest.ActionID
	// Inputs are the fields of the key by label; see Inputs.
	Inputs map[string]string
	// Outputs are the outputs by name, or nil if none are pinned. See Outputs.
	Outputs map[string]string
}

// Inputs converts the fields of a key for a Step.
func Inputs(fields []digest.Field) map[string]string {
	inputs := make(map[string]string, len(fields))
	for _, f := range fields {
		label := f.Label
		for n := 2; ; n++ {
			if _, taken := inputs[label]; !taken {
				break
			}
			label = f.Label + " (" + strconv.Itoa(n) + ")"
		}
		inputs[label] = f.Value
	}
	return inputs
}

// Outputs converts an action's outputs for a Step.
func Outputs(outputs cache.Outputs) map[string]string {
	pins := make(map[string]string, len(outputs))
	for name, v := range outputs {
		if v.Ref.IsZero() {
			pins[name] = string(v.JSON)
			continue
		}
		pins[name] = string(v.Ref.Kind) + " " + v.Ref.ID.String()
	}
	return pins
}

// Find returns the step at an address.
func (f *File) Find(a addr.Instance) (Step, bool) {
	i, found := slices.BinarySearchFunc(f.Steps, a, func(s Step, a addr.Instance) int { return s.Addr.Compare(a) })
	if !found {
		return Step{}, false
	}
	return f.Steps[i], true
}

// sort puts the steps in order.
func (f *File) sort() {
	slices.SortFunc(f.Steps, func(a, b Step) int { return a.Addr.Compare(b.Addr) })
}

// New returns the lock of the given steps.
func New(version, pipeline string, steps []Step) *File {
	f := &File{Version: version, Pipeline: pipeline, Steps: slices.Clone(steps)}
	f.sort()
	return f
}

// Update returns f with the selected steps replaced by those of newer, or
// removed if newer does not have them. Other steps stay unchanged.
func (f *File) Update(newer *File, selected func(addr.Instance) bool) *File {
	steps := make([]Step, 0, len(newer.Steps))
	for _, s := range f.Steps {
		if !selected(s.Addr) {
			steps = append(steps, s)
		}
	}
	for _, s := range newer.Steps {
		if selected(s.Addr) {
			steps = append(steps, s)
		}
	}
	return New(newer.Version, newer.Pipeline, steps)
}

// Deviation is one difference from a lock.
type Deviation struct {
	Address string `json:"address"`
	// Field is the label of an input, or "output NAME".
	Field string `json:"field"`
	// Was is the value in the lock and Is the actual value. One of them is
	// empty if it is missing there.
	Was string `json:"was"`
	Is  string `json:"is"`
}

// String returns the deviation as one phrase.
func (d Deviation) String() string {
	switch {
	case d.Field == "":
		return fmt.Sprintf("%s is %s", d.Address, d.Is)
	case d.Was == "":
		return fmt.Sprintf("%s: %s is %s; it is not in the lock", d.Address, d.Field, d.Is)
	case d.Is == "":
		return fmt.Sprintf("%s: %s is missing; the lock has %s", d.Address, d.Field, d.Was)
	}
	return fmt.Sprintf("%s: %s is %s; the lock has %s", d.Address, d.Field, d.Is, d.Was)
}

// CheckInputs compares the fields of a key with the locked ones, sorted by
// label. Varying and withheld inputs are skipped; see the package
// documentation.
func (s Step) CheckInputs(inputs map[string]string) []Deviation {
	return s.compare("", s.Inputs, inputs, func(was string) bool { return varies(was) || withheld(was) })
}

// CheckAction checks inputs that CheckInputs cannot compare: if inputs are
// withheld and none varies, the action must be the locked one.
func (s Step) CheckAction(action digest.ActionID) []Deviation {
	if s.Action.IsZero() || s.Action == action || s.has(varies) || !s.has(withheld) {
		return nil
	}
	return []Deviation{{s.Addr.String(), "action, by an input that the lock withholds,", s.Action.String(), action.String()}}
}

// Binds reports whether the locked outputs apply to an action. They do not if
// an input varies and had a different value.
func (s Step) Binds(action digest.ActionID) bool {
	return s.Action.IsZero() || s.Action == action || !s.has(varies)
}

func (s Step) has(what func(string) bool) bool {
	for _, value := range s.Inputs {
		if what(value) {
			return true
		}
	}
	return false
}

// CheckOutputs compares outputs with the locked ones, sorted by name. Without
// locked outputs there is nothing to compare. Withheld values are skipped.
func (s Step) CheckOutputs(outputs map[string]string) []Deviation {
	if s.Outputs == nil {
		return nil
	}
	return s.compare("output ", s.Outputs, outputs, withheld)
}

func (s Step) compare(prefix string, was, is map[string]string, skip func(was string) bool) (list []Deviation) {
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, had := was[name]
		now, has := is[name]
		if had == has && (old == now || skip(old)) {
			continue
		}
		list = append(list, Deviation{s.Addr.String(), prefix + name, old, now})
	}
	return list
}

// Compare lists the differences between was and is: the program's version,
// steps in only one of them, inputs and outputs.
func Compare(was, is *File) (list []Deviation) {
	if was.Version != is.Version {
		list = append(list, Deviation{"mleflow", "version", was.Version, is.Version})
	}
	for _, s := range was.Steps {
		now, found := is.Find(s.Addr)
		if !found {
			list = append(list, Deviation{Address: s.Addr.String(), Is: "in the lock and not in the pipeline"})
			continue
		}
		list = append(list, s.CheckInputs(now.Inputs)...)
		if now.Outputs != nil {
			list = append(list, s.CheckOutputs(now.Outputs)...)
		}
	}
	for _, s := range is.Steps {
		if _, found := was.Find(s.Addr); !found {
			list = append(list, Deviation{Address: s.Addr.String(), Is: "in the pipeline and not in the lock"})
		}
	}
	return list
}

// withheldPrefix is the prefix of a value that the lock of a published run does
// not disclose.
const withheldPrefix = "(withheld: "

// Withhold returns the replacement, with the reason, for an undisclosed input
// or small output.
func Withhold(why string) string { return withheldPrefix + why + ")" }

// withheld reports whether a value was made by Withhold.
func withheld(value string) bool { return strings.HasPrefix(value, withheldPrefix) }

func varies(value string) bool { _, ok := Varying(value); return ok }

// varyingPrefix is the prefix of the value of an input that varies.
const varyingPrefix = "varies: "

// Vary returns the value for an input that contains a varying output. from
// names its origin.
func Vary(from string) string { return varyingPrefix + from }

// Origin is a varying step among the dependencies of another one, and what it gave.
type Origin struct {
	Address string
	Outputs cache.Outputs
}

// gave reports whether a value names content that the step produced.
func (o Origin) gave(value string) bool {
	for _, v := range o.Outputs {
		if !v.Ref.IsZero() && strings.Contains(value, v.Ref.ID.String()) {
			return true
		}
	}
	return false
}

// MarkVarying marks the inputs that contain outputs of a varying step. If any is true,
// an argument depends on a small value of another step, and every input may
// contain it.
func MarkVarying(inputs map[string]string, from []Origin, any bool) {
	for label, value := range inputs {
		if strings.HasPrefix(label, "kind") || step.IsCondition(label) {
			continue
		}
		if i := slices.IndexFunc(from, func(o Origin) bool { return any || o.gave(value) }); i >= 0 {
			inputs[label] = Vary(from[i].Address)
		}
	}
}

// Varying reports whether a value was made by Vary, and returns the origin.
func Varying(value string) (from string, ok bool) {
	if from, ok = strings.CutPrefix(value, varyingPrefix); !ok {
		from = ""
	}
	return from, ok
}

// maxSize is the maximum size of a lock file in bytes.
const maxSize = 256 << 20

// head is the lock block.
type head struct {
	Format   int    `hcl:"format"`
	Version  string `hcl:"mleflow"`
	Pipeline string `hcl:"pipeline"`
}

// block is a step block. Its labels are read separately, because their number
// varies.
type block struct {
	Action  string            `hcl:"action,optional"`
	Inputs  map[string]string `hcl:"inputs"`
	Outputs map[string]string `hcl:"outputs,optional"`
}

// Read reads the lock file at path.
func Read(path string) (*File, diag.List) {
	src, err := checkout.ReadFile(path, maxSize, checkout.Roots(filepath.Dir(path))...)
	if err != nil {
		return nil, diag.List{diag.Failure("No lock file", fmt.Errorf("%w; write it with: mleflow lock", err))}
	}
	return Parse(path, src)
}

// Parse parses a lock file; path is the name shown in ranges.
func Parse(path string, src []byte) (*File, diag.List) {
	parsed, diags := bounded.ParseLarge(src, path)
	if diags.HasErrors() {
		return nil, diags
	}
	body := parsed.Body.(*hclsyntax.Body)
	if diags := onlyBlocks(body); diags.HasErrors() {
		return nil, diags
	}
	f := &File{}
	seen := map[addr.Instance]bool{}
	heads := 0
	for _, b := range body.Blocks {
		if b.Type == "lock" {
			heads++
			diags = append(diags, f.readHead(b)...)
			continue
		}
		s, more := readStep(b)
		if seen[s.Addr] {
			more = append(more, diag.Error(b.DefRange(), "Step locked twice", "%s occurs a second time; write the file again with mleflow lock.", s.Addr))
		}
		seen[s.Addr] = true
		diags = append(diags, more...)
		f.Steps = append(f.Steps, s)
	}
	if heads != 1 {
		diags = append(diags, diag.Error(body.MissingItemRange(), "Not a lock file", "A lock file has one lock block; this one has %d. Write it again with mleflow lock.", heads))
	}
	f.sort()
	return f, diags
}

// onlyBlocks rejects everything except lock and step blocks.
func onlyBlocks(body *hclsyntax.Body) (diags diag.List) {
	for _, a := range body.Attributes {
		diags = append(diags, diag.Error(a.NameRange, "Not in a lock file", "A lock file holds lock and step blocks and no arguments."))
	}
	for _, b := range body.Blocks {
		if b.Type != "lock" && b.Type != "step" {
			diags = append(diags, diag.Error(b.TypeRange, "Not in a lock file", "A lock file holds lock and step blocks, no %q.", b.Type))
		}
	}
	return diags
}

func (f *File) readHead(b *hclsyntax.Block) diag.List {
	var h head
	diags := gohcl.DecodeBody(b.Body, nil, &h)
	if diags.HasErrors() {
		return diags
	}
	if h.Format != format {
		return diag.List{diag.Error(b.DefRange(), "Unknown format", "The lock file has format %d, but this version of mleflow reads format %d. Write it again with mleflow lock.", h.Format, format)}
	}
	f.Version, f.Pipeline = h.Version, h.Pipeline
	return nil
}

func readStep(b *hclsyntax.Block) (Step, diag.List) {
	var s Step
	if n := len(b.Labels); n != 2 && n != 3 {
		return s, diag.List{diag.Error(b.DefRange(), "Wrong labels", "A step has its kind, its name and, with for_each, its key as labels.")}
	}
	s.Addr = addr.Single(addr.Step{Kind: b.Labels[0], Name: b.Labels[1]})
	if len(b.Labels) == 3 {
		s.Addr = addr.Keyed(s.Addr.Step, b.Labels[2])
	}
	var c block
	diags := gohcl.DecodeBody(b.Body, nil, &c)
	if diags.HasErrors() {
		return s, diags
	}
	s.Inputs, s.Outputs = c.Inputs, c.Outputs
	if c.Action == "" {
		return s, nil
	}
	var err error
	if s.Action, err = digest.ParseActionID(c.Action); err != nil {
		return s, diag.List{diag.Error(b.Body.Attributes["action"].SrcRange, "Wrong action", "%s.", err)}
	}
	return s, nil
}

// heading is the first line of a lock file.
const heading = "# Written by mleflow lock. mleflow apply --locked refuses what differs.\n\n"

// Encode returns the content of the file.
func (f *File) Encode() []byte {
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	head := body.AppendNewBlock("lock", nil).Body()
	head.SetAttributeValue("format", cty.NumberIntVal(format))
	head.SetAttributeValue("mleflow", cty.StringVal(f.Version))
	head.SetAttributeValue("pipeline", cty.StringVal(f.Pipeline))
	for _, s := range f.Steps {
		body.AppendNewline()
		s.write(body)
	}
	return append([]byte(heading), hclwrite.Format(file.Bytes())...)
}

func (s Step) write(body *hclwrite.Body) {
	labels := []string{s.Addr.Step.Kind, s.Addr.Step.Name}
	if s.Addr.HasKey {
		labels = append(labels, s.Addr.Key)
	}
	block := body.AppendNewBlock("step", labels).Body()
	if !s.Action.IsZero() {
		block.SetAttributeValue("action", cty.StringVal(s.Action.String()))
	}
	block.SetAttributeValue("inputs", texts(s.Inputs))
	if s.Outputs != nil {
		block.SetAttributeValue("outputs", texts(s.Outputs))
	}
}

// texts returns an object. HCL writes its attributes sorted by name.
func texts(m map[string]string) cty.Value {
	values := make(map[string]cty.Value, len(m))
	for name, text := range m {
		values[name] = cty.StringVal(text)
	}
	return cty.ObjectVal(values)
}
