package importer

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"go.yaml.in/yaml/v3"

	"github.com/mleflow/mleflow/engine/diag"
)

// document is a file of YAML as nodes. Aliases are not expanded, so that a short document
// stands for no more than its own nodes.
type document struct {
	path string
	text []byte
	root *yaml.Node
}

// parse reads a document of the source.
func (s *source) parse(name string) (document, bool) {
	text, ok := s.read(name, maxYAML)
	if !ok {
		return document{}, false
	}
	d := document{path: filepath.Join(s.dir, name), text: text}
	var node yaml.Node
	err := yaml.Unmarshal(text, &node)
	if err == nil && (len(node.Content) != 1 || node.Content[0].Kind != yaml.MappingNode) {
		err = fmt.Errorf("it holds no mapping such as \"id: my-competition\"")
	}
	if err != nil {
		s.fail(hcl.Range{Filename: d.path}, "Cannot read "+name, "%s.", strings.TrimPrefix(err.Error(), "yaml: "))
		return d, false
	}
	d.root = node.Content[0]
	return d, true
}

// at returns the range of a node.
func (d document) at(n *yaml.Node) hcl.Range {
	start := hcl.Pos{Line: n.Line, Column: n.Column}
	lines := bytes.SplitAfter(d.text, []byte("\n"))
	for _, line := range lines[:min(max(n.Line-1, 0), len(lines))] {
		start.Byte += len(line)
	}
	start.Byte = min(start.Byte+max(n.Column-1, 0), len(d.text))
	end := start
	end.Byte = min(start.Byte+len(n.Value), len(d.text))
	end.Column += end.Byte - start.Byte
	return hcl.Range{Filename: d.path, Start: start, End: end}
}

// find returns the value at the keys, or nil.
func (d document) find(keys ...string) *yaml.Node {
	n := d.root
	for _, key := range keys {
		n = member(n, key)
	}
	return n
}

func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// text returns the string at the keys. A missing one is a mistake if it is needed.
func (s *source) text(d document, needed bool, keys ...string) (string, hcl.Range) {
	n, name := d.find(keys...), strings.Join(keys, ".")
	switch {
	case n == nil || n.Tag == "!!null":
		if needed {
			s.fail(d.at(d.root), "No "+name, "%s needs %s. Add it.", filepath.Base(d.path), name)
		}
		return "", d.at(d.root)
	case n.Kind != yaml.ScalarNode:
		s.fail(d.at(n), "Wrong value for "+name, "Expected a string.")
		return "", d.at(n)
	case len(n.Value) > maxText:
		s.fail(d.at(n), "Wrong value for "+name, "It has more than %d characters.", maxText)
		return "", d.at(n)
	}
	return n.Value, d.at(n)
}

func (s *source) fail(at hcl.Range, summary, detail string, args ...any) {
	s.diags = append(s.diags, diag.Error(at, summary, detail, args...))
}
