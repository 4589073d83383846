package competitions

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// LockName is the name of the file next to a definition that holds its pins.
const LockName = "checksums.lock"

// Lock holds the digests that a competition's files are checked against. A program
// writes it; see FormatLock for the form.
type Lock struct {
	// Download is the MD5 of the Kaggle download, or empty.
	Download string `attr:"md5,md5"`
	// Description and Obfuscated are the SHA-256 of the reference's texts, or
	// empty.
	Description string `attr:"sha256,sha256"`
	Obfuscated  string `attr:"obfuscated_sha256,sha256"`
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

var lockBlocks = map[string]blockShape{"download": {labels: 1}, "reference": {}, "prepared": {labels: 1, many: true}}

// lockPath returns where a definition's lock file is, as diagnostics show it.
func lockPath(definition string) string { return filepath.Join(filepath.Dir(definition), LockName) }

// lock reads the lock file next to the definition, if there is one.
func (d *decoder) lock() {
	data, err := fs.ReadFile(d.def.folder, LockName)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	at := lockPath(d.def.path)
	if err != nil {
		d.diags = append(d.diags, diag.General("Cannot read pins", "%s: %v.", at, err))
		return
	}
	file, diags := bounded.ParseLarge(data, at)
	d.def.lockFile = &hcl.File{Bytes: data}
	if d.diags = append(d.diags, diags...); diags.HasErrors() {
		d.fail(d.def.label, "Damaged "+LockName, "%s cannot be read. Restore it, or delete it and write it again with mleflow competition lock %s.", at, d.def.ID)
		return
	}
	body := file.Body.(*hclsyntax.Body)
	d.check(body, nil, lockBlocks)
	l := &Lock{Prepared: map[string]Checksums{}}
	for _, b := range body.Blocks {
		d.lockBlock(l, b)
	}
	d.def.lock = l
}

func (d *decoder) lockBlock(l *Lock, b *hclsyntax.Block) {
	switch b.Type {
	case "download":
		d.check(b.Body, []string{"md5"}, nil)
		d.fill(b.Body, l)
	case "reference":
		d.check(b.Body, []string{"sha256", "obfuscated_sha256"}, nil)
		d.fill(b.Body, l)
	case "prepared":
		if len(b.Labels) != 1 {
			return
		}
		if _, ok := l.Prepared[b.Labels[0]]; ok {
			d.fail(b.DefRange(), "Second block prepared "+b.Labels[0], "Each version is pinned once.")
		}
		l.Prepared[b.Labels[0]] = d.checksums(b.Body)
	}
}

// pinned fills in the lock file's pins, which the definition must not have too.
func (d *decoder) pinned() {
	l := d.def.lock
	if l == nil {
		l = &Lock{}
	}
	kaggle := slices.IndexFunc(d.def.Sources, func(s Source) bool { return s.Kind == "kaggle" })
	switch {
	case l.Download == "":
	case kaggle < 0:
		d.fail(d.def.label, "Pin without a download", "%s pins a download from Kaggle, but there is no block source \"kaggle\".", LockName)
	case d.def.Sources[kaggle].MD5 != "":
		d.fail(d.def.Sources[kaggle].Range, "Download pinned twice", "%s holds its MD5. Delete one of them.", LockName)
	default:
		d.def.Sources[kaggle].MD5 = l.Download
	}
	facts := &d.def.Facts
	for _, text := range []struct {
		pin       *Pin
		sum, file string
	}{{&facts.Description, l.Description, "description.md"}, {&facts.Obfuscated, l.Obfuscated, "description_obfuscated.md"}} {
		switch {
		case text.sum == "":
		case text.pin.SHA256 != "":
			d.fail(d.def.label, "Description pinned twice", "%s holds its SHA-256. Delete one of them.", LockName)
		default:
			text.pin.SHA256 = text.sum
			if text.pin.URL == "" {
				text.pin.Path = path.Join("mlebench/competitions", d.def.ID, text.file)
			}
		}
		if text.pin.URL != "" && text.pin.SHA256 == "" {
			d.fail(d.def.label, "Description without a pin", "Write the SHA-256 of %s next to its URL.", text.pin.URL)
		}
	}
	d.def.Checksums = l.Prepared["v1"]
	for i := range d.def.changes {
		if sums, ok := l.Prepared[d.def.changes[i].version]; ok {
			d.def.changes[i].pins = &sums
		}
	}
	for _, version := range slices.Sorted(maps.Keys(l.Prepared)) {
		if !slices.Contains(d.def.Versions(), version) {
			d.fail(d.def.label, "Pins of an unknown version", "%s pins the files of %s; the competition has %v.", LockName, version, d.def.Versions())
		}
	}
}

// Lock returns the competition's lock, to be changed and written. It is empty if
// there is no lock file.
func (d *Definition) Lock() Lock {
	if d.lock == nil {
		return Lock{Prepared: map[string]Checksums{}}
	}
	l := *d.lock
	l.Prepared = maps.Clone(l.Prepared)
	return l
}

// LockMissing returns nil if the definition has a lock file, even an empty one.
// Otherwise the error gives the remedy.
func (d *Definition) LockMissing() error {
	if d.lock != nil {
		return nil
	}
	return fmt.Errorf("%s is missing, so the prepared files of %s cannot be checked: write it with mleflow competition lock %s, or restore it; an empty file means that nothing is pinned yet",
		lockPath(d.path), d.ID, d.ID)
}
