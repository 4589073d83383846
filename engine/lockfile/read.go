package lockfile

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// maxSize is the maximum size of a lock file in bytes.
const maxSize = 256 << 20

// head is the lock block.
type head struct {
	Format   int    `hcl:"format"`
	Version  string `hcl:"mleflow"`
	Pipeline string `hcl:"pipeline"`
}

// block is a step block. Its labels are read separately, because their number
// varies.
type block struct {
	Action  string            `hcl:"action,optional"`
	Inputs  map[string]string `hcl:"inputs"`
	Outputs map[string]string `hcl:"outputs,optional"`
}

// Read reads the lock file at path.
func Read(path string) (*File, diag.List) {
	src, err := checkout.ReadFile(path, maxSize, checkout.Roots(filepath.Dir(path))...)
	if err != nil {
		return nil, diag.List{diag.Failure("No lock file", fmt.Errorf("%w; write it with: mleflow lock", err))}
	}
	return Parse(path, src)
}

// Parse parses a lock file; path is the name shown in ranges.
func Parse(path string, src []byte) (*File, diag.List) {
	parsed, diags := bounded.ParseLarge(src, path)
	if diags.HasErrors() {
		return nil, diags
	}
	body := parsed.Body.(*hclsyntax.Body)
	if diags := onlyBlocks(body); diags.HasErrors() {
		return nil, diags
	}
	f := &File{}
	seen := map[addr.Instance]bool{}
	heads := 0
	for _, b := range body.Blocks {
		if b.Type == "lock" {
			heads++
			diags = append(diags, f.readHead(b)...)
			continue
		}
		s, more := readStep(b)
		if seen[s.Addr] {
			more = append(more, diag.Error(b.DefRange(), "Step locked twice", "%s occurs a second time; write the file again with mleflow lock.", s.Addr))
		}
		seen[s.Addr] = true
		diags = append(diags, more...)
		f.Steps = append(f.Steps, s)
	}
	if heads != 1 {
		diags = append(diags, diag.Error(body.MissingItemRange(), "Not a lock file", "A lock file has one lock block; this one has %d. Write it again with mleflow lock.", heads))
	}
	f.sort()
	return f, diags
}

// onlyBlocks rejects everything except lock and step blocks.
func onlyBlocks(body *hclsyntax.Body) (diags diag.List) {
	for _, a := range body.Attributes {
		diags = append(diags, diag.Error(a.NameRange, "Not in a lock file", "A lock file holds lock and step blocks and no arguments."))
	}
	for _, b := range body.Blocks {
		if b.Type != "lock" && b.Type != "step" {
			diags = append(diags, diag.Error(b.TypeRange, "Not in a lock file", "A lock file holds lock and step blocks, no %q.", b.Type))
		}
	}
	return diags
}

func (f *File) readHead(b *hclsyntax.Block) diag.List {
	var h head
	diags := gohcl.DecodeBody(b.Body, nil, &h)
	if diags.HasErrors() {
		return diags
	}
	if h.Format != format {
		return diag.List{diag.Error(b.DefRange(), "Unknown format", "The lock file has format %d, but this version of mleflow reads format %d. Write it again with mleflow lock.", h.Format, format)}
	}
	f.Version, f.Pipeline = h.Version, h.Pipeline
	return nil
}

func readStep(b *hclsyntax.Block) (Step, diag.List) {
	var s Step
	if n := len(b.Labels); n != 2 && n != 3 {
		return s, diag.List{diag.Error(b.DefRange(), "Wrong labels", "A step has its kind, its name and, with for_each, its key as labels.")}
	}
	s.Addr = addr.Single(addr.Step{Kind: b.Labels[0], Name: b.Labels[1]})
	if len(b.Labels) == 3 {
		s.Addr = addr.Keyed(s.Addr.Step, b.Labels[2])
	}
	var c block
	diags := gohcl.DecodeBody(b.Body, nil, &c)
	if diags.HasErrors() {
		return s, diags
	}
	s.Inputs, s.Outputs = c.Inputs, c.Outputs
	if c.Action == "" {
		return s, nil
	}
	var err error
	if s.Action, err = digest.ParseActionID(c.Action); err != nil {
		return s, diag.List{diag.Error(b.Body.Attributes["action"].SrcRange, "Wrong action", "%s.", err)}
	}
	return s, nil
}
