package remote

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

const (
	closureHeader = "mleflow closure 1\n"
	// maxClosure limits the size of a marker that is read. It is enough for
	// 700,000 packs.
	maxClosure = 64 << 20
)

// closure is the content of a tree's marker.
type closure struct {
	root  cache.Ref
	packs []packRef
	// largeObjects and largeBytes count what is in objects/.
	largeObjects, largeBytes int64
}

// packRef is a pack as a closure names it.
type packRef struct {
	id      digest.ContentID
	bytes   int64
	objects int64
}

// bytes returns what fetching the whole closure transfers.
func (c *closure) bytes() int64 {
	n := c.largeBytes
	for _, p := range c.packs {
		n += p.bytes
	}
	return n
}

func (c *closure) encode() []byte {
	var b bytes.Buffer
	b.WriteString(closureHeader)
	fmt.Fprintf(&b, "tree %d %d %s\n", c.root.Size, c.root.Files, c.root.ID)
	for _, p := range c.packs {
		fmt.Fprintf(&b, "pack %d %d %s\n", p.bytes, p.objects, p.id)
	}
	fmt.Fprintf(&b, "large %d %d\n", c.largeObjects, c.largeBytes)
	return sealText(b.Bytes())
}

// decodeClosure reads the marker of root. An invalid one is cache.ErrCorrupt.
func decodeClosure(root cache.Ref, data []byte) (*closure, error) {
	body, err := unseal(data, closureHeader)
	if err != nil {
		return nil, err
	}
	c := &closure{root: root}
	seen := map[string]int{}
	for line := range bytes.Lines(body) {
		if err := c.line(strings.TrimSuffix(string(line), "\n"), seen); err != nil {
			return nil, fmt.Errorf("%w: %w", cache.ErrCorrupt, err)
		}
	}
	if seen["tree"] != 1 || seen["large"] != 1 {
		return nil, fmt.Errorf("%w: a line is missing", cache.ErrCorrupt)
	}
	return c, nil
}

func (c *closure) line(line string, seen map[string]int) error {
	fields := strings.Split(line, " ")
	seen[fields[0]]++
	if len(fields) < 3 {
		return fmt.Errorf("line %q is invalid", line)
	}
	a, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return err
	}
	b, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return err
	}
	if fields[0] == "large" && len(fields) == 3 {
		c.largeObjects, c.largeBytes = a, b
		return nil
	}
	if len(fields) != 4 {
		return fmt.Errorf("line %q is invalid", line)
	}
	id, err := digest.ParseContentID(fields[3])
	switch {
	case err != nil:
		return err
	case fields[0] == "pack":
		c.packs = append(c.packs, packRef{id: id, bytes: a, objects: b})
	case fields[0] != "tree":
		return fmt.Errorf("line %q is invalid", line)
	case id != c.root.ID || a != c.root.Size || b != c.root.Files:
		return fmt.Errorf("it belongs to another tree")
	}
	return nil
}
