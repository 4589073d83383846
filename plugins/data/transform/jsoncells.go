package transform

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
)

// jsonJoinOptions are the options of json_join.
type jsonJoinOptions struct {
	Member string `verb:"member"`
}

var jsonJoinVerb = Verb{
	Name: "json_join", Params: []string{"column", "separator", "options"},
	Summary: `Each cell, a JSON list such as ["a", "b"], as a string of its items joined by the separator.`,
	Detail:  "With member, items are objects of which that member counts. Numbers and booleans are spelled as by Python; missing cells stay. An item that is null or a list, that lacks the member, or that has the separator in it, is an error. multi_hot makes flags of the strings.",
	Source:  "column.map(lambda s: separator.join(str(x) for x in json.loads(s)))",
	Func: func(cells Operand, separator string, o *jsonJoinOptions) (Operand, error) {
		if separator == "" {
			return cells, fmt.Errorf("json_join: the separator is empty")
		}
		out, err := mapText(cells, func(s string) (string, error) { return joinJSON(s, separator, o.Member) })
		if err != nil {
			return out, fmt.Errorf("json_join: %w", err)
		}
		return out, nil
	},
}

func joinJSON(cell, separator, member string) (string, error) {
	list, err := pyjson.Parse([]byte(cell))
	if err != nil {
		return "", err
	}
	if list.Kind() != pyjson.Array {
		return "", fmt.Errorf("the cell holds %s, not a list", list.Kind())
	}
	var items []string
	for i, item := range list.Items() {
		if member != "" {
			of, ok := item.Get(member)
			if item.Kind() != pyjson.Object || !ok {
				return "", fmt.Errorf("item %d has no member %q", i, member)
			}
			item = of
		}
		v, err := JSONCell(item)
		if err != nil || v.IsMissing() {
			return "", fmt.Errorf("item %d is %s, not a single value", i, item.Kind())
		}
		if strings.Contains(v.String(), separator) {
			return "", fmt.Errorf("item %d, %.60q, has the separator %q in it", i, v.String(), separator)
		}
		items = append(items, v.String())
	}
	return strings.Join(items, separator), nil
}
