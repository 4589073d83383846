package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shape says what a value of a request may be. The tables of the dialects
// consist of shapes: what they do not name is refused.
type shape interface {
	// check returns nil if the value at i has the shape.
	check(c *check, i int) *Refusal
}

// check is one reading of a request: what is granted, where the reading is, and
// what was found that bounds the tokens of the input.
type check struct {
	*document
	grants Grants
	// camel says that names are read as protocol buffers are: both in camel case
	// and with underscores.
	camel bool
	path  []string
	// images are the images in the body and mediaBytes their size in it; hidden
	// says that the input has more than what the body shows.
	images, mediaBytes int64
	hidden             bool
	// tools are the provider's own tools that the request offers to the model,
	// with the most calls that it allows; 0 is no limit.
	tools map[Tool]int64
}

// shapeFunc is a shape without members of its own.
type shapeFunc func(c *check, i int) *Refusal

func (f shapeFunc) check(c *check, i int) *Refusal { return f(c, i) }

// The shapes without parameters.
var (
	// anything is whatever the model itself reads: schemas, arguments, metadata.
	anything = shapeFunc(func(*check, int) *Refusal { return nil })
	// scalar is a string, a number or a boolean.
	scalar = shapeFunc(func(c *check, i int) *Refusal {
		switch c.nodes[i].kind {
		case object:
			return c.bad("an object where none is known")
		case array:
			return c.bad("an array where none is known")
		}
		return nil
	})
	// scalars is one or a list of them.
	scalars = oneOrList(shapeFunc(func(c *check, i int) *Refusal {
		if k := c.nodes[i].kind; k == object || k == array {
			return c.bad("no string, number or boolean")
		}
		return nil
	}))
)

// fields is an object of these members.
type fields map[string]shape

func (f fields) check(c *check, i int) *Refusal {
	switch c.nodes[i].kind {
	case null:
		return nil
	case object:
	default:
		return c.bad("no object")
	}
	var seen map[string]bool
	if c.camel {
		seen = map[string]bool{}
	}
	for m := range c.children(i) {
		name := c.key(m)
		if c.camel {
			if seen[name] {
				return c.bad(fmt.Sprintf("the name %q twice", name))
			}
			seen[name] = true
		}
		s, known := f[name]
		c.path = append(c.path, name)
		switch {
		case c.nodes[m].kind == null: // nobody asks for anything
		case known:
			if r := s.check(c, m); r != nil {
				return r
			}
		default:
			if r := c.need(UnknownFields, ""); r != nil {
				return r
			}
		}
		c.path = c.path[:len(c.path)-1]
	}
	return nil
}

// key is a member's name as the dialect's provider reads it.
func (c *check) key(i int) string {
	name := c.name(i)
	if !c.camel || !strings.Contains(name, "_") {
		return name
	}
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// find is the member of that name, as key reads names; ok is false if there is
// none or it is null.
func (c *check) find(i int, name string) (at int, ok bool) {
	for m := range c.children(i) {
		if c.nodes[i].kind == object && c.nodes[m].kind != null && c.key(m) == name {
			return m, true
		}
	}
	return 0, false
}

// and returns the fields and those of others.
func (f fields) and(others ...fields) fields {
	all := fields{}
	for _, o := range append(others, f) {
		for name, s := range o {
			all[name] = s
		}
	}
	return all
}

// settings are fields of these names, each a scalar or a list of scalars.
func settings(names string) fields {
	f := fields{}
	for name := range strings.FieldsSeq(names) {
		f[name] = scalars
	}
	return f
}

// asking are fields of these names that take an ability.
func asking(a Ability, names string) fields {
	f := fields{}
	for name := range strings.FieldsSeq(names) {
		f[name] = needs(a)
	}
	return f
}

// freeBut is an object of any members but those of these names.
func freeBut(names ...string) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		for _, name := range names {
			if _, ok := c.find(i, name); ok {
				c.path = append(c.path, name)
				return c.need(UnknownFields, "")
			}
		}
		return nil
	})
}

// list is an array of values of a shape. Null is none.
func list(of shape) shape { return &lists{of: of} }

// lists is what list returns; its shape may be set later, where shapes contain
// themselves.
type lists struct{ of shape }

