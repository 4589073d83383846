package footprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
)

// The factors; see the package comment.
const (
	TextFactor   = 4.0
	MixedFactor  = 1.5
	BesideFactor = 0.1
	// PackFactor is the largest expected ratio of an archive's unpacked size to its
	// packed size.
	PackFactor = 10
)

// Files returns the size of the files that Kaggle lists, 0 if unknown.
func Files(def *competitions.Definition) int64 { return int64(def.Facts.SizeGB * 1e9) }

// Unpacked returns how large files of the given size are when the archives
// among them are unpacked as well, with the factor.
func Unpacked(def *competitions.Definition, files int64) (int64, float64) {
	names, known := def.Extracted()
	factor := MixedFactor
	switch {
	case known && len(names) == 0:
		factor = 1
	case known && !slices.ContainsFunc(names, func(name string) bool { return !isText(name) }):
		factor = TextFactor
	}
	return int64(float64(files) * factor), factor
}

// Prepared returns how much preparing raw data of the given size adds.
func Prepared(def *competitions.Definition, raw int64) (int64, float64) {
	outputs, diags := prep.Outputs(def)
	if diags.HasErrors() {
		return raw, 1
	}
	copies := false
	for _, o := range outputs {
		switch o.Kind {
		case "archive":
			return raw, 1
		case "files", "copy":
			copies = true
		}
	}
	if copies {
		return int64(float64(raw) * BesideFactor), BesideFactor
	}
	return raw, 1
}

// isText reports whether an archive is named after a text in it.
func isText(name string) bool {
	return slices.ContainsFunc([]string{".csv.", ".tsv.", ".json.", ".jsonl.", ".txt."}, func(ext string) bool {
		return strings.Contains(strings.ToLower(name), ext)
	})
}

// Basis names the origin of an estimate from size_gb.
func Basis(factor float64) string {
	if factor == 1 {
		return "size_gb"
	}
	return fmt.Sprintf("size_gb × %g", factor)
}
