package config

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
)

// text is one file of a pipeline: the named one, or one that it
// extends or includes, directly or indirectly.
type text struct {
	// name is the path relative to the pipeline's folder, and path is what is
	// shown.
	name, path string
	file       *hcl.File
}

// reader reads the files of a pipeline as files of its folder, so a run records them
// with all else that it read there.
type reader struct {
	from   *local.Files
	budget *bounded.Budget
	// only, if set, is the name of the only setting that matters: included files
	// without it are empty.
	only string
}

// texts parses a pipeline's file and those that it extends and includes, the one
// that extends nothing first, and what a file includes before it.
func (r reader) texts(path string, src []byte) (list []text, diags diag.List) {
	name := filepath.Base(path)
	for {
		t := text{name: name, path: filepath.Join(filepath.Dir(path), name)}
		if len(list) == 0 {
			t.path = path // as it was named
		}
		var more diag.List
		t.file, more = r.parse(name, src, t.path)
		list, diags = slices.Insert(list, 0, t), append(diags, more...)
		if more.HasErrors() {
			return list, diags
		}
		included, more := r.included(t, list)
		list, diags = slices.Insert(list, 0, included...), append(diags, more...)
		base, more := extends(t.file.Body)
		diags = append(diags, more...)
		if base == nil || diags.HasErrors() {
			return list, diags
		}
		if name, src, more = readBase(t, list, base, r.from); more.HasErrors() {
			return list, append(diags, more...)
		}
	}
}

// included parses the files that the mleflow blocks of a file include, except
// those that are in the list already.
func (r reader) included(t text, list []text) (more []text, diags diag.List) {
	for _, a := range settings(t.file.Body, "include") {
		patterns, bad := stringList(a, `Write, for example, include = ["agents/*.hcl"].`)
		if diags = append(diags, bad...); bad.HasErrors() {
			continue
		}
		for _, pattern := range patterns {
			names, err := r.from.Sources(t.name, pattern)
			if err == nil && len(names) == 0 {
				err = fmt.Errorf("there is no file that matches %q", pattern)
			}
			if err != nil {
				diags = append(diags, diag.Error(a.Expr.Range(), "Files cannot be included", "%s", diag.Sentence(err.Error())))
				continue
			}
			for _, name := range names {
				name = filepath.Join(filepath.Dir(t.name), filepath.FromSlash(name))
				if slices.ContainsFunc(slices.Concat(list, more), func(t text) bool { return t.name == name }) {
					continue
				}
				one, bad := r.readIncluded(a, name, list[len(list)-1])
				more, diags = append(more, one), append(diags, bad...)
			}
		}
	}
	return more, diags
}

// readIncluded parses one file that an argument includes. named is the file that
// the command line names: paths are shown as its.
func (r reader) readIncluded(a *hcl.Attribute, name string, named text) (text, diag.List) {
	t := text{name: name, path: filepath.Join(filepath.Dir(named.path), name)}
	src, err := r.from.Source(name)
	if err != nil {
		return t, diag.List{diag.Error(a.Expr.Range(), "Files cannot be included", "%s", diag.Sentence(err.Error()))}
	}
	if !strings.Contains(src, r.only) {
		t.file = &hcl.File{Body: hcl.EmptyBody()}
		return t, nil
	}
	var diags diag.List
	if t.file, diags = r.parse(name, []byte(src), t.path); diags.HasErrors() {
		return t, diags
	}
	for _, name := range []string{"include", "extends"} {
		for _, inner := range settings(t.file.Body, name) {
			diags = append(diags, diag.Error(inner.NameRange, "Included file includes others", "A file that is included, here at %s, cannot include or extend others. Include them in the file that includes this one.", position(a.NameRange)))
		}
	}
	return t, diags
}

// parse parses the file of a name. A shipped one needs no limits. path is what is shown.
func (r reader) parse(name string, src []byte, path string) (*hcl.File, diag.List) {
	if !r.from.IsShipped(name) {
		return r.budget.Parse(src, path)
	}
	file, diags := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
	r.budget.Meter(file.Body.(*hclsyntax.Body))
	return file, diags
}

// settings returns an argument of the mleflow blocks of a file.
func settings(body hcl.Body, name string) (list []*hcl.Attribute) {
	content, _, _ := body.PartialContent(fileSchema)
	for _, b := range content.Blocks.OfType("mleflow") {
		settings, _, _ := b.Body.PartialContent(schemas["mleflow"])
		if a := settings.Attributes[name]; a != nil {
			list = append(list, a)
		}
	}
	return list
}

