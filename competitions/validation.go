package competitions

import (
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
)

// Validation says how a competition's public data are split once more, where its prepare
// block cannot do it unchanged; see Holdout.
type Validation struct {
	// Kind is the kind of the split, one of SplitKinds, where the prepare block does not
	// show it.
	Kind string `attr:"kind"`
	// Share is the held-out part, as a note for people.
	Share string `attr:"share"`
	// Note says for people what is special about the split.
	Note string `attr:"note"`
	// Training and Test are patterns of path.Match for the public files, and folders of
	// them, that hold training data, or do not, where names and expressions do not tell.
	Training []string `attr:"training"`
	Test     []string `attr:"test"`

	block Block
}

// SplitKinds are the kinds of splits: of rows or files at random, of groups of them at
// random, in each class, by time, or another one.
func SplitKinds() []string { return []string{"random", "grouped", "stratified", "time", "own"} }

// validation decodes
//
//	validation {
//	  kind     = "time"                        # besides, share and note for the table of the documentation
//	  training = ["depths.csv"]                # test = […] likewise
//	  extract  = { "train.zip" = "train" }     # in place of that of the prepare block
//	  locals  { parts = … }                    # each replaces the local of that name, of the competition or the prepare block
//	  prepare { … }                            # replaces the block
//	}
func (d *decoder) validation(b *hclsyntax.Block) {
	v := &d.def.Validation
	d.check(b.Body, attributesOf("validation"), map[string]blockShape{"locals": {}, "prepare": {}})
	d.fill(b.Body, v)
	v.block = blockOf(b)
	if v.Kind != "" && !slices.Contains(SplitKinds(), v.Kind) {
		d.fail(b.Body.Attributes["kind"].Expr.Range(), "Unknown kind of split", "Write one of %v.", SplitKinds())
	}
	for name, patterns := range map[string][]string{"training": v.Training, "test": v.Test} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil {
				d.fail(b.Body.Attributes[name].Expr.Range(), "Wrong pattern", "%q: %v.", p, err)
			}
		}
	}
}

// Holdout returns the definition that splits the public files of this one once more: its
// prepare block reads them in place of the raw data. It differs only where the definition
// has a block validation.
func (d *Definition) Holdout() *Definition {
	if d.Validation.block.IsZero() {
		return d
	}
	out, own := *d, d.Validation.block.Body.(*hclsyntax.Body)
	body := hclsyntax.Body{}
	if b, ok := d.Prepare.Body.(*hclsyntax.Body); ok {
		body = *b
	}
	for _, b := range own.Blocks {
		if b.Type == "prepare" {
			body, out.Prepare.Range = *b.Body, b.DefRange()
		}
	}
	if extract := own.Attributes["extract"]; extract != nil {
		body.Attributes = maps.Clone(body.Attributes)
		body.Attributes["extract"] = extract
	}
	inner := hclsyntax.Attributes{}
	out.locals = maps.Clone(d.locals)
	for name, attr := range localsOf(own) {
		if _, ok := d.locals[name]; ok {
			out.locals[name] = attr
		} else {
			inner[name] = attr
		}
	}
	body.Blocks = withLocals(body.Blocks, inner)
	out.Prepare.Body = hcl.Body(&body)
	return &out
}

// withLocals returns the blocks of a prepare block with other locals in place of those of
// the same names.
func withLocals(blocks hclsyntax.Blocks, locals hclsyntax.Attributes) (out hclsyntax.Blocks) {
	for _, b := range blocks {
		if b.Type == "locals" {
			changed, body := *b, *b.Body
			body.Attributes = maps.Clone(body.Attributes)
			maps.DeleteFunc(body.Attributes, func(name string, _ *hclsyntax.Attribute) bool { return locals[name] != nil })
			changed.Body, b = &body, &changed
		}
		out = append(out, b)
	}
	if len(locals) > 0 {
		out = append(out, &hclsyntax.Block{Type: "locals", Body: &hclsyntax.Body{Attributes: locals}})
	}
	return out
}

// HoldoutDigest identifies everything in the definition that its holdout depends on.
func (d *Definition) HoldoutDigest(params map[string]cty.Value) (digest.ContentID, hcl.Diagnostics) {
	h := digest.NewHasher("holdout definition", "1")
	sum, diags := d.PrepareDigest(params)
	h.Content("prepare", sum)
	if !diags.HasErrors() {
		diags = d.hashBlock(h, d.Validation.block, params)
	}
	return digest.ContentID(h.Sum()), diags
}
