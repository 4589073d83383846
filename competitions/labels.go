package competitions

import (
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// PublicLabels is a collection outside the competition that has labels of its hidden test
// rows. No output depends on it.
type PublicLabels struct {
	Name string `json:"name"`
	// URL is the collection's page.
	URL string `json:"url"`
	// Covers is the part of the hidden rows whose labels it has: all, part or unknown.
	Covers string `json:"covers"`
	Note   string `json:"note"`
	// Loaders are the names with which programs fetch it, such as stanford_dogs.
	Loaders []string `json:"loaders,omitempty"`
	// Reference is the address of the evidence.
	Reference string `json:"reference"`
}

// covers are the values of Covers.
var covers = []string{"all", "part", "unknown"}

// Extent describes which labels the collection has.
func (p PublicLabels) Extent() string {
	switch p.Covers {
	case "all":
		return "the labels of all hidden rows"
	case "part":
		return "labels of some hidden rows"
	}
	return "labels of the same kind of rows; how many are hidden here is not known"
}

// Address returns the URL in lower case without scheme, "www." and a slash at the end, as
// code may write it.
func (p PublicLabels) Address() string {
	_, rest, _ := strings.Cut(p.URL, "://")
	return strings.ToLower(strings.TrimPrefix(strings.TrimSuffix(rest, "/"), "www."))
}

// publicLabels decodes
//
//	public_labels "Stanford Dogs" {
//	  url       = "http://vision.stanford.edu/aditya86/ImageNetDogs/"
//	  covers    = "all"             # of the hidden rows: all, part, unknown
//	  note      = "one sentence on what is the same"
//	  loaders   = ["stanford_dogs"] # names with which programs fetch it
//	  reference = "description.md"  # the evidence: a URL, or a file in the reference's folder of the competition
//	}
func (d *decoder) publicLabels(blocks []*hclsyntax.Block) {
	for _, b := range blocks {
		d.check(b.Body, bodySchema{attrs: []string{"url", "covers", "note", "loaders", "reference"}})
		p := PublicLabels{Name: b.Labels[0], URL: d.text(b.Body, "url", true), Covers: d.text(b.Body, "covers", true), Note: d.text(b.Body, "note", true), Loaders: d.names(b.Body, "loaders"), Reference: d.referenceURL(b.Body)}
		if a := b.Body.Attributes["covers"]; a != nil && !slices.Contains(covers, p.Covers) {
			d.fail(a.Expr.Range(), "Unknown part "+p.Covers, "Write one of %v.", covers)
		}
		for _, one := range [][2]string{{"url", p.URL}, {"reference", p.Reference}} {
			u, err := url.Parse(one[1])
			if a := b.Body.Attributes[one[0]]; a != nil && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
				d.fail(a.Expr.Range(), "Not a URL", "Write an address that begins with https:// or http://.")
			}
		}
		d.def.PublicLabels = append(d.def.PublicLabels, p)
	}
}
