package docgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/grading/profile"
)

// Profile returns the page that says which versions of the reference's
// libraries grading follows, and where newer ones answer otherwise.
func Profile(p profile.Profile) []byte {
	page := newPage("The reference profile")
	page.textf("This page lists the library versions that scores follow, and where other versions give other scores. `mleflow grade-sample --json` names "+
		"them in the field `reference_profile`: `%s`. MLE-bench itself declares minimum versions only.", grading.ReferenceProfile)
	page.text("The answers in the columns were computed by MLE-bench's own graders with these versions:")
	columns := []string{profile.Reference, profile.Pandas2, profile.Pandas3}
	page.table(append([]string{"library"}, columns...), versionRows(p, columns))
	page.text("scipy 1.14.1 and 1.17.1 gave the same answers to 12,300 drawn submissions, so the profile's `scipy-1.14` stands for both. " +
		"Parquet files are read as pyarrow reads them: fastparquet turns integer columns into floats if their row groups do not count missing cells.")
	page.heading(2, "Where the versions differ")
	page.text("Each row is a submission with hostile content and its rounded score; `none` is no score. The column mleflow is " +
		"filled where we do not follow the profile.")
	page.table([]string{"case", "competition", "cells", "reference", "pandas-2.3", "pandas-3", "mleflow"}, caseRows(p))
	page.heading(2, "Why mleflow differs from the profile")
	for _, c := range p.Cases {
		if c.Why != "" {
			page.textf("- %s (%s): %s", c.Rule, c.Competition, c.Why)
		}
	}
	page.heading(2, "What depends on the processor")
	page.text("numpy's default sort is not stable, and leaves rows with equal numbers in another order where the processor has vector instructions. mleflow's order is " +
		"that of numpy's scalar code (`NPY_DISABLE_CPU_FEATURES`). It shows where a submission repeats a numeric id and the grader pairs rows after " +
		"sorting: google-quest-challenge with equal `qa_id`, hms-harmful-brain-activity-classification with equal `eeg_id`, " +
		"new-york-city-taxi-fare-prediction with equal numbers as `key`.")
	page.text("The last digit of a score may depend on the processor, too: numpy's sine, cosine, arcsine and arccosine differ with AVX-512 and with the C library. " +
		"mleflow's functions give the nearest double on every machine. Rounded to five decimals, all scores of 3,000 submissions to smartphone-decimeter-2022 are equal.")
	return []byte(page.b.String())
}

func versionRows(p profile.Profile, columns []string) [][]string {
	var rows [][]string
	for _, library := range slices.Sorted(maps.Keys(p.Versions[profile.Reference])) {
		row := []string{library}
		for _, column := range columns {
			row = append(row, p.Versions[column][library])
		}
		rows = append(rows, row)
	}
	return rows
}

func caseRows(p profile.Profile) [][]string {
	var rows [][]string
	for _, c := range p.Cases {
		if c.Differs() {
			rows = append(rows, []string{c.Rule, c.Competition, changed(c), c.Answers[profile.Reference], c.Answers[profile.Pandas2], c.Answers[profile.Pandas3], c.Ours})
		}
	}
	return rows
}

// changed says what is in the submission's cells.
func changed(c profile.Case) string {
	var parts []string
	for _, e := range c.Changes() {
		var values []string
		for _, v := range e.Values {
			if r := []rune(v); len(r) > 30 {
				v = string(r[:30]) + "…"
			}
			values = append(values, fmt.Sprintf("%q", v))
		}
		where := "all cells of"
		if e.Rows != nil {
			where = "a cell of"
		}
		parts = append(parts, fmt.Sprintf("%s `%s`: `%s`", where, e.Column, strings.Join(values, ", ")))
	}
	return strings.Join(parts, "; ")
}
