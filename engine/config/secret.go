package config

import (
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

// secretDir is the folder where paths of the secrets of an expression start, relative to
// the pipeline's folder: that of the file with the block. The value of a variable comes
// from elsewhere, and its paths start at the pipeline's folder.
func (b *Block) secretDir(e hcl.Expression) string {
	if slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return baseOf(t.RootName()) == "var" }) {
		return "."
	}
	return filepath.ToSlash(b.dir)
}

// secretDirs are the folders of the secrets of an agent by name, those besides the
// pipeline's.
func (b *Block) secretDirs(e hcl.Expression, secrets cty.Value) cty.Value {
	plain, _ := secrets.Unmark()
	if !plain.IsKnown() || b.dir == "." {
		return emptyOf(cty.Map(cty.String))
	}
	written := itemsOf(e)
	dirs := map[string]cty.Value{}
	for name := range plain.AsValueMap() {
		item := written[name]
		if item == nil {
			item = e
		}
		if dir := b.secretDir(item); dir != "." {
			dirs[name] = cty.StringVal(dir)
		}
	}
	return mapOf(cty.String, dirs)
}

// itemsOf are the items of an expression { NAME = … }, as far as their names are written
// out.
func itemsOf(e hcl.Expression) map[string]hcl.Expression {
	pairs, diags := hcl.ExprMap(e)
	if diags.HasErrors() {
		return nil
	}
	items := map[string]hcl.Expression{}
	for _, pair := range pairs {
		if name, _ := pair.Key.Value(nil); name.Type() == cty.String && name.IsKnown() && !name.IsNull() && !name.IsMarked() {
			items[name.AsString()] = pair.Value
		}
	}
	return items
}

// Secrets are the references of agents and models, as far as they are written out.
func (p *Pipeline) Secrets() (list []step.SecretRef) {
	add := func(b *Block, e hcl.Expression) {
		if v, _ := e.Value(nil); v.Type() == cty.String && v.IsKnown() && !v.IsNull() && !v.IsMarked() {
			list = append(list, step.SecretRef{Ref: v.AsString(), Dir: b.secretDir(e)})
		}
	}
	for _, n := range p.nodes() {
		switch {
		case n.block == nil:
		case n.block.Args["key"] != nil:
			add(n.block, n.block.Args["key"])
		case n.block.Args["secrets"] != nil:
			for _, e := range itemsOf(n.block.Args["secrets"]) {
				add(n.block, e)
			}
		}
	}
	return list
}
