package docgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
)

// Profile returns the page that says which versions of the reference's
// libraries grading follows, and where newer ones answer otherwise.
func Profile(p grading.Profile) []byte {
	page := newPage("The reference profile")
	page.textf("MLE-bench declares minimum versions of its libraries but no maximum, and its scores depend on them. mleflow follows one set of "+
		"versions. Grading reports name it in the field `reference_profile`: `%s`.", grading.ReferenceProfile)
	page.text("The answers in the columns were computed by MLE-bench's own graders with these versions:")
	columns := []string{grading.ProfileReference, grading.ProfilePandas2, grading.ProfilePandas3}
	page.table(append([]string{"library"}, columns...), versionRows(p, columns))
	page.text("scipy 1.14.1 and 1.17.1 gave the same answers to 12,300 drawn submissions, so the profile's `scipy-1.14` stands for both. " +
		"Parquet files are read as pyarrow reads them: fastparquet turns integer columns into floats if their row groups do not count missing cells.")
	page.heading(2, "Where the versions differ")
	page.text("Each row is a submission with hostile content and its score, rounded; `none` means that it has no score. The column mleflow is " +
		"filled where we do not follow the profile. A test grades every one of these submissions.")
	page.table([]string{"case", "competition", "cells", "reference", "pandas-2.3", "pandas-3", "mleflow"}, caseRows(p))
	page.heading(2, "Why mleflow differs from the profile")
	for _, c := range p.Cases {
		if c.Why != "" {
			page.textf("- %s (%s): %s", c.Rule, c.Competition, c.Why)
		}
	}
	page.heading(2, "What depends on the processor")
	page.text("numpy's default sort is not stable, and it uses vector instructions where the processor has them, which leave rows with equal numbers in " +
		"another order. mleflow's order is that of numpy's scalar code. It shows where a submission repeats a numeric id and the grader pairs rows after " +
		"sorting: google-quest-challenge with equal `qa_id`, hms-harmful-brain-activity-classification with equal `eeg_id`, " +
		"new-york-city-taxi-fare-prediction with equal numbers as `key`. With numpy's vector " +
		"code switched off (`NPY_DISABLE_CPU_FEATURES`), the reference gives mleflow's scores.")
	page.text("The last digit of a score may depend on the processor, too. numpy takes sine and cosine from the C library, arcsine and arccosine from " +
		"Intel's vector code where there is AVX-512 and else from the C library; the C library has variants with and without fused products. mleflow's " +
		"functions give the nearest double on every machine. Of 600,000 numbers each, sine differs from numpy 1.26 with glibc 2.36 in 347 and cosine in 278, by one " +
		"unit in the last place; arcsine in 658 and arccosine in 163 without AVX-512, in 65,568 and 166,735 with it. Glibc's own variants differ in 170, 147, 129 and 69. " +
		"Of 3,000 submissions to smartphone-decimeter-2022, one score differs in the last digit from numpy without AVX-512, 422 from numpy with it, and " +
		"423 between the two; rounded to five decimals, all are equal. (Go's functions differed in 866 and 944.)")
	return []byte(page.b.String())
}

func versionRows(p grading.Profile, columns []string) [][]string {
	var rows [][]string
	for _, library := range slices.Sorted(maps.Keys(p.Versions[grading.ProfileReference])) {
		row := []string{library}
		for _, column := range columns {
			row = append(row, p.Versions[column][library])
		}
		rows = append(rows, row)
	}
	return rows
}

func caseRows(p grading.Profile) [][]string {
	var rows [][]string
	for _, c := range p.Cases {
		if c.Differs() {
			rows = append(rows, []string{c.Rule, c.Competition, changed(c), c.Answers[grading.ProfileReference], c.Answers[grading.ProfilePandas2], c.Answers[grading.ProfilePandas3], c.Ours})
		}
	}
	return rows
}

// changed says what is in the submission's cells.
func changed(c grading.ProfileCase) string {
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