func (l *lists) check(c *check, i int) *Refusal {
	switch c.nodes[i].kind {
	case null:
		return nil
	case array:
	default:
		return c.bad("no array")
	}
	n := 0
	for item := range c.children(i) {
		c.path = append(c.path, strconv.Itoa(n))
		if r := l.of.check(c, item); r != nil {
			return r
		}
		c.path = c.path[:len(c.path)-1]
		n++
	}
	return nil
}

// textOr is a string, or the shape.
func textOr(s shape) shape { return either(text, anything, s) }

// linkOr is a link, or the shape.
func linkOr(s shape) shape { return either(text, link, s) }

// oneOrList is a value of the shape or an array of them.
func oneOrList(s shape) shape { return either(array, list(s), s) }

// either is one shape for values of a kind, and another for all else.
func either(k kind, one, other shape) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.nodes[i].kind == k {
			return one.check(c, i)
		}
		return other.check(c, i)
	})
}

// kinds is an object whose member "type" says what it is. A name that ends in *
// stands for all with that beginning; "" is an object without a type.
type kinds map[string]shape

func (k kinds) check(c *check, i int) *Refusal {
	if c.nodes[i].kind != object {
		return c.bad("no object")
	}
	name := ""
	if t, ok := c.find(i, "type"); ok {
		if c.nodes[t].kind != text || c.text(t) == "" {
			return c.bad("a type that is no string")
		}
		name = c.text(t)
	}
	s, ok := k.lookup(name)
	if !ok {
		return c.need(UnknownFields, fmt.Sprintf("type %q", name))
	}
	return s.check(c, i)
}

func (k kinds) lookup(name string) (shape, bool) {
	if s, ok := k[name]; ok {
		return s, true
	}
	for pattern, s := range k {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(name, prefix) {
			return s, true
		}
	}
	return nil, false
}

// needs is a value that takes an ability. False and an empty array ask for
// nothing. The provider may add what such a request finds to its input.
func needs(a Ability) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.asksNothing(i) {
			return nil
		}
		what := ""
		if t, ok := c.find(i, "type"); ok {
			what = fmt.Sprintf("type %.100s", c.bytes(t))
		}
		c.hidden = true
		return c.need(a, what)
	})
}

// asksNothing says that a value that takes an ability is false or empty.
func (c *check) asksNothing(i int) bool {
	return string(c.bytes(i)) == "false" || c.nodes[i].kind == array && c.nodes[i].next == int32(i+1)
}

// demands is the shape, if a member is given: without it, the provider takes the
// ability for granted.
func demands(a Ability, member string, s shape) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if _, ok := c.find(i, member); !ok {
			c.hidden = true
			if r := c.need(a, "without "+member); r != nil {
				return r
			}
			if a == CodeInterpreter {
				c.offer(CodeTool, 0)
			}
		}
		return s.check(c, i)
	})
}

// words are the strings that may be used freely; others take the ability.
func words(a Ability, free ...string) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if slices.Contains(free, c.text(i)) {
			return nil
		}
		return c.need(a, fmt.Sprintf("%.100s", c.bytes(i)))
	})
}

// where is the place of the reading, as people write it.
func (c *check) where() string {
	var b strings.Builder
	for i, p := range c.path {
		if _, err := strconv.Atoi(p); err == nil {
			fmt.Fprintf(&b, "[%s]", p)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	if b.Len() == 0 {
		return "the body"
	}
	return b.String()
}

// need is nil where the ability is granted, and otherwise a refusal of what is
// read. The text says what it is beyond its place, such as its type.
func (c *check) need(a Ability, what string) *Refusal {
	if c.grants[a] {
		return nil
	}
	if what != "" {
		what = " (" + what + ")"
	}
	return lacks(a, c.where()+what)
}

// lacks is the refusal of an ability that a part of a request takes.
func lacks(a Ability, part string) *Refusal {
	does := "asks the provider to " + a.says()
	if a == UnknownFields {
		does = "is not known to mleflow, and could ask the provider to do more than run the model"
	}
	return &Refusal{Reason: NotAllowed, Ability: a, Text: fmt.Sprintf("%s %s. The pipeline does not grant it; %q in the tools of its model block would.", part, does, string(a))}
}

func (c *check) bad(what string) *Refusal {
	return &Refusal{Reason: BadRequest, Text: fmt.Sprintf("%s is %s", c.where(), what)}
}
