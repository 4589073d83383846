package bundle

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
)

// outputs adds the content of outputs that may be published: by kind, and public graded
// content of any kind.
func (c *collector) outputs() error {
	graded := map[string]bool{}
	for _, r := range c.records {
		if r.Kind == conditions.GradeKind {
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
			if slices.Contains(step.ConditionValues(step.TriesConditions(r.Tries), step.SecretIn), name) {
				c.omit(r.Address+" "+name, v.Ref.ID.String(), "a secret was found in it when the attempt ended")
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
		if why := c.leaks.refuse(c.ctx, ref.ID); why != "" {
			c.omit(at, ref.ID.String(), why)
			return nil
		}
		c.content(at, ref)
		return nil
	}
	refuse := func(e tree.Entry) string { return c.refuse(e, submitted) }
	if loose, err := c.loose(at, ref); err != nil || !loose {
		return cmp.Or(err, c.packed(at, ref, refuse))
	}
	if err := c.directory(ref.ID); err != nil {
		return err
	}
	return tree.Walk(c.ctx, c.src.Cache, ref, func(name string, e tree.Entry) error {
		if e.IsDir() {
			return c.directory(e.ID)
		}
		path := at + "/" + escapePath(name)
		if why := refuse(e); why != "" {
			c.omit(path, e.ID.String(), why)
			return nil
		}
		c.content(path, e.Ref())
		return nil
	})
}

// refuse returns the reason why a file of an output is omitted; "" if it is taken.
func (c *collector) refuse(e tree.Entry, submitted bool) string {
	switch {
	case c.answers[e.ID]:
		return "it is one of the answer files"
	case c.data[e.ID] && !(submitted && c.names[e.Name]):
		return "it is one of the competition's data files"
	case e.Size > maxBlob-block:
		return tooLarge
	}
	return c.leaks.refuse(c.ctx, e.ID)
}

// tooLarge returns the reason why a file of this size is omitted.
const tooLarge = "it is too large for one file of a bundle"

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
	if ref.Size > maxBlob-block {
		c.omit(path, ref.ID.String(), tooLarge)
		return
	}
	c.items[path] = item{File{path, ref.ID, ref.Size}, func() (io.ReadCloser, error) { return c.src.Cache.Open(c.ctx, ref.ID) }}
}

// isData reports whether a step makes data rather than a submission.
func isData(r rule) bool {
	return slices.Contains([]string{conditions.ChecksumKind, conditions.DownloadKind, conditions.PrepareKind}, r.kind.Name)
}

// why returns the reason why an output is omitted.
func (r rule) why(output string) string {
	if r.kind == nil || r.kind.Output(output) == nil {
		return "the pipeline has no such step"
	}
	switch secrecy := r.kind.Output(output).Secrecy; {
	case secrecy == step.Private, secrecy == step.Inherit && r.private:
		return "it is private, or made from private data"
	}
	if isData(r) {
		return "it is data, not a result"
	}
	return "only submissions, grading reports, findings and leaderboards are included"
}

// escapePath turns a path of a tree into one of a bundle. Names of files are bytes; paths
// in a bundle are UTF-8 without control characters. All other bytes and the percent sign
// are written as %XX. Different paths stay different.
func escapePath(path string) string { return escapeBytes(strings.ReplaceAll(path, "%", "%25")) }

// escapeBytes writes as %XX every byte that cannot be in a path of a bundle.
func escapeBytes(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		if r != '\\' && !unicode.IsControl(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(path[i : i+n])
		} else {
			for _, c := range []byte(path[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		i += n
	}
	return b.String()
}
