package prep

import (
	"context"
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// mount lays the archives that the block extracts over the raw folder.
//
//	extract = ["train.zip", "images.zip"]         each into the raw folder
//	extract = { "train.zip" = "train" }           into a folder of its own
func (b *block) mount(ctx context.Context, raw fs.FS, work string, unpacking *progress.Work) (fs.FS, func(), hcl.Diagnostics) {
	over := archive.NewOverlay(raw)
	over.Unpacking = unpacking
	closeAll := func() { _ = over.Close() }
	if b.extract == nil {
		return over, closeAll, nil
	}
	r := b.extract.Expr.Range()
	names, diags := b.archives()
	if diags.HasErrors() {
		return over, closeAll, diags
	}
	for _, a := range names {
		if err := over.Mount(ctx, a.name, a.value.AsString(), work); err != nil {
			return over, closeAll, wrong(r, "Cannot unpack "+a.name, "%v.", err)
		}
	}
	return over, closeAll, nil
}

// archives returns the archives to extract with the folder of each.
func (b *block) archives() ([]pair, hcl.Diagnostics) {
	v, diags := b.evaluator.value(b.extract.Expr, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	if !v.Type().IsObjectType() {
		var names []string
		if err := intoGo(v, &names); err != nil {
			diags = wrong(b.extract.Expr.Range(), "Wrong value for extract", "Expected a list of archives, or an object { \"archive\" = \"folder\" }.")
		}
		out := make([]pair, len(names))
		for i, name := range names {
			out[i] = pair{name: name, value: cty.StringVal(".")}
		}
		return out, diags
	}
	pairs, diags := b.evaluator.pairs(b.extract.Expr, nil)
	for _, p := range pairs {
		if p.value.Type() != cty.String || p.value.IsNull() {
			diags = wrong(p.at, "Wrong value for extract", "The folder of an archive must be a string.")
		}
	}
	return pairs, diags
}
