package competitions

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/diag"
)

// Own is the set of the competitions that do not ship with the program.
const Own Set = "own"

// Folder is a folder of competitions of one's own: it is one competition, or
// holds several.
type Folder struct {
	// Path is its path as the user wrote it.
	Path string
	// From is the origin of the path, such as "--competitions" or "my.hcl:3".
	From string
}

// LoadError holds the mistakes in definitions, with their source texts.
type LoadError struct {
	Diags hcl.Diagnostics
	Files map[string]*hcl.File
}

func (e *LoadError) Error() string { return e.Diags.Error() }

// With returns the catalog with the competitions of folders in it. All mistakes
// are reported together, as a *LoadError. An identifier that is there already
// is a mistake, unless the definition says replaces_shipped and takes the place
// of one that ships. The same folder may be named twice.
func (c *Catalog) With(folders ...Folder) (*Catalog, error) {
	l := ownLoader{cat: &Catalog{ids: slices.Clone(c.ids), byID: map[string]*entry{}}, files: map[string]*hcl.File{}, seen: map[string]bool{}}
	maps.Copy(l.cat.byID, c.byID)
	for _, f := range folders {
		l.folder(f)
	}
	if l.diags.HasErrors() {
		return nil, &LoadError{l.diags, l.files}
	}
	return l.cat, nil
}

// LoadFolder returns the catalog of the competitions of one folder alone.
func LoadFolder(f Folder) (*Catalog, error) { return newCatalog(0).With(f) }

// Own returns the identifiers of the competitions that do not ship with the
// program, sorted.
func (c *Catalog) Own() []string {
	return slices.DeleteFunc(c.IDs(), func(id string) bool { return c.byID[id].own == "" })
}

// Published returns the identifiers of the competitions that ship with the
// program, sorted; their definitions may be replaced.
func (c *Catalog) Published() []string {
	return slices.DeleteFunc(c.IDs(), func(id string) bool { return !c.byID[id].published() })
}

// published reports whether a competition is in the sets of its complexity. A user's own
// is in none, so that results keep their meaning.
func (e *entry) published() bool { return e.own == "" || e.replaces }

// maxDefinition is the maximum size of a definition or its lock file in bytes.
const maxDefinition = 64 << 20

type ownLoader struct {
	cat   *Catalog
	files map[string]*hcl.File
	diags hcl.Diagnostics
	seen  map[string]bool
}

func (l *ownLoader) fail(f Folder, text string, args ...any) {
	from := ""
	if f.From != "" {
		from = " (named by " + f.From + ")"
	}
	l.diags = append(l.diags, diag.General("Cannot read competitions", "Folder %s%s %s", f.Path, from, fmt.Sprintf(text, args...)))
}

func (l *ownLoader) folder(f Folder) {
	if holdsDefinition(f.Path) {
		l.load(f.Path, "")
		return
	}
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		l.fail(f, "cannot be read: %v.", err)
		return
	}
	found := false
	for _, e := range entries {
		if dir := filepath.Join(f.Path, e.Name()); holdsDefinition(dir) {
			found = true
			l.load(dir, e.Name())
		}
	}
	if !found {
		l.fail(f, "holds no competition: it has neither a file %s nor folders with one. Create one with mleflow competition new ID --dir %s.", FileName, f.Path)
	}
}

func holdsDefinition(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, FileName))
	return err == nil && info.Mode().IsRegular()
}

// load adds the competition of a folder. An empty id is whatever the
// definition says.
func (l *ownLoader) load(dir, id string) {
	whole, err := filepath.Abs(dir)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		l.fail(Folder{Path: dir}, "cannot be read: %v.", err)
		return
	}
	if l.seen[whole] {
		return
	}
	l.seen[whole] = true
	path, roots := filepath.Join(dir, FileName), checkout.Roots(whole)
	src, err := checkout.ReadFile(path, maxDefinition, roots...)
	if err != nil {
		l.diags = append(l.diags, diag.General("Cannot read competition", "%v", err))
		return
	}
	l.files[path] = &hcl.File{Bytes: src}
	if pins, err := checkout.ReadFile(lockPath(path), maxDefinition, roots...); err == nil {
		l.files[lockPath(path)] = &hcl.File{Bytes: pins}
	}
	def, diags := parse(src, id, path, checkout.FS(whole))
	if l.diags = append(l.diags, diags...); diags.HasErrors() {
		return
	}
	def.dir = whole
	l.add(def)
}

func (l *ownLoader) add(def *Definition) {
	there := l.cat.byID[def.ID]
	switch {
	case there != nil && there.own != "":
		l.diags = append(l.diags, diag.Error(def.label, "Duplicate competition", "%s also defines %q. Rename one of them.", there.own, def.ID))
		return
	case there != nil && !def.ReplacesShipped:
		l.diags = append(l.diags, diag.Error(def.label, "Competition ships with mleflow",
			"%s has the identifier of a competition that ships with mleflow (mleflow competition show %s). Rename it, or write replaces_shipped = true to replace the shipped one.", def.FilePath(), def.ID))
		return
	}
	e := &entry{facts: func() (Complexity, string) { return def.Complexity, def.Category }, own: def.FilePath(), replaces: there != nil}
	e.load = func() (*Definition, error) { return def, nil }
	l.cat.add(def.ID, e)
}

// ParseAt decodes the text of a definition whose folder is dir.
func ParseAt(src []byte, id, dir string) (*Definition, hcl.Diagnostics) {
	return parse(src, id, filepath.Join(dir, FileName), fs.FS(os.DirFS(dir)))
}

// Dir returns the folder of the definition, an absolute path; empty for one
// that ships with the program. It enters no key.
func (d *Definition) Dir() string { return d.dir }

// Texts are the files of the competition's folder that loading the definition and grading
// read: the definition, its pins, its leaderboard, and those that it names in lines().
func (d *Definition) Texts() []string {
	names := []string{FileName, LockName, d.Medals.File}
	_ = hclsyntax.VisitAll(d.file.Body.(*hclsyntax.Body), func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "lines" && len(call.Args) == 1 {
			if name, diags := call.Args[0].Value(nil); !diags.HasErrors() && name.Type() == cty.String && name.IsKnown() && !name.IsNull() {
				names = append(names, name.AsString())
			}
		}
		return nil
	})
	slices.Sort(names)
	return lists.Where(slices.Compact(names), func(name string) bool {
		_, err := fs.Stat(d.folder, name)
		return name != "" && err == nil
	})
}

// Own returns the labels of fields that a person wrote with the definition: all of them,
// or none if it ships with the program.
func (d *Definition) Own(labels ...string) []string {
	if d.dir == "" {
		return nil
	}
	return labels
}

// ValidID reports whether a text can be the identifier of a competition: it
// is part of paths.
func ValidID(id string) bool {
	return id != "" && !strings.HasPrefix(id, "-") && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
