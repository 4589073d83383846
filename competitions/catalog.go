package competitions

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"

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
	holds := func(id string) bool { return strings.Contains(strings.ToLower(id), strings.ToLower(part)) }
	if ids = lists.Where(c.ids, holds); len(part) < 3 || len(ids) > most {
		return nil
	}
	return lists.Of(ids, strconv.Quote)
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

// Set names a list of competitions.
type Set string

// setMembers says which complexities make up a set. The sets of the 75 follow
// the reference's splits; demo is ours and part of no other. Competitions of
// somebody's own are in the set own only.
var setMembers = map[Set][]Complexity{
	"low":    {Low},
	"lite":   {Low},
	"medium": {Medium},
	"high":   {High},
	"all":    {Low, Medium, High},
	"dev":    {Dev},
	"demo":   {Demo},
}

// systemCard is the set whose members have nothing else in common.
const systemCard Set = "systemcard"

//go:embed systemcard.txt
var systemCardText string

// SetNames returns the names of the sets, sorted.
func SetNames() []string {
	return []string{"all", "demo", "dev", "high", "lite", "low", "medium", string(Own), string(systemCard)}
}

// Set returns the identifiers of a named set, sorted. A catalog of other
// definitions has those of the set that it holds.
func (c *Catalog) Set(name Set) ([]string, error) {
	if name == systemCard {
		listed := lists.Of(listedIDs(systemCardText), func(l listed) string { return l.id })
		slices.Sort(listed)
		return slices.DeleteFunc(listed, func(id string) bool { return c.byID[id] == nil }), nil
	}
	if name == Own {
		return c.Own(), nil
	}
	if members, ok := setMembers[name]; ok {
		return c.members(members), nil
	}
	if near := diag.Nearest(string(name), SetNames()); near != "" {
		return nil, fmt.Errorf("no set %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("no set %q; the sets are %s", name, strings.Join(SetNames(), ", "))
}

// members returns the identifiers of those complexities.
func (c *Catalog) members(of []Complexity) []string {
	return lists.Where(c.ids, func(id string) bool { return c.byID[id].published() && slices.Contains(of, c.Complexity(id)) })
}

// ParseList returns the competitions of a list of one's own: one identifier a
// line, each once, in the order of their first lines. Blank lines and comments
// after a # are ignored. The error names every identifier that is not
// known, with its line and the nearest known one.
func (c *Catalog) ParseList(text string) ([]string, error) {
	var ids []string
	var unknown []error
	for _, l := range listedIDs(text) {
		switch {
		case c.byID[l.id] == nil:
			unknown = append(unknown, fmt.Errorf("line %d: no competition %q.%s", l.line, l.id, diag.DidYouMean(l.id, c.ids)))
		case !slices.Contains(ids, l.id):
			ids = append(ids, l.id)
		}
	}
	if len(unknown) > 0 {
		return nil, errors.Join(unknown...)
	}
	if len(ids) == 0 {
		return nil, errors.New("the list names no competition")
	}
	return ids, nil
}

// listed is a line of a list that names a competition.
type listed struct {
	line int
	id   string
}

func listedIDs(text string) []listed {
	var out []listed
	line := 0
	for text := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line++
		id, _, _ := strings.Cut(text, "#")
		if id = strings.TrimSpace(id); id != "" {
			out = append(out, listed{line, id})
		}
	}
	return out
}
