package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// mostJSON is the size up to which a JSON file is read.
const mostJSON = 1 << 28

// records is the shape of a JSON file, or of one with a value a line.
type records struct {
	*shape
	file    string
	lines   bool
	root    *node
	n, docs int
}

// node is the shape of the values in one place of JSON documents.
type node struct {
	seen    int
	fields  map[string]*node
	keys    *column // of an object whose keys are data
	item    *node   // of a list, or of such an object
	lengths []float64
	leaf    *column
	form    any
}

// learn implements content.
func (j *records) learn(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: mostJSON}
	if j.lines {
		limited.N = 1 << 50
	}
	in := json.NewDecoder(limited)
	in.UseNumber()
	j.docs++
	for ; j.n < mostRows; j.n++ {
		var v any
		err := in.Decode(&v)
		switch {
		case errors.Is(err, io.EOF) && j.n > 0:
			return nil
		case err != nil && limited.N == 0:
			return fmt.Errorf("a JSON file of more than %d bytes cannot be read", mostJSON)
		case err != nil:
			return err
		}
		j.add(j.root, v, "")
	}
	j.partial = append(j.partial, plain(j.file))
	return nil
}

// add counts a value. Its name is that of the innermost key.
func (j *records) add(n *node, v any, name string) {
	n.seen++
	switch v := v.(type) {
	case map[string]any:
		if n.fields == nil {
			n.fields = map[string]*node{}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if n.fields[key] == nil && len(n.fields) <= mostValues {
				n.fields[key] = &node{}
			}
			if field := n.fields[key]; field != nil {
				j.add(field, v[key], key)
			}
			if len(n.fields) > mostValues {
				if n.keys == nil {
					n.keys = j.column("key")
				}
				n.keys.add(key)
				j.add(n.items(), v[key], name)
			}
		}
		n.lengths = append(n.lengths, float64(len(v)))
	case []any:
		for _, item := range v {
			j.add(n.items(), item, name)
		}
		n.lengths = append(n.lengths, float64(len(v)))
	default:
		if n.leaf == nil {
			n.leaf = j.column(name)
		}
		if v != nil {
			n.form = v
			n.leaf.add(fmt.Sprint(v))
			return
		}
		n.leaf.add("")
	}
}

func (j *records) column(name string) *column {
	c := newColumn(name)
	c.file = j.file
	j.columns = append(j.columns, c)
	return c
}

func (n *node) items() *node {
	if n.item == nil {
		n.item = &node{}
	}
	return n.item
}

// draw implements content.
func (j *records) draw(d *drawing, z float64) []byte {
	if !j.lines {
		data, _ := json.Marshal(d.value(j.root, z)) // has only values of JSON
		return data
	}
	var out []byte
	for range min(j.n/j.docs, d.quota) {
		data, _ := json.Marshal(d.value(j.root, d.NormFloat64()))
		out = append(append(out, data...), '\n')
	}
	return out
}

// value draws a value. The items of a list have hidden values of their own.
func (d *drawing) value(n *node, z float64) any {
	size := 0
	if len(n.lengths) > 0 {
		slices.Sort(n.lengths)
		size = min(int(n.lengths[d.IntN(len(n.lengths))]), filesOf(d.quota))
	}
	switch {
	case n.keys != nil:
		out := map[string]any{}
		for range size {
			z := d.NormFloat64()
			out[d.cell(n.keys, z)] = d.value(n.item, z)
		}
		return out
	case n.fields != nil:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(n.fields)) {
			if d.IntN(n.seen) < n.fields[key].seen {
				out[key] = d.value(n.fields[key], z)
			}
		}
		return out
	case n.lengths != nil:
		out := []any{}
		for range size {
			out = append(out, d.value(n.item, d.NormFloat64()))
		}
		return out
	case n.leaf == nil || n.form == nil:
		return nil
	}
	return n.typed(d.cell(n.leaf, z))
}

// typed returns a drawn cell as a value of the type that the raw data has.
func (n *node) typed(cell string) any {
	if cell == "" && n.leaf.missing > 0 {
		return nil
	}
	switch n.form.(type) {
	case json.Number:
		if json.Valid([]byte(cell)) {
			return json.Number(cell)
		}
	case bool:
		return cell == "true"
	}
	return cell
}
