package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// WithSummary says how a file differs from the one that a summary was taken of.
func WithSummary(ctx context.Context, name string, want Summary, got Opener) (Difference, error) {
	found, err := Summarise(ctx, name, got)
	if err != nil {
		return Difference{}, err
	}
	return summaries(want, found), nil
}

// summaries says how two summarised files of one name differ.
func summaries(want, got Summary) Difference {
	switch {
	case want.SHA256 == got.SHA256:
		return Difference{Same: true, Text: "the bytes are equal"}
	case want.Table != nil && got.Table != nil:
		return summarisedTables(want.Table, got.Table)
	case want.Inner != nil && got.Inner != nil:
		return summarisedInner(want, got)
	case want.Members != nil && got.Members != nil:
		return summarisedMembers(want.Members, got.Members)
	case want.Pages != nil && got.Pages != nil:
		return summarisedPages(want, got)
	}
	if want.Table == nil && want.Inner == nil && want.Members == nil {
		return Difference{Text: "where they differ is not known"}
	}
	return Difference{Text: "one of the files cannot be read as what its name says"}
}

func summarisedPages(want, got Summary) Difference {
	from, to, ok := want.Pages.firstDifferent(*got.Pages)
	if !ok {
		return Difference{Text: "nothing is known of where"}
	}
	to = min(to*page, max(want.Size, got.Size))
	return Difference{Text: fmt.Sprintf("the first byte that differs is between offsets %s and %s", Thousands(from*page), Thousands(to))}
}

func summarisedInner(want, got Summary) Difference {
	if want.Inner.SHA256 == got.Inner.SHA256 {
		return same(gzipWays(want.Gzip, got.Gzip)...)
	}
	d := summaries(*want.Inner, *got.Inner)
	d.Text = "unpacked: " + d.Text
	return d
}

func names(columns []Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return out
}

func summarisedTables(want, got *Table) Difference {
	ways, details := formWays(want.Form, got.Form)
	changed, missing, extra := changedColumns(want, got)
	sameNames := slices.Equal(names(want.Columns), names(got.Columns)) && want.Count == got.Count
	switch {
	case want.Values == got.Values && sameNames:
		if ways = append(ways, spellingWays(want, got)...); len(ways) == 0 {
			ways = append(ways, Layout)
		}
		return same(ways...).because(details...)
	case want.Unordered == got.Unordered && want.Rows == got.Rows && want.Count == got.Count && len(missing)+len(extra) == 0:
		if !sameNames {
			ways = append(ways, ColumnOrder)
		}
		if len(changed) > 0 {
			ways = append(ways, RowOrder)
		}
		return same(ways...).because(details...)
	}
	return differentTables(want, got, sameNames)
}

// spellingWays says how the cells of tables with equal values are spelled.
func spellingWays(want, got *Table) []Way {
	switch {
	case want.Texts == got.Texts:
		return nil
	case want.Known == got.Known:
		return []Way{MissingSpell}
	}
	return []Way{NumberSpell}
}

// changedColumns pairs columns by name.
func changedColumns(want, got *Table) (changed, missing, extra []string) {
	sums := map[string]string{}
	for _, c := range got.Columns {
		sums[c.Name] = c.Sum
	}
	for _, c := range want.Columns {
		sum, ok := sums[c.Name]
		switch delete(sums, c.Name); {
		case !ok:
			missing = append(missing, c.Name)
		case sum != c.Sum:
			changed = append(changed, c.Name)
		}
	}
	for _, c := range got.Columns {
		if _, ok := sums[c.Name]; ok {
			extra = append(extra, c.Name)
		}
	}
	return changed, missing, extra
}

func differentTables(want, got *Table, sameNames bool) Difference {
	changed, missing, extra := changedColumns(want, got)
	d := Difference{Columns: int64(len(changed)), Column: firstOf(changed, missing, extra)}
	parts := columnNews(missing, extra)
	atEnd := false
	if sameNames {
		from, to, ok := want.Blocks.firstDifferent(got.Blocks)
		if d.Row, d.LastRow = from+1, min(to, max(want.Rows, got.Rows)); !ok {
			d.Row, d.LastRow = 0, 0
		}
		atEnd = ok && want.Rows != got.Rows && d.LastRow >= min(want.Rows, got.Rows)
	}
	if len(changed) > 0 && !(atEnd && len(changed) == want.Count) {
		parts = append(parts, fmt.Sprintf("%d of %s differ: %s", len(changed), count(int64(want.Count), "column"), some(changed)))
	}
	if d.Row > 0 {
		parts = append(parts, fmt.Sprintf("the first row that differs is one of %s to %s", Thousands(d.Row), Thousands(d.LastRow)))
	}
	if want.Rows != got.Rows {
		parts = append(parts, fmt.Sprintf("want %s, got %s", count(want.Rows, "row"), Thousands(got.Rows)))
	}
	if len(parts) == 0 {
		parts = append(parts, "the tables differ in columns that are not listed")
	}
	d.Text = strings.Join(parts, "; ")
	return d
}
