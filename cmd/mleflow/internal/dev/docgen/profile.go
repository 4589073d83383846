package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/grading/profile"
)

// profilePage returns the page that says which versions of the reference's
// libraries grading follows, and where newer ones answer otherwise.
func profilePage(p profile.Profile) []byte {
	page := newPage("The reference profile")
	page.textf("The library versions that scores follow, and where others differ. `mleflow grade-sample --json` names "+
		"them in `reference_profile`: `%s`. MLE-bench itself declares minimum versions only.", grading.ReferenceProfile)
	page.text("MLE-bench's own graders gave the answers in the columns with these versions:")
	columns := []string{profile.Reference, profile.Pandas2, profile.Pandas3}
	page.table(append([]string{"library"}, columns...), versionRows(p, columns))
	page.text("scipy 1.14.1 and 1.17.1 gave the same answers to 12,300 drawn submissions: `scipy-1.14` stands for both. " +
		"Parquet files are read as by pyarrow; fastparquet makes integer columns floats if their row groups do not count missing cells.")
	page.heading(2, "Where the versions differ")
	page.text("Each row is a submission with hostile content (all cells of a column, or one) and its rounded score, if any.")
	page.table([]string{"case", "where", "cells", "reference", "pandas-2.3", "pandas-3"}, caseRows(p))
	page.heading(2, "Why mleflow differs from the profile")
	for _, c := range p.Cases {
		if c.Why != "" {
			page.textf("- %s (%s, here %s): %s", c.Rule, c.Competition, c.Ours, c.Why)
		}
	}
	page.heading(2, "What depends on the processor")
	page.text("numpy's default sort leaves rows with equal numbers in another order where the processor has vector instructions. mleflow's order is " +
		"that of its scalar code (`NPY_DISABLE_CPU_FEATURES`). It shows where a submission repeats a numeric id and the grader sorts by it: " +
		"google-quest-challenge (`qa_id`), hms-harmful-brain-activity-classification (`eeg_id`), new-york-city-taxi-fare-prediction (`key`).")
	page.text("numpy's sine, cosine, arcsine and arccosine, and so a score's last digit, differ with AVX-512 and the C library. mleflow's " +
		"give the nearest double everywhere. Rounded to five decimals, the scores of 3,000 submissions to smartphone-decimeter-2022 are equal.")
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

// caseRows has a row for all places where a rule and cells give the same
// answers. Rows of one rule name it once.
func caseRows(p profile.Profile) [][]string {
	var rows [][]string
	rule := ""
	for _, c := range p.Cases {
		if !c.Differs() {
			continue
		}
		columns, cells := changed(c)
		where := strings.TrimSpace(c.Competition + " " + columns)
		row := []string{c.Rule, where, cells, c.Answers[profile.Reference], c.Answers[profile.Pandas2], c.Answers[profile.Pandas3]}
		if c.Rule == rule {
			row[0] = ""
			if last := rows[len(rows)-1]; slices.Equal(last[2:], row[2:]) {
				last[1] += ", " + where
				continue
			}
		}
		rows, rule = append(rows, row), c.Rule
	}
	return rows
}

// changed says which columns of the submission were changed, and to what.
func changed(c profile.Case) (columns, cells string) {
	var names, parts []string
	for _, e := range c.Changes() {
		var values []string
		for _, v := range e.Values {
			if r := []rune(v); len(r) > 30 {
				v = string(r[:30]) + "…"
			}
			values = append(values, fmt.Sprintf("%q", v))
		}
		which := "all:"
		if e.Rows != nil {
			which = "one:"
		}
		names = append(names, code(e.Column))
		parts = append(parts, which+" "+code(strings.Join(values, ", ")))
	}
	return strings.Join(names, ", "), strings.Join(parts, "; ")
}
