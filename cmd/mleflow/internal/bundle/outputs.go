package bundle

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// outputs adds the content of outputs that may be taken: by kind, and what is
// public and was graded, whoever made it.
func (c *collector) outputs() error {
	graded := map[string]bool{}
	for _, r := range c.records {
		if r.Kind == kindGrade {
			graded[r.field("submission")] = true
			c.names[path.Base(r.field("file"))] = true
		}
	}
	for _, r := range c.records {
		for name, v := range r.outputs() {
			if v.Ref.IsZero() {
				continue
			}
			at := "outputs/" + folder(r.Address) + "/" + folder(name)
			rule := c.rules[r.Address]
			submitted := graded[v.Ref.ID.String()] && rule.open(name) && !isData(rule)
			if !rule.content(name) && !submitted {
				c.omit(r.Address+" "+name, v.Ref.ID.String(), rule.why(name))
				continue
			}
			if err := c.output(at, v.Ref, submitted || name == "submission" || name == "snapshots"); err != nil {
				return fmt.Errorf("bundle output %s of %s: %w", name, r.Address, err)
			}
		}
	}
	return nil
}

// output adds the files of an output and the directories that they are in. A
// file of a submission that was graded is taken even if it is one of the
// competition's own: the sample may be submitted.
func (c *collector) output(at string, ref cache.Ref, submitted bool) error {
	if ref.Kind == cache.Blob {
		c.content(at, ref)
		return nil
	}
	if err := c.directory(ref.ID); err != nil {
		return err
	}
	return tree.Walk(c.ctx, c.src.Cache, ref, func(name string, e tree.Entry) error {
		path := at + "/" + escapePath(name)
		switch {
		case e.IsDir():
			return c.directory(e.ID)
		case c.answers[e.ID]:
			c.omit(path, e.ID.String(), "it is a file of the answers")
		case c.data[e.ID] && !(submitted && c.names[e.Name]):
			c.omit(path, e.ID.String(), "it is a file of the competition's data")
		default:
			c.content(path, e.Ref())
		}
		return nil
	})
}

// directory adds the encoding of a directory.
func (c *collector) directory(id digest.ContentID) error {
	if c.trees[id] {
		return nil
	}
	c.trees[id] = true
	size, err := c.src.Cache.Has(c.ctx, id)
	if err != nil {
		return err
	}
	c.content("trees/"+id.String(), cache.Ref{ID: id, Size: size})
	return nil
}

// content adds an object of the cache.
func (c *collector) content(path string, ref cache.Ref) {
	if ref.Size > maxBlob {
		c.omit(path, ref.ID.String(), "it is larger than a bundle holds in one file")
		return
	}
	c.items[path] = item{File{path, ref.ID, ref.Size}, func() (io.ReadCloser, error) { return c.src.Cache.Open(c.ctx, ref.ID) }}
}

// isData reports whether a step makes data: nobody's submission.
func isData(r rule) bool {
	return slices.Contains([]string{kindChecksum, kindDownload, kindPrepare}, r.kind.Name)
}

// why says why an output is not taken.
func (r rule) why(output string) string {
	if r.kind == nil || r.kind.Output(output) == nil {
		return "the pipeline has no such step"
	}
	switch secrecy := r.kind.Output(output).Secrecy; {
	case secrecy == step.Private, secrecy == step.Inherit && r.private:
		return "it is private, or made from what is"
	}
	if isData(r) {
		return "it is data, not a result"
	}
	return "only what agents, grades and leaderboards gave is taken"
}

// escapePath makes a path of a tree one of a bundle.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "\\", "%5C", "\n", "%0A").Replace(path)
}
