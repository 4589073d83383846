package ui

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

// codeData is the page of an attempt's code.
type codeData struct {
	changeList
	Action, Address, View string
	Views                 []page.Link
	Versions              bool
	Now, NoVersions       string
	From, To, Attempts    []choice
	Other                 bool
	Against               changeList
	Files                 fileList
}

// changeList lists the changes between two versions of the code.
type changeList struct {
	Changes []change
	Same    string
}

// change is a change to one file.
type change struct {
	Path, What, Note string
	Lines            []diffLine
}

// The views of the code: its files, what changed over time, and from another attempt's.
const (
	filesView   = ""
	changesView = "changes"
	againstView = "against"
)

// codePage shows the code that the agent left, and how it changed.
func codePage(ctx context.Context, a *shownAttempt, q url.Values) codeData {
	d := codeData{Action: a.action(), Address: a.address, View: q.Get("view")}
	switch {
	case q.Has("from") || q.Has("to"):
		d.View = changesView
	case q.Has("other"):
		d.View = againstView
	}
	for _, v := range [][2]string{{filesView, "Files"}, {changesView, "Changes over time"}, {againstView, "Against another attempt"}} {
		link := a.link("code")
		if v[0] != "" {
			link = a.link("code", "view", v[0])
		}
		d.Views = append(d.Views, page.Link{Text: v[1], Address: link, Here: v[0] == d.View})
	}
	ref, missing := a.output("code")
	if a.growing != nil && a.usage != nil && len(a.usage.code) > 0 {
		last := a.usage.code[len(a.usage.code)-1]
		d.Now = "The attempt runs. This is the code when it was copied last, after " + last.name + "."
		ref, missing = last.ref, ""
	}
	switch {
	case missing != "":
		d.Files.Missing = missing
	case d.View == changesView:
		d.changes(ctx, a, q)
	case d.View == againstView:
		d.against(ctx, a, q.Get("other"), ref)
	default:
		d.Files = listFiles(ctx, &a.shownStep, ref, "code", q.Get("file"), "main.py", "solution.py", "train.py", "agent.py", "run.py")
	}
	return d
}

// changes compares the two copies of the code that the address names, or the last two.
func (d *codeData) changes(ctx context.Context, a *shownAttempt, q url.Values) {
	all, missing := a.copies(ctx)
	if d.NoVersions = missing; len(all) < 2 {
		return
	}
	from, to := len(all)-2, len(all)-1
	for i, v := range all {
		if q.Get("from") == v.name {
			from = i
		}
		if q.Get("to") == v.name {
			to = i
		}
	}
	for i, v := range all {
		d.From = append(d.From, choice{v.name, v.name, i == from})
		d.To = append(d.To, choice{v.name, v.name, i == to})
	}
	d.Versions = true
	d.changeList = compareCode(ctx, a.store, all[from].ref, all[to].ref)
}

// maxSiblings is the largest number of attempts that the code can be compared with.
const maxSiblings = 500

// against compares the code with that of another attempt of the run.
func (d *codeData) against(ctx context.Context, a *shownAttempt, other string, final cache.Ref) {
	d.Attempts = lists.Of(a.siblings[:min(len(a.siblings), maxSiblings)], func(address string) choice {
		return choice{address, page.Name(address), address == other}
	})
	if other == "" {
		return
	}
	d.Other = true
	s := &shownStep{}
	s.record, s.missing = recordOf(ctx, a.store, a.run, other)
	ref, missing := s.output("code")
	if missing != "" {
		d.Against.Same = missing
		return
	}
	d.Against = compareCode(ctx, a.store, ref, final)
}

const (
	// maxChanges is the largest number of shown changed files, maxCompared the size of
	// the largest file that is compared line by line.
	maxChanges  = 60
	maxCompared = 256 << 10
)

// compareCode lists the files that differ in two folders.
func compareCode(ctx context.Context, store cache.Store, from, to cache.Ref) (l changeList) {
	a, errA := readFiles(ctx, store, from)
	b, errB := readFiles(ctx, store, to)
	if errA != nil || errB != nil {
		l.Same = "The code cannot be compared: a version is no longer in the cache."
		return l
	}
	left := 0
	for _, name := range union(a.at, b.at) {
		switch x, y := a.at[name], b.at[name]; {
		case x.ID == y.ID:
		case len(l.Changes) >= maxChanges:
			left++
		default:
			l.Changes = append(l.Changes, changeOf(ctx, store, name, x, y))
		}
	}
	switch {
	case left > 0:
		l.Same = fmt.Sprintf("%d more files differ.", left)
	case len(l.Changes) == 0:
		l.Same = "Nothing changed."
	}
	return l
}

// changeOf compares two versions of a file. The entry of a version that does not have it is
// zero.
func changeOf(ctx context.Context, store cache.Store, name string, a, b tree.Entry) change {
	c := change{Path: name, What: "changed"}
	switch {
	case a.Name == "":
		c.What = "new"
	case b.Name == "":
		c.What = "removed"
	}
	if a.Size > maxCompared || b.Size > maxCompared {
		c.Note = fmt.Sprintf("%s, then %s: too large to be compared here.", view.Bytes(a.Size), view.Bytes(b.Size))
		return c
	}
	var text [2][]byte
	for i, e := range []tree.Entry{a, b} {
		if e.Name == "" {
			continue
		}
		data, err := headBytes(ctx, store, e.Ref(), maxCompared)
		if err != nil {
			c.Note = lost("file", err)
			return c
		}
		if binary(data) {
			c.Note = "The file is not text."
			return c
		}
		text[i] = data
	}
	c.Lines = diffLines(linesOf(text[0]), linesOf(text[1]))
	return c
}

func linesOf(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ToValidUTF8(string(text), "\ufffd"), "\n"), "\n")
}

// diffLine is a line of a comparison: added (+), removed (-), the same ( ) or a
// mark of a place (@).
type diffLine struct{ Sign, Text string }

// diffLines compares two texts line by line, with three lines around each change.
func diffLines(a, b []string) (list []diffLine) {
	text := func(lines []string) []byte { return []byte(strings.Join(append(lines, ""), "\n")) }
	all := linesOf(diff.Diff("", text(a), "", text(b)))
	for _, l := range all[min(len(all), 3):] { // the first three name the files
		var from, lines, to int
		if n, _ := fmt.Sscanf(l, "@@ -%d,%d +%d", &from, &lines, &to); n == 3 {
			list = append(list, diffLine{"@", fmt.Sprintf(" line %d", max(1, to))})
			continue
		}
		list = append(list, diffLine{l[:1], l[1:]})
	}
	return list
}

// union are the names of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}