// stringList reads a list of strings that are not empty; hint says how to write
// one.
func stringList(a *hcl.Attribute, hint string) (list []string, diags diag.List) {
	v, diags := bounded.Literal(a.Expr)
	if diags.HasErrors() {
		return nil, diags
	}
	v, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || v.IsNull() {
		return nil, diag.List{diag.Error(a.Expr.Range(), "List of strings expected", "%s", hint)}
	}
	for i, item := range v.AsValueSlice() {
		if item.IsNull() || item.AsString() == "" {
			return nil, diag.List{diag.Error(a.Expr.Range(), "List of strings expected", "Element %d is empty.", i+1)}
		}
		list = append(list, item.AsString())
	}
	return list, nil
}

// extends returns the argument that names the base of a file; nil if it has
// none.
func extends(body hcl.Body) (base *hcl.Attribute, diags diag.List) {
	for _, a := range settings(body, "extends") {
		if base != nil {
			diags = append(diags, diag.Error(a.NameRange, "Two base files", "The file already extends another, at %s. A file can extend only one other, which may itself extend another.", position(base.NameRange)))
			continue
		}
		base = a
	}
	return base, diags
}

// readBase reads the file that t extends.
func readBase(t text, list []text, a *hcl.Attribute, from *local.Files) (name string, src []byte, diags diag.List) {
	written, diags := literalString(a)
	if diags.HasErrors() {
		return "", nil, diags
	}
	fail := func(summary, format string, args ...any) (string, []byte, diag.List) {
		return "", nil, diag.List{diag.Error(a.Expr.Range(), summary, format, args...)}
	}
	name = filepath.Join(filepath.Dir(t.name), filepath.FromSlash(written))
	if written == "" || filepath.IsAbs(filepath.FromSlash(written)) {
		return fail("Base outside the folder", "%q is not a relative path; write one, such as extends = \"base.hcl\".", written)
	}
	if slices.ContainsFunc(list, func(t text) bool { return t.name == name }) {
		var chain []string
		for _, t := range slices.Backward(list) {
			chain = append(chain, filepath.ToSlash(t.name))
		}
		return fail("Cycle of base files", "A file cannot extend itself: %s.", strings.Join(append(chain, filepath.ToSlash(name)), " extends "))
	}
	content, err := from.Source(name)
	if err != nil {
		return fail("Base cannot be read", "%s", diag.Sentence(err.Error()))
	}
	return name, []byte(content), nil
}

// NamedFolder is a folder that a pipeline names.
type NamedFolder struct {
	// Path is its path, relative to the same folder as the pipeline's own path.
	Path  string
	Range hcl.Range
}

// CompetitionFolders returns the folders of competitions that the settings of a
// pipeline name. They are read first, because the valid content of a pipeline
// depends on the known competitions. Parse reports errors in them. The files
// are those that a past run recorded; nil reads the pipeline's folder and the
// shipped files.
func CompetitionFolders(path string, src []byte, files map[string][]byte, shipped fs.FS) []NamedFolder {
	var folders []NamedFolder
	for _, a := range settingsOf(path, src, files, shipped, "competitions") {
		found, _ := competitionFolders(path, a)
		folders = append(folders, found...)
	}
	return folders
}

// RemoteCache returns the URL of the remote cache that the settings of a
// pipeline name, or "". It is for callers that need nothing else of the
// pipeline. The files are those that a past run recorded; nil reads the
// pipeline's folder.
func RemoteCache(path string, src []byte, files map[string][]byte) (address string) {
	for _, a := range settingsOf(path, src, files, nil, "remote_cache") {
		if text, diags := literalString(a); !diags.HasErrors() && text != "" {
			address = text
		}
	}
	return address
}

// settingsOf returns one argument of the mleflow blocks of a pipeline, starting
// with the files that it extends.
func settingsOf(path string, src []byte, files map[string][]byte, shipped fs.FS, name string) (all []*hcl.Attribute) {
	from := local.Folder(folderOf(path), nil, local.NewDigests(""))
	from.Ship(shipped)
	if files != nil {
		var err error
		if from, err = recorded(path, files); err != nil {
			return nil
		}
	}
	list, diags := reader{from, &bounded.Budget{}, name}.texts(path, src)
	if diags.HasErrors() {
		return nil
	}
	for _, t := range list {
		all = append(all, settings(t.file.Body, name)...)
	}
	return all
}

func competitionFolders(path string, a *hcl.Attribute) ([]NamedFolder, diag.List) {
	if a == nil {
		return nil, nil
	}
	list, diags := stringList(a, `Write, for example, competitions = ["./competitions"].`)
	if diags.HasErrors() {
		return nil, diags
	}
	var folders []NamedFolder
	for _, item := range list {
		dir := filepath.FromSlash(item)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(path), dir)
		}
		folders = append(folders, NamedFolder{dir, a.Expr.Range()})
	}
	return folders, nil
}
