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
	changed, missing, extra := paired(want.Columns, got.Columns)
	sameNames := slices.Equal(names(want.Columns), names(got.Columns)) && want.Count == got.Count
	switch {
	case want.Values == got.Values && sameNames:
		if ways = append(ways, spellingWays(want, got)...); len(ways) == 0 {
			ways = append(ways, layout)
		}
		return same(ways...).because(details...)
	case want.Unordered == got.Unordered && want.Rows == got.Rows && want.Count == got.Count && len(missing)+len(extra) == 0:
		if !sameNames {
			ways = append(ways, columnOrder)
		}
		if len(changed) > 0 {
			ways = append(ways, rowOrder)
		}
		return same(ways...).because(details...)
	}
	return Difference{Text: strings.Join(tableNews(want, got, changed, columnNews(missing, extra), sameNames), "; ")}
}

// spellingWays says how the cells of tables with equal values are spelled.
func spellingWays(want, got *Table) []string {
	switch {
	case want.Texts == got.Texts:
		return nil
	case want.Known == got.Known:
		return []string{missingSpell}
	}
	return []string{numberSpell}
}

// paired pairs columns, or members of archives, by name.
func paired[T interface{ named() (name, sum string) }](want, got []T) (changed, missing, extra []string) {
	sums := map[string]string{}
	for _, g := range got {
		name, sum := g.named()
		sums[name] = sum
	}
	for _, w := range want {
		name, sum := w.named()
		other, ok := sums[name]
		switch delete(sums, name); {
		case !ok:
			missing = append(missing, name)
		case sum != other:
			changed = append(changed, name)
		}
	}
	for _, g := range got {
		name, _ := g.named()
		if _, left := sums[name]; left {
			extra = append(extra, name)
		}
	}
	return changed, missing, extra
}

// tableNews adds to parts what else differs in two tables.
func tableNews(want, got *Table, changed, parts []string, sameNames bool) []string {
	from, to, located := want.Blocks.firstDifferent(got.Blocks)
	located = located && sameNames
	to = min(to, max(want.Rows, got.Rows))
	atEnd := located && want.Rows != got.Rows && to >= min(want.Rows, got.Rows)
	if len(changed) > 0 && !(atEnd && len(changed) == want.Count) {
		parts = append(parts, fmt.Sprintf("%d of %s differ: %s", len(changed), count(int64(want.Count), "column"), some(changed)))
	}
	if located {
		parts = append(parts, fmt.Sprintf("the first row that differs is one of %s to %s", Thousands(from+1), Thousands(to)))
	}
	if want.Rows != got.Rows {
		parts = append(parts, fmt.Sprintf("want %s, got %s", count(want.Rows, "row"), Thousands(got.Rows)))
	}
	if len(parts) == 0 {
		parts = append(parts, "the tables differ in columns that are not listed")
	}
	return parts
}
