package competitions

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/shipped"
	"github.com/mleflow/mleflow/engine/diag"
)

// Catalog is a read-only list of definitions, sorted by ID. It may be used by
// several goroutines.
type Catalog struct {
	ids  []string
	byID map[string]*entry
}

// entry is one competition of a catalog. The definition is decoded when it is
// first asked for: a command needs few of them.
type entry struct {
	load func() (*Definition, error)
	// facts are read without decoding the rest.
	facts func() (c Complexity, category string)
	// own is the path of a definition that does not ship with the program; replaces
	// reports whether it replaces one that does.
	own      string
	replaces bool
}

// Shipped returns the catalog of the definitions compiled into the binary.
var Shipped = sync.OnceValues(func() (*Catalog, error) { return Load(shipped.FS) })

// Load returns the catalog of every <id>/competition.hcl of a folder.
func Load(folder fs.FS) (*Catalog, error) {
	paths, err := fs.Glob(folder, "*/"+FileName)
	if err != nil {
		return nil, fmt.Errorf("list competitions: %w", err)
	}
	cat := newCatalog(len(paths))
	for _, path := range paths {
		id := path[:len(path)-len(FileName)-1]
		e := &entry{facts: sync.OnceValues(func() (Complexity, string) {
			src, _ := fs.ReadFile(folder, path) // load returns the error
			return Complexity(fact(src, complexityFact)), fact(src, categoryFact)
		})}
		e.load = sync.OnceValues(func() (*Definition, error) {
			def, diags := LoadOne(folder, id)
			if diags.HasErrors() {
				return nil, fmt.Errorf("load competition %s: %w", id, diags)
			}
			return def, nil
		})
		cat.add(id, e)
	}
	return cat, nil
}

// The attributes that are read without decoding a definition: a line of its own
// with a plain string. A test compares them with the decoded ones.
var (
	complexityFact = pattern.New(`(?m)^  complexity\s*=\s*"([^"\n]*)"`)
	categoryFact   = pattern.New(`(?m)^  category\s*=\s*"([^"\n]*)"`)
)

func fact(src []byte, p *pattern.Pattern) string {
	if m := p.Regexp().FindSubmatch(src); m != nil {
		return string(m[1])
	}
	return ""
}

func newCatalog(n int) *Catalog { return &Catalog{byID: make(map[string]*entry, n)} }

func (c *Catalog) add(id string, e *entry) {
	c.byID[id] = e
	if at, found := slices.BinarySearch(c.ids, id); !found {
		c.ids = slices.Insert(c.ids, at, id)
	}
}

// Complexity returns the complexity of a competition, and Category its
// category, without decoding its definition; "" for one that is not there.
func (c *Catalog) Complexity(id string) Complexity {
	complexity, _ := c.facts(id)
	return complexity
}

// Category returns the category of a competition; see Complexity.
func (c *Catalog) Category(id string) string {
	_, category := c.facts(id)
	return category
}

func (c *Catalog) facts(id string) (_ Complexity, category string) {
	if e := c.byID[id]; e != nil {
		return e.facts()
	}
	return "", ""
}

// IDs returns the identifiers of all competitions, sorted.
func (c *Catalog) IDs() []string { return slices.Clone(c.ids) }

// Get returns a competition by identifier. An unknown identifier is an error
// that names the nearest known one.
func (c *Catalog) Get(id string) (*Definition, error) {
	if e, ok := c.byID[id]; ok {
		return e.load()
	}
	if near := diag.Nearest(id, c.ids); near != "" {
		return nil, fmt.Errorf("no competition %q; did you mean %q?", id, near)
	}
	if holding := c.holding(id); len(holding) > 0 {
		return nil, fmt.Errorf("no competition %q; did you mean %s?", id, strings.Join(holding, " or "))
	}
	return nil, fmt.Errorf("no competition %q; see mleflow competition list, and name the folder of your own with --competitions DIR", id)
}

// holding lists the identifiers that hold a part of a name, unless they are
// many: "spaceship" is meant to be spaceship-titanic.
func (c *Catalog) holding(part string) (ids []string) {
	const most = 5
	for _, id := range c.ids {
		if len(part) > 2 && strings.Contains(strings.ToLower(id), strings.ToLower(part)) {
			ids = append(ids, strconv.Quote(id))
		}
	}
	if len(ids) > most {
		return nil
	}
	return ids
}

// Filter selects competitions; its zero value selects all.
type Filter struct {
	// IDs are the identifiers to choose from; nil is all.
	IDs []string
	// Category restricts to one category, such as image-classification.
	Category string
}

// List returns the competitions that match, in the order of the filter's
// identifiers, or sorted.
func (c *Catalog) List(f Filter) ([]*Definition, error) {
	ids := f.IDs
	if ids == nil {
		ids = c.ids
	}
	var out []*Definition
	for _, id := range ids {
		if f.Category != "" && c.Category(id) != f.Category {
			continue
		}
		def, err := c.Get(id)
		if err != nil {
			return nil, err
		}
		out = append(out, def)
	}
	return out, nil
}
