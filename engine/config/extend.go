package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
)

// text is one file of a pipeline: the one that was named, or one that it
// extends, directly or by way of another.
type text struct {
	// name is the path relative to the pipeline's folder, path as it is shown.
	name, path string
	file       *hcl.File
}

// texts parses a pipeline's file and those that it extends, the one that
// extends nothing first. They are read as files of the pipeline's folder, so a
// run records them with all else that it read there.
func texts(path string, src []byte, from *local.Files) (list []text, diags diag.List) {
	name := filepath.Base(path)
	for {
		t := text{name: name, path: filepath.Join(filepath.Dir(path), name)}
		if len(list) == 0 {
			t.path = path // as it was named
		}
		var more diag.List
		t.file, more = hclsyntax.ParseConfig(src, t.path, hcl.InitialPos)
		list, diags = slices.Insert(list, 0, t), append(diags, more...)
		if more.HasErrors() {
			return list, diags
		}
		base, more := extends(t.file.Body)
		diags = append(diags, more...)
		if base == nil || diags.HasErrors() {
			return list, diags
		}
		if name, src, more = readBase(list, base, from); more.HasErrors() {
			return list, append(diags, more...)
		}
	}
}

// extends returns the argument that names the base of a file; nil if it has
// none.
func extends(body hcl.Body) (base *hcl.Attribute, diags diag.List) {
	content, _, _ := body.PartialContent(fileSchema)
	for _, b := range content.Blocks.OfType("mleflow") {
		settings, _, _ := b.Body.PartialContent(settingsSchema)
		a := settings.Attributes["extends"]
		switch {
		case a == nil:
		case base != nil:
			diags = append(diags, diag.Error(a.NameRange, "Two base files", "The file extends another already, at %s. A file extends one other, which may extend the next.", place(base.NameRange)))
		default:
			base = a
		}
	}
	return base, diags
}

// readBase reads the file that the first of the texts extends.
func readBase(list []text, a *hcl.Attribute, from *local.Files) (name string, src []byte, diags diag.List) {
	written, diags := literalString(a)
	if diags.HasErrors() {
		return "", nil, diags
	}
	fail := func(summary, format string, args ...any) (string, []byte, diag.List) {
		return "", nil, diag.List{diag.Error(a.Expr.Range(), summary, format, args...)}
	}
	name = filepath.Join(filepath.Dir(list[0].name), filepath.FromSlash(written))
	if written == "" || filepath.IsAbs(filepath.FromSlash(written)) || !filepath.IsLocal(name) {
		return fail("Base outside the folder", "%q is not a file in the pipeline's folder or below it; write a relative path, such as extends = \"base.hcl\".", written)
	}
	if slices.ContainsFunc(list, func(t text) bool { return t.name == name }) {
		var chain []string
		for _, t := range slices.Backward(list) {
			chain = append(chain, filepath.ToSlash(t.name))
		}
		return fail("Cycle of base files", "A file cannot extend itself: %s.", strings.Join(append(chain, filepath.ToSlash(name)), " extends "))
	}
	content, err := from.Text(name)
	if err != nil {
		return fail("Base cannot be read", "%s", diag.Sentence(err.Error()))
	}
	return name, []byte(content), nil
}
