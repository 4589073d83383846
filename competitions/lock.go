package competitions

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// LockName is the name of the file next to a definition that holds its pins.
const LockName = "checksums.lock"

// Lock holds the digests that a competition's files are checked against. A program
// writes it; see FormatLock for the form.
type Lock struct {
	// Download is the MD5 of the Kaggle download, or empty.
	Download string
	// Description and Obfuscated are the SHA-256 of the reference's texts, or
	// empty.
	Description, Obfuscated string
	// Prepared are the pins of the prepared files by version.
	Prepared map[string]Checksums
}

// FormatLock returns the text of a lock file:
//
//	download "kaggle" { md5 = "…" }
//	reference {
//	  sha256            = "…"
//	  obfuscated_sha256 = "…"
//	}
//	prepared "v1" {
//	  manifest = "…"
//	  public   = { "train.csv" = "…" }
//	  private  = { "test.csv" = "…" }
//	}
//
// Empty fields are left out. The same lock gives the same text.
func FormatLock(l Lock) []byte {
	var b bytes.Buffer
	b.WriteString("# Written by mleflow competition lock. Commit this file with competition.hcl.\n")
	if l.Download != "" {
		fmt.Fprintf(&b, "\ndownload \"kaggle\" {\nmd5 = %q\n}\n", l.Download)
	}
	if l.Description != "" {
		fmt.Fprintf(&b, "\nreference {\nsha256 = %q\n", l.Description)
		if l.Obfuscated != "" {
			fmt.Fprintf(&b, "obfuscated_sha256 = %q\n", l.Obfuscated)
		}
		b.WriteString("}\n")
	}
	for _, version := range slices.Sorted(maps.Keys(l.Prepared)) {
		sums := l.Prepared[version]
		fmt.Fprintf(&b, "\nprepared %q {\n", version)
		if sums.Manifest != "" {
			fmt.Fprintf(&b, "manifest = %q\n", sums.Manifest)
		}
		writePins(&b, "public", sums.Public)
		writePins(&b, "private", sums.Private)
		b.WriteString("}\n")
	}
	return hclwrite.Format(b.Bytes())
}

func writePins(b *bytes.Buffer, half string, pins map[string]string) {
	if len(pins) == 0 {
		return
	}
	fmt.Fprintf(b, "%s = {\n", half)
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		fmt.Fprintf(b, "%s = %q\n", hclwrite.TokensForValue(cty.StringVal(name)).Bytes(), pins[name])
	}
	b.WriteString("}\n")
}
