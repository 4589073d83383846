package step

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
)

// Named is a key as it is with some names of agents and models.
type Named struct {
	Fields []digest.Field
	// Names are those that are not today's, such as "agent.old".
	Names []string
}

// maxNamed is the largest number of combinations of names that Renamed returns.
const maxNamed = 1024

// Renamed returns the fields of a key with today's names, and then with each combination
// of the names that its agents and models had before. former returns those of an "agent"
// or a "model", the latest first.
func (k *Kind) Renamed(fields []digest.Field, former func(what, name string) []string) []Named {
	list := []Named{{Fields: fields}}
	for i, f := range fields {
		what, name := k.NameIn(f)
		if what == "" {
			continue
		}
		for _, was := range former(what, name) {
			text, err := marshal(cty.StringVal(was))
			if err != nil {
				continue
			}
			for _, one := range list[:min(len(list), maxNamed-len(list))] {
				if one.Fields[i].Value == f.Value {
					then := slices.Clone(one.Fields)
					then[i].Value = string(text)
					list = append(list, Named{then, append(slices.Clip(one.Names), what+"."+was)})
				}
			}
		}
	}
	return list
}

// NameIn returns the name that a field of a key gives and what has it, "agent" or "model",
// or "" if the field is about something else.
func (k *Kind) NameIn(f digest.Field) (what, name string) {
	end := strings.IndexAny(f.Label, ".[")
	if end < 0 || !strings.HasSuffix(f.Label, ".name") {
		return "", ""
	}
	a := AttrOf(k.Args, f.Label[:end])
	if a == nil || json.Unmarshal([]byte(f.Value), &name) != nil {
		return "", ""
	}
	return namedAt(a.Type, f.Label[end:]), name
}

// namedAt returns what has the name at a path in values of a type.
func namedAt(ty cty.Type, path string) string {
	switch {
	case path == ".name" && ty.Equals(AgentType):
		return "agent"
	case path == ".name" && ty.Equals(ModelType):
		return "model"
	case ty.IsCollectionType() && path[0] == '[':
		_, rest, _ := strings.Cut(path, "]")
		if rest == "" {
			return ""
		}
		return namedAt(ty.ElementType(), rest)
	case ty.IsObjectType() && path[0] == '.':
		end := 1 + strings.IndexAny(path[1:], ".[")
		if name := path[1:max(1, end)]; end > 0 && ty.HasAttribute(name) {
			return namedAt(ty.AttributeType(name), path[end:])
		}
	}
	return ""
}
