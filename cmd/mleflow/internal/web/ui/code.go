package ui

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// codeData is the page of an attempt's code.
type codeData struct {
	changeList
	Action, Address string
	Versions        bool
	Now             string
	NoVersions      string
	From, To        []choice
	Attempts        []choice
	Other           bool
	Against         changeList
	Files           fileList
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

// code shows the code that the agent left, and how it changed.
func (o *one) code() error {
	d := codeData{Action: "/step/" + url.PathEscape(o.sum.ID), Address: o.address}
	if k := o.running(); k != nil && len(k.code) > 0 {
		d.NoVersions = "There is one copy of the code so far."
		if len(k.code) > 1 {
			d.choose(o, k.code)
		}
		d.Now = "The attempt runs. This is the code when it was copied last, after " + k.code[len(k.code)-1].name + "."
		d.Files = o.list(k.code[len(k.code)-1].ref, "code")
		return o.c.add("code", "code", d)
	}
	final, why := o.output("code")
	if why != "" {
		d.Files.Missing, d.NoVersions = why, "The change over time appears with the code."
		return o.c.add("code", "code", d)
	}
	o.versions(&d, final)
	o.against(&d, final)
	d.Files = o.list(final, "code")
	return o.c.add("code", "code", d)
}

// version is the code at a time.
type version struct {
	name string
	ref  cache.Ref
}

// versions compares two of the copies of the code that were kept over time.
func (o *one) versions(d *codeData, final cache.Ref) {
	d.NoVersions = "There is no change over time: the attempt kept no copies of its code. snapshot_every = \"10m\" in the agent-run step keeps them."
	ref := o.record.Outputs[codeSnapshots].Ref
	if ref.IsZero() {
		return
	}
	folders, err := tree.Read(o.ctx, o.store, ref)
	if err != nil {
		d.NoVersions = lost("code", err)
		return
	}
	var all []version
	for _, f := range folders {
		var s int64
		if _, err := fmt.Sscanf(f.Name, "%d", &s); err == nil && f.IsDir() {
			all = append(all, version{view.Duration(time.Duration(s) * time.Second), f.Ref()})
		}
	}
	if len(all) == 0 {
		return
	}
	d.choose(o, append(all, version{"the end", final}))
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
		d.Attempts = append(d.Attempts, choice{n.Address, keyOf(n.Address), n.Address == chosen})
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
