package competitions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/engine/diag"
)

// change holds the parts of an errata block that replace those of v1.
type change struct {
	version string
	locals  locals
	prepare *hclsyntax.Block
	grade   *hclsyntax.Block
	flags   []Flag
	pins    *Checksums
}

var versionName = pattern.New(`^v[1-9][0-9]{0,3}$`)

var errataBlocks = map[string]blockShape{"locals": {}, "prepare": {}, "grade": {}}

// errata decodes
//
//	errata "v2" {
//	  reason    = "what is wrong in v1 and what v2 does"
//	  reference = "grade.py"    # where the defect is described: a URL, or a file in the reference's folder of the competition
//	  flags     = ["crowded"]   # what reports of this version say about the competition
//	  fixes     = ["record-answers"]   # lint rules that find the defect in earlier versions
//	  locals  { … }             # each replaces the local of that name
//	  prepare { … }             # replaces the block
//	  grade   { … }             # replaces the block
//	}
func (d *decoder) errata(blocks []*hclsyntax.Block) {
	for _, b := range blocks {
		version := b.Labels[0]
		e := Erratum{Version: version}
		d.check(b.Body, attributesOf("errata"), errataBlocks)
		if slices.Contains(d.def.Versions(), version) {
			d.fail(b.LabelRanges[0], "Version "+version+" exists", "Write the name of the version that this block defines: v2, v3, …")
			continue
		}
		if !versionName.Regexp().MatchString(version) {
			d.fail(b.LabelRanges[0], "Wrong version "+version, "Versions are named v2, v3, …")
			continue
		}
		d.fill(b.Body, &e)
		e.Reference = d.referenceURL(e.Reference)
		for i, flag := range e.Flags {
			if !slices.Contains(flags(), flag) || slices.Contains(e.Flags[:i], flag) {
				d.fail(b.Body.Attributes["flags"].Expr.Range(), "Wrong flag "+string(flag), "Write each once, of %v.", flags())
			}
		}
		c := change{version: version, locals: locals{}, flags: e.Flags}
		for _, inner := range b.Body.Blocks {
			switch inner.Type {
			case "locals":
				c.locals = locals(inner.Body.Attributes)
			case "prepare":
				c.prepare = inner
			case "grade":
				c.grade = inner
			}
		}
		d.def.Errata = append(d.def.Errata, e)
		d.def.changes = append(d.def.changes, c)
	}
}

// referenceURL returns the URL of an attribute reference. A value without a scheme is
// a file in the reference's folder of the competition.
func (d *decoder) referenceURL(at string) string {
	if at == "" || strings.Contains(at, "://") {
		return at
	}
	return "https://github.com/openai/mle-bench/blob/" + referenceCommit + "/mlebench/competitions/" + d.def.ID + "/" + at
}

// At returns the definition in another version: v1, one that an errata block
// makes, or the masked version of one of these, such as v1m. Later versions build on the earlier ones. The pins of v1 say
// nothing about versions that prepare in another way and are dropped there,
// unless the version has its own. A version prepares in another way if it has
// its own prepare block, or changes a local that the block reads.
func (d *Definition) At(version string) (*Definition, error) {
	if version == d.Version {
		return d, nil
	}
	if IsMasked(version) && !d.Masked() {
		return d.masked(version)
	}
	at := slices.IndexFunc(d.changes, func(c change) bool { return c.version == version })
	if at < 0 || d.Version != "v1" {
		if near := diag.Nearest(version, d.Versions()); near != "" {
			return nil, fmt.Errorf("competition %s has no version %q; did you mean %q?", d.ID, version, near)
		}
		return nil, fmt.Errorf("competition %s has no version %q; it has %v", d.ID, version, d.Versions())
	}
	out := *d
	out.Version = version
	for _, c := range d.changes[:at+1] {
		out.apply(c)
	}
	return &out, nil
}

func (d *Definition) apply(c change) {
	d.locals = maps.Clone(d.locals)
	maps.Copy(d.locals, c.locals)
	d.Flags = append(slices.Clip(d.Flags), c.flags...)
	if c.prepare != nil || c.pins != nil || d.prepareReads(c.locals) {
		d.Checksums, d.pinsVersion = Checksums{}, c.version
	}
	if c.pins != nil {
		d.Checksums = *c.pins
	}
	if c.prepare != nil {
		d.Prepare = blockOf(c.prepare)
	}
	if c.grade != nil {
		d.Grade = blockOf(c.grade)
		d.direct()
	}
}

// prepareReads reports whether the prepare block reads one of the locals, itself
// or through others.
func (d *Definition) prepareReads(changed locals) bool {
	body, ok := d.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return false
	}
	names := referenced(body)
	for i := 0; i < len(names); i++ { // names grows
		if _, ok := changed[names[i]]; ok {
			return true
		}
		if attr, ok := d.locals[names[i]]; ok {
			names = append(names, lists.Where(localNames(attr.Expr), func(name string) bool { return !slices.Contains(names, name) })...)
		}
	}
	return false
}

func blockOf(b *hclsyntax.Block) Block {
	return Block{Body: hcl.Body(b.Body), Range: b.DefRange()}
}
