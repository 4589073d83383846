package ui

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
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
	Now                   string
	NoVersions            string
	From, To              []choice
	Attempts              []choice
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

// codeSnapshots is the output of an attempt with the copies of its code.
const codeSnapshots = "code_snapshots"

// The views of the code: its files, what changed over time, and from another attempt's.
const (
	filesView   = ""
	changesView = "changes"
	againstView = "against"
)

// code shows the code that the agent left, and how it changed.
func (o *one) code() error {
	q := o.r.URL.Query()
	d := codeData{Action: "/step/" + url.PathEscape(o.sum.ID), Address: o.address, View: q.Get("view")}
	switch {
	case q.Has("from") || q.Has("to"):
		d.View = changesView
	case q.Has("other"):
		d.View = againstView
	}
	for _, v := range [][2]string{{filesView, "Files"}, {changesView, "Changes over time"}, {againstView, "Against another attempt"}} {
		link := stepAddress(o.sum.ID, o.address, "code")
		if v[0] != "" {
			link += "&view=" + v[0]
		}
		d.Views = append(d.Views, page.Link{Text: v[1], Address: link, Here: v[0] == d.View})
	}
	ref, why := o.latest(&d)
	switch {
	case why != "":
		d.Files.Missing = why
	case d.View == changesView:
		o.changes(&d)
	case d.View == againstView:
		o.against(&d, ref)
	default:
		d.Files = o.list(ref, "code", "main.py", "solution.py", "train.py", "agent.py", "run.py")
	}
	return o.c.add("code", "code", d)
}

// latest is the code at the end, or so far, or why there is none.
func (o *one) latest(d *codeData) (cache.Ref, string) {
	if k := o.running(); k != nil && len(k.code) > 0 {
		last := k.code[len(k.code)-1]
		d.Now = "The attempt runs. This is the code when it was copied last, after " + last.name + "."
		return last.ref, ""
	}
	return o.output("code")
}

// changes compares two of the copies of the code.
func (o *one) changes(d *codeData) {
	all, why := o.copies()
	if d.NoVersions = why; len(all) > 1 {
		d.choose(o, all)
	}
}

// version is the code at a time since the start of the agent.
type version struct {
	name string
	ref  cache.Ref
	at   time.Duration
}

// copies are the copies of the code over time with that at the end, or why there are
// none.
func (o *one) copies() ([]version, string) {
	if k := o.running(); k != nil {
		return k.code, "There is one copy of the code so far."
	}
	why := "There is no change over time: the attempt kept no copies of its code. snapshot_every = \"10m\" in the agent-run step keeps them."
	final, missing := o.output("code")
	if missing != "" {
		return nil, missing
	}
	ref := o.record.Outputs[codeSnapshots].Ref
	if ref.IsZero() {
		return nil, why
	}
	folders, err := tree.Read(o.ctx, o.store, ref)
	if err != nil {
		return nil, lost("code", err)
	}
	var all []version
	for _, f := range folders {
		var s int64
		if _, err := fmt.Sscanf(f.Name, "%d", &s); err == nil && f.IsDir() {
			at := time.Duration(s) * time.Second
			all = append(all, version{view.Duration(at), f.Ref(), at})
		}
	}
	if len(all) > 0 {
		all = append(all, version{"the end", final, math.MaxInt64})
	}
	return all, why
}

// choose compares the two versions that the address names, or the last two.
func (d *codeData) choose(o *one, all []version) {
	q := o.r.URL.Query()
	from, to := max(0, len(all)-2), len(all)-1
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
	d.changeList = o.compare(all[from].ref, all[to].ref)
}

// against compares the code with that of another attempt of the run.
func (o *one) against(d *codeData, final cache.Ref) {
	const most = 500
	chosen := o.r.URL.Query().Get("other")
	for _, n := range o.others(most) {
		d.Attempts = append(d.Attempts, choice{n.Address, page.Name(n.Address), n.Address == chosen})
	}
	if chosen == "" {
		return
	}
	d.Other = true
	other := &one{u: o.u, ctx: o.ctx, r: o.r, m: o.m, sum: o.sum, address: chosen, step: o.m.sums.Step(chosen), store: o.store}
	other.open()
	ref, why := other.output("code")
	if why != "" {
		d.Against.Same = why
		return
	}
	d.Against = o.compare(ref, final)
}

const (
	// maxChanges is the largest number of shown changed files, maxCompared the size of
	// the largest file that is compared line by line.
	maxChanges  = 60
	maxCompared = 256 << 10
)

// compare lists the files that differ.
func (o *one) compare(from, to cache.Ref) changeList {
	var l changeList
	a, errA := contents(o.ctx, o.store, from)
	b, errB := contents(o.ctx, o.store, to)
	if errA != nil || errB != nil {
		l.Same = "The code cannot be compared: a version is no longer in the cache."
		return l
	}
	left := 0
	for _, name := range union(a, b) {
		x, inA := a[name]
		y, inB := b[name]
		if inA && inB && x.ID == y.ID {
			continue
		}
		if len(l.Changes) >= maxChanges {
			left++
			continue
		}
		l.Changes = append(l.Changes, o.changeOf(name, x, y, inA, inB))
	}
	switch {
	case left > 0:
		l.Same = fmt.Sprintf("%d more files differ.", left)
	case len(l.Changes) == 0:
		l.Same = "Nothing changed."
	}
	return l
}

func (o *one) changeOf(name string, a, b tree.Entry, inA, inB bool) change {
	c := change{Path: name, What: "changed"}
	switch {
	case !inA:
		c.What = "new"
	case !inB:
		c.What = "removed"
	}
	if a.Size > maxCompared || b.Size > maxCompared {
		c.Note = fmt.Sprintf("%s, then %s: too large to be compared here.", view.Bytes(a.Size), view.Bytes(b.Size))
		return c
	}
	var text [2][]byte
	for i, e := range []tree.Entry{a, b} {
		if i == 0 && !inA || i == 1 && !inB {
			continue
		}
		data, err := head(o.ctx, o.store, e.Ref(), maxCompared)
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
	c.Lines = diffLines(lines(text[0]), lines(text[1]))
	return c
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ToValidUTF8(string(text), "\ufffd"), "\n"), "\n")
}
