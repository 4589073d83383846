package competitions_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/shipped"
)

// TestAtlas: the table of docs/contamination.md has a row for each collection that a shipped
// definition names, in order, and no other.
func TestAtlas(t *testing.T) {
	catalog, err := competitions.Load(shipped.FS)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, id := range catalog.IDs() {
		def, err := catalog.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range def.PublicLabels {
			fmt.Fprintf(&want, "| `competitions/%s` | [%s](%s) | %s | %s | [source](%s) |\n", id, p.Name, p.URL, p.Covers, p.Note, p.Reference)
		}
	}
	const name = "../docs/contamination.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), "| --- | --- | --- | --- | --- |\n")
	var rows string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "| `competitions/") {
			break
		}
		rows += line
	}
	if found && rows == want.String() {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" || !found {
		t.Fatalf("%s is not as the definitions say; UPDATE_GOLDEN=1 writes:\n%s", name, want.String())
	}
	text := head + "| --- | --- | --- | --- | --- |\n" + want.String() + strings.TrimPrefix(rest, rows)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const labelledDefinition = `competition "mine" {
  title = "t"
  complexity = "low"
  description = "d"
  %s
  source "file" { path = "x.zip" }
  prepare {}
  grade { metric = "accuracy" }
}
`

const collection = `public_labels "Dogs" {
    url = "https://www.Example.org/Dogs/"
    covers = "all"
    note = "The same."
    reference = "description.md"
  }`

// TestPublicLabels: the block is read, mistakes are errors, and neither key depends on it.
func TestPublicLabels(t *testing.T) {
	parse := func(block string) (*competitions.Definition, string) {
		def, diags := competitions.Parse(fmt.Appendf(nil, labelledDefinition, block), "mine", fstest.MapFS{})
		return def, diags.Error()
	}
	with, text := parse(collection)
	without, _ := parse("")
	if with == nil || without == nil || len(with.PublicLabels) != 1 {
		t.Fatal(text)
	}
	p := with.PublicLabels[0]
	if p.Address() != "example.org/dogs" || !strings.HasSuffix(p.Reference, "/mlebench/competitions/mine/description.md") || !strings.Contains(p.Extent(), "all") {
		t.Errorf("%+v", p)
	}
	for _, key := range []func(*competitions.Definition) any{
		func(d *competitions.Definition) any { sum, _ := d.PrepareDigest(map[string]cty.Value{}); return sum },
		func(d *competitions.Definition) any { sum, _ := d.GradeDigest(map[string]cty.Value{}); return sum },
	} {
		if key(with) != key(without) {
			t.Error("a key depends on public_labels")
		}
	}
	for _, wrong := range [][3]string{
		{`"all"`, `"most"`, "Unknown part most"}, {"https://www.E", "ftp://E", "Not a URL"}, {"note = ", "notes = ", "Unknown attribute notes"}, {`"description.md"`, `"gopher://x"`, "Not a URL"},
	} {
		if _, text := parse(strings.Replace(collection, wrong[0], wrong[1], 1)); !strings.Contains(text, wrong[2]) {
			t.Errorf("%s: %s", wrong[1], text)
		}
	}
}
