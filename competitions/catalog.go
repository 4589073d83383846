package competitions

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/diag"
)

//go:embed */competition.hcl */*.txt */data/*
var shipped embed.FS

// Catalog is a read-only list of definitions, sorted by ID.
type Catalog struct {
	byID map[string]*Definition
	ids  []string
}

// Shipped returns the definitions compiled into the binary. They are loaded
// once.
var Shipped = sync.OnceValues(func() (*Catalog, error) {
	cat, diags := Load(shipped)
	if diags.HasErrors() {
		return nil, fmt.Errorf("load shipped competitions: %w", diags)
	}
	return cat, nil
})

// Load reads every <id>/competition.hcl of a folder. All mistakes are
// reported; the catalog holds the definitions without any.
func Load(folder fs.FS) (*Catalog, hcl.Diagnostics) {
	paths, err := fs.Glob(folder, "*/"+FileName)
	if err != nil {
		return nil, hcl.Diagnostics{diag.General("Cannot list competitions", "%v", err)}
	}
	cat := &Catalog{byID: make(map[string]*Definition, len(paths))}
	var diags hcl.Diagnostics
	for _, path := range paths {
		def, more := LoadOne(folder, path[:len(path)-len(FileName)-1])
		diags = append(diags, more...)
		if !more.HasErrors() {
			cat.byID[def.ID] = def
			cat.ids = append(cat.ids, def.ID)
		}
	}
	slices.Sort(cat.ids)
	return cat, diags
}

// IDs returns the identifiers of all competitions, sorted.
func (c *Catalog) IDs() []string { return slices.Clone(c.ids) }

// Get returns a competition by identifier. An unknown identifier is an error
// that names the nearest known one.
func (c *Catalog) Get(id string) (*Definition, error) {
	if def, ok := c.byID[id]; ok {
		return def, nil
	}
	if near := diag.Nearest(id, c.ids); near != "" {
		return nil, fmt.Errorf("no competition %q; did you mean %q?", id, near)
	}
	return nil, fmt.Errorf("no competition %q; see mleflow competition list", id)
}

// Filter selects competitions; its zero value selects all.
type Filter struct {
	// Set restricts to a named set.
	Set Set
	// Category restricts to one category, such as image-classification.
	Category string
}

// List returns the competitions that match, sorted by identifier.
func (c *Catalog) List(f Filter) ([]*Definition, error) {
	var members []Complexity
	if f.Set != "" {
		var err error
		if members, err = lookupSet(f.Set); err != nil {
			return nil, err
		}
	}
	var out []*Definition
	for _, id := range c.ids {
		def := c.byID[id]
		if (members == nil || slices.Contains(members, def.Complexity)) && (f.Category == "" || def.Category == f.Category) {
			out = append(out, def)
		}
	}
	return out, nil
}

// Set returns the identifiers of a named set, sorted.
func (c *Catalog) Set(name Set) ([]string, error) {
	defs, err := c.List(Filter{Set: name})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(defs))
	for i, def := range defs {
		ids[i] = def.ID
	}
	return ids, nil
}

func lookupSet(name Set) ([]Complexity, error) {
	if members, ok := setMembers[name]; ok {
		return members, nil
	}
	if near := diag.Nearest(string(name), SetNames()); near != "" {
		return nil, fmt.Errorf("no set %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("no set %q; the sets are %v", name, SetNames())
}
