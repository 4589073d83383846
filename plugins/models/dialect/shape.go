package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shape defines the allowed values of a part of a request. The tables of the
// dialects consist of shapes. Anything they do not name is refused.
type shape interface {
	// check returns nil if the value at i has the shape.
	check(c *check, i int) *Refusal
}

// check is one reading of a request: the grants, the current place, and the
// findings that bound the tokens of the input.
type check struct {
	*document
	grants Grants
	// camel makes the reader accept names in camel case and with underscores,
	// as readers of protocol buffers do.
	camel bool
	path  []string
	// images is the number of images in the body and mediaBytes their size in
	// it. hidden reports that the body does not bound the input.
	images, mediaBytes int64
	hidden             bool
	// err is the first error of limits.
	err error
	// tools are the provider-side tools that the request offers to the model,
	// with the allowed number of calls, or 0 without a limit.
	tools map[Tool]int64
	// edits are the changes of the body that is forwarded.
	edits []edit
}

// shapeFunc is a shape that consists of a function.
type shapeFunc func(c *check, i int) *Refusal

func (f shapeFunc) check(c *check, i int) *Refusal { return f(c, i) }

// The shapes without parameters.
var (
	// anything is input for the model itself: schemas, arguments, metadata.
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
	// scalars is a scalar or a list of scalars.
	scalars = oneOrList(shapeFunc(func(c *check, i int) *Refusal {
		if k := c.nodes[i].kind; k == object || k == array {
			return c.bad("no string, number or boolean")
		}
		return nil
	}))
)

// plainShapes are the shapes without parameters by their names in the tables.
var plainShapes = map[string]shape{
	"any": anything, "scalar": scalar, "scalars": scalars, "link": link, "image": base64(true), "media": base64(false), "file": hiding(scalar),
	"serverUse": serverUse, "geminiData": geminiData,
}

// fields is an object with these members only.
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
		case c.nodes[m].kind == null: // null asks for nothing
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

// key returns a member's name as the provider reads it.
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

// find returns the member with that name in the sense of key. ok is false if
// there is none or it is null.
func (c *check) find(i int, name string) (at int, ok bool) {
	for m := range c.children(i) {
		if c.nodes[i].kind == object && c.nodes[m].kind != null && c.key(m) == name {
			return m, true
		}
	}
	return 0, false
}

// freeBut is an object with any members except the named ones.
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

// list is an array of values with the given shape, or null.
type list struct{ of shape }

func (l list) check(c *check, i int) *Refusal {
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

// oneOrList is one value or an array of values with the given shape.
func oneOrList(s shape) shape { return either(array, list{s}, s) }

// either is one shape for values of kind k and another for all others.
func either(k kind, one, other shape) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.nodes[i].kind == k {
			return one.check(c, i)
		}
		return other.check(c, i)
	})
}

// kinds is an object whose shape depends on its member "type". A trailing *
// matches any suffix. The key "" matches an object without a type.
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

// needs is a value that needs an ability. False and an empty array ask for
// nothing. The provider may add the results of such a request to the input.
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

// asksNothing reports whether the value is false or an empty array.
func (c *check) asksNothing(i int) bool {
	return string(c.bytes(i)) == "false" || c.nodes[i].kind == array && c.nodes[i].next == int32(i+1)
}

// demands is the given shape. Without the named member, the provider uses the
// ability by default, so the ability is needed.
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

// words are the strings that are always allowed. Other strings need the
// ability.
func words(a Ability, free ...string) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if slices.Contains(free, c.text(i)) {
			return nil
		}
		return c.need(a, fmt.Sprintf("%.100s", c.bytes(i)))
	})
}

// where formats the current place for people.
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

// need returns nil if the ability is granted, and otherwise a refusal of the
// current value. what describes the value beyond its place, such as its type.
func (c *check) need(a Ability, what string) *Refusal {
	if c.grants[a] {
		return nil
	}
	if what != "" {
		what = " (" + what + ")"
	}
	return lacks(a, c.where()+what)
}

// lacks is the refusal of a part of a request that needs an ability.
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

// link is the address of an image or another medium: a data address, or a
// location that the provider would fetch.
var link = shapeFunc(func(c *check, i int) *Refusal {
	if c.nodes[i].kind != text {
		return c.bad("no address")
	}
	address := c.bytes(i)[1:]
	if !bytes.HasPrefix(address, []byte("data:")) {
		c.hidden = true
		return c.need(RemoteFiles, "")
	}
	c.medium(i, bytes.HasPrefix(address, []byte("data:image/")))
	return nil
})

// base64 is a medium in base64.
func base64(image bool) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.nodes[i].kind != text {
			return c.bad("no base64")
		}
		c.medium(i, image)
		return nil
	})
}

// hiding accepts a value that may count more tokens than its bytes.
func hiding(s shape) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		c.hidden = true
		return s.check(c, i)
	})
}

// medium counts a medium in the body. The tokens of an image are bounded; those
// of other media cannot be derived from their size.
func (c *check) medium(i int, image bool) {
	if !image {
		c.hidden = true
		return
	}
	c.images++
	c.mediaBytes += int64(c.nodes[i].end - c.nodes[i].start)
}
