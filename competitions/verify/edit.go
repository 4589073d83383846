package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
)

// edit returns the text of a definition with other pins. Only the checksums
// block of its version changes, and in it only what has to.
func edit(def *competitions.Definition, sums competitions.Checksums) ([]byte, error) {
	src := def.Source()
	file, diags := hclsyntax.ParseConfig(src, def.FilePath(), hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	outer, indent := blockNamed(file.Body.(*hclsyntax.Body), "competition"), "  "
	if outer != nil && def.Version != "v1" {
		outer, indent = blockNamed(outer.Body, "errata", def.Version), "    "
	}
	if outer == nil {
		return nil, errors.New("there is no block of version " + def.Version)
	}
	var e edits
	block := blockNamed(outer.Body, "checksums")
	switch {
	case block == nil:
		at := outer.CloseBraceRange.Start.Byte
		for at > 0 && src[at-1] == ' ' {
			at--
		}
		e.put(at, "\n"+newBlock(sums, indent)+"\n")
	case len(block.Body.Attributes) == 0 || block.OpenBraceRange.Start.Line == block.CloseBraceRange.Start.Line:
		e.replace(hcl.RangeBetween(block.TypeRange, block.CloseBraceRange), strings.TrimLeft(newBlock(sums, indent), " "))
	default:
		e.block(src, block, sums, indent+"  ")
	}
	return checkEdit(def, e.apply(src), sums)
}

func blockNamed(body *hclsyntax.Body, kind string, labels ...string) *hclsyntax.Block {
	at := slices.IndexFunc(body.Blocks, func(b *hclsyntax.Block) bool { return b.Type == kind && slices.Equal(b.Labels[:len(labels)], labels) })
	if at < 0 {
		return nil
	}
	return body.Blocks[at]
}

// newBlock writes a whole checksums block.
func newBlock(sums competitions.Checksums, indent string) string {
	text := indent + "checksums {\n"
	text += indent + "  public = " + newMap(sums.Public, indent+"  ") + "\n"
	text += indent + "  private = " + newMap(sums.Private, indent+"  ") + "\n"
	return text + indent + "  manifest = " + quote(sums.Manifest) + "\n" + indent + "}"
}

// newMap writes the pins of a half.
func newMap(pins map[string]string, indent string) string {
	if len(pins) == 0 {
		return "{}"
	}
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		fmt.Fprintf(&b, "%s = %s\n", quote(name), quote(pins[name]))
	}
	b.WriteString("}")
	lines := strings.Split(string(hclwrite.Format([]byte("x = "+b.String()))), "\n")
	return strings.TrimPrefix(strings.Join(lines, "\n"+indent), "x = ")
}

// quote writes a text of the language.
func quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// edits are replacements in a text, in any order, that do not overlap.
type edits []replacement

type replacement struct {
	from, to int
	text     string
}

func (e *edits) put(at int, text string) { *e = append(*e, replacement{at, at, text}) }

func (e *edits) replace(r hcl.Range, text string) {
	*e = append(*e, replacement{r.Start.Byte, r.End.Byte, text})
}

func (e edits) apply(src []byte) []byte {
	slices.SortStableFunc(e, func(a, b replacement) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, r := range e {
		out = append(append(out, src[at:r.from]...), r.text...)
		at = r.to
	}
	return append(out, src[at:]...)
}

// block edits a checksums block that has attributes, one a line and indented so.
func (e *edits) block(src []byte, block *hclsyntax.Block, sums competitions.Checksums, indent string) {
	attrs := block.Body.Attributes
	var added string
	for _, half := range []struct {
		name string
		pins map[string]string
	}{{"public", sums.Public}, {"private", sums.Private}} {
		if attr := attrs[half.name]; attr != nil {
			e.pins(src, attr, half.pins)
		} else if len(half.pins) > 0 {
			added += indent + half.name + " = " + newMap(half.pins, indent) + "\n"
		}
	}
	if attr := attrs["manifest"]; attr == nil {
		added += indent + "manifest = " + quote(sums.Manifest) + "\n"
	} else if text(attr.Expr) != sums.Manifest {
		e.replace(attr.Expr.Range(), quote(sums.Manifest))
	}
	last := competitions.InOrder(block.Body)[len(attrs)-1]
	if added != "" {
		e.put(lineEnd(src, last.SrcRange.End.Byte), added)
	}
}

// lineEnd returns where the line after the one of a place begins.
func lineEnd(src []byte, at int) int {
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(src)
}

// text returns the value of a constant text.
func text(expr hclsyntax.Expression) string {
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.Type().Equals(cty.String) {
		return ""
	}
	return v.AsString()
}

// pins edits the pins of a half: values in place when the names stay, else the
// whole map, which loses comments within it.
func (e *edits) pins(src []byte, attr *hclsyntax.Attribute, pins map[string]string) {
	object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr)
	same := ok && len(object.Items) == len(pins)
	for i := 0; same && i < len(object.Items); i++ {
		_, same = pins[text(object.Items[i].KeyExpr)]
	}
	if !same {
		indent := strings.Repeat(" ", attr.SrcRange.Start.Column-1)
		e.replace(attr.Expr.Range(), newMap(pins, indent))
		return
	}
	for _, item := range object.Items {
		if want := pins[text(item.KeyExpr)]; text(item.ValueExpr) != want {
			e.replace(item.ValueExpr.Range(), quote(want))
		}
	}
}

// checkEdit sees that an edited definition says what it should, by reading it.
func checkEdit(def *competitions.Definition, src []byte, sums competitions.Checksums) ([]byte, error) {
	again, diags := competitions.LoadOne(&edited{def.Folder(), def.ID, src}, def.ID)
	if diags.HasErrors() {
		return nil, fmt.Errorf("the definition cannot be edited: %w", diags)
	}
	again, err := again.At(def.Version)
	if err != nil {
		return nil, err
	}
	got := again.Checksums
	if !maps.Equal(got.Pinned(), sums.Pinned()) || got.Manifest != sums.Manifest {
		return nil, errors.New("the checksums block cannot be edited: write its pins as plain texts in public = { … } and private = { … }")
	}
	return src, nil
}

// edited is the folder of competitions with one definition in another text.
type edited struct {
	folder fs.FS // the competition's own
	id     string
	text   []byte
}

// Open implements fs.FS.
func (e *edited) Open(name string) (fs.File, error) {
	if name == e.id {
		return e.folder.Open(".")
	}
	return e.folder.Open(strings.TrimPrefix(name, e.id+"/"))
}

// ReadFile implements fs.ReadFileFS.
func (e *edited) ReadFile(name string) ([]byte, error) {
	if name == e.id+"/"+competitions.FileName {
		return e.text, nil
	}
	return fs.ReadFile(e.folder, strings.TrimPrefix(name, e.id+"/"))
}
