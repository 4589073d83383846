package prep

import (
	"fmt"
	"path"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// pathTemplate is a path with column names in braces, compiled against the
// columns of a table.
type pathTemplate struct {
	source string
	texts  []string
	cols   []*table.Column
}

// compilePath compiles a template such as "images/{id}.jpg". A brace is
// written twice to stand for itself.
func compilePath(source string, t *table.Table) (*pathTemplate, error) {
	p := &pathTemplate{source: source}
	text := ""
	for rest := source; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text += rest[:1]
			rest = rest[2:]
		case rest[0] == '}':
			return nil, fmt.Errorf("path %q has a closing brace without an opening one", source)
		case rest[0] == '{':
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok {
				return nil, fmt.Errorf("path %q has an opening brace without a closing one", source)
			}
			c, err := t.Column(name)
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", source, err)
			}
			p.texts, p.cols = append(p.texts, text), append(p.cols, c)
			text, rest = "", after
		default:
			text += rest[:1]
			rest = rest[1:]
		}
	}
	p.texts = append(p.texts, text)
	return p, nil
}

// row returns the path of row i. It must stay inside its folder.
func (p *pathTemplate) row(i int) (string, error) {
	n := 0
	for _, s := range p.texts {
		n += len(s) + 16
	}
	buf := make([]byte, 0, n)
	for k, c := range p.cols {
		if c.IsMissing(i) {
			return "", fmt.Errorf("path %q: column %q is missing in row %d", p.source, c.Name(), i)
		}
		buf = append(append(buf, p.texts[k]...), c.Text(i)...)
	}
	out := string(append(buf, p.texts[len(p.texts)-1]...))
	return out, checkPath(out)
}

// checkPath refuses a path that is not clean and relative.
func checkPath(p string) error {
	if p == "" || p == "." || path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%q is not a path inside the folder", p)
	}
	return nil
}
