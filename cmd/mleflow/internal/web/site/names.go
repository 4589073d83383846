package site

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
)

// normalName returns the form in which a board compares and shows the name of an agent:
// NFKC, without invisible characters, with single spaces between words. Square brackets
// are reserved for the board's additions to names.
func normalName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2800': // a blank of Braille
			return ' '
		case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector), r == unicode.ReplacementChar:
			return -1
		case r == '[':
			return '('
		case r == ']':
			return ')'
		}
		return r
	}, norm.NFKC.String(strings.ToValidUTF8(name, "")))
	return cmp.Or(strings.Join(strings.Fields(norm.NFKC.String(name)), " "), board.Unlabelled)
}

// alike and its letters below it are read as the same letter of ASCII. The first are
// Cyrillic, Greek, Armenian, Cherokee, Coptic, Lisu and Latin letters, from the
// confusables of Unicode TS 39; punctuation and digits are the last.
const (
	alike   = "аеорсухіјѕԁԛԝһӏАВСЕНІЈКМОРЅТХУԌԚԜαβγεηικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳոսօհցգզյւլԱՏՍՕᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏃᏢᎡᏚᎢᏙᎳⲟⲣⲥꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜɑɡɩıƖǀʟꞮ‐‑‒–—―−ˍ·01|"
	letters = "aeopcyxijsdqwhlABCEHIJKMOPSTXYGQWabyenikvoptuxwABEZHIKMNOPTYXcjnuohgqqjilUSUOABCDEGHIJKLMZPRSTVWopcABCDEFGHIJKLMNOPRSTUVWXYZagiillLl--------.oll"
)

var confusables = func() map[rune]rune {
	to, by := []rune(letters), map[rune]rune{}
	for i, r := range []rune(alike) {
		by[r] = to[i]
	}
	return by
}()

// skeleton is the same for names that a reader may take for each other.
func skeleton(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(cmp.Or(confusables[r], r))
	}, norm.NFKD.String(name))
	return strings.NewReplacer("i", "l", "rn", "m", "vv", "w").Replace(name) // I, l and 1 are one
}

// disguised reports whether a reader takes a name for one of Latin letters that has
// others.
func disguised(name string) bool {
	latin, foreign := false, false
	for _, r := range name {
		latin = latin || r <= unicode.MaxASCII && unicode.IsLetter(r)
		foreign = foreign || r > unicode.MaxASCII && confusables[r] > 0 && unicode.IsLetter(r)
	}
	return foreign && (latin || strings.IndexFunc(skeleton(name), func(r rune) bool { return r > unicode.MaxASCII }) < 0)
}

// namer gives rows the names of agents under which they are shown. A name is its
// owner's; whoever else uses it is another agent, with a mark.
type namer struct {
	*checker
	owners map[string][]string
	// users are the uses of each name.
	users map[string][]use
}

// use is a row with a name: how its bundle writes that.
type use struct {
	name, label string
	*Bundle
}

// name names the rows of the bundles, and returns the lock with these.
func (c *checker) name(lock *Lock, reported []Reported) *Lock {
	n := &namer{checker: c}
	var uses []use
	for _, b := range c.bundles {
		for _, r := range b.Rows {
			u := use{normalName(r.Agent), r.Agent, b}
			r.Agent, uses = u.name, append(uses, u)
		}
	}
	n.users = lists.By(uses, func(u use) string { return u.name })
	lock = lock.with(c.bundles)
	n.owners = lock.owners()
	for _, b := range c.bundles {
		b.taken = lock.at[b.Manifest]
	}
	n.spelled()
	n.owned()
	marks := n.lookalikes(reported)
	for _, b := range c.bundles {
		for _, r := range b.Rows {
			r.Agent += marks[r.Agent] + n.mark(r.Agent, b.Signer)
		}
	}
	return lock
}

// mark is added to a name that is not used by its owner.
func (n *namer) mark(name, key string) string {
	switch owners := n.owners[name]; {
	case len(owners) == 0, len(owners) == 1 && owners[0] == key:
		return ""
	case key == "":
		return " [unsigned]"
	}
	return " [key " + key[:16] + "]"
}

// spelled adds findings on names with invisible or replaced characters.
func (n *namer) spelled() {
	for _, name := range slices.Sorted(maps.Keys(n.users)) {
		by := lists.By(n.users[name], func(u use) string { return u.label })
		for _, label := range slices.Sorted(maps.Keys(by)) {
			if label != name {
				n.find(Identity, name, bundlesIn(n.users[name]), "a bundle writes this name as %+q", label)
			}
		}
	}
}

func bundlesIn(uses []use) []*Bundle {
	return lists.Of(uses, func(u use) *Bundle { return u.Bundle })
}

// owned adds findings on names that are not used by their owner.
func (n *namer) owned() {
	for _, name := range slices.Sorted(maps.Keys(n.users)) {
		owners := n.owners[name]
		if len(owners) > 1 {
			n.find(Identity, name, bundlesIn(n.users[name]), "%s signed this name, and none of them before the others: each has its own rows; a lock that keeps the order says whose it is", view.Plural(len(owners), "key"))
			continue
		}
		by := lists.By(n.users[name], func(u use) string { return u.Signer })
		for _, key := range slices.Sorted(maps.Keys(by)) {
			if mark := n.mark(name, key); mark != "" {
				n.find(Identity, name+mark, bundlesIn(by[key]), "the name %s belongs to the key %s, which signed it first; these attempts are shown as those of another agent", name, owners[0])
			}
		}
	}
}

// lookalikes returns marks for names that may be taken for others.
func (n *namer) lookalikes(reported []Reported) map[string]string {
	names, marks := slices.Collect(maps.Keys(n.users)), map[string]string{}
	names = append(names, lists.Of(reported, func(r Reported) string { return normalName(r.Agent) })...)
	slices.Sort(names)
	groups := lists.By(slices.Compact(names), skeleton)
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		list := groups[key]
		slices.SortFunc(list, n.compare)
		for i, name := range list {
			text := "it is read as Latin letters, and has others"
			switch {
			case len(n.users[name]) == 0:
				continue
			case i > 0 && !n.sameOwner(list[0], name):
				text = "it looks like the name " + list[0]
			case !disguised(name):
				continue
			}
			marks[name] = " [looks like another]"
			n.find(Identity, name+marks[name], bundlesIn(n.users[name]), "%s: it is %+q", text, name)
		}
	}
	return marks
}

// compare puts first the name that others are said to resemble.
func (n *namer) compare(a, b string) int {
	rank := func(name string) int {
		switch {
		case disguised(name):
			return 3
		case len(n.owners[name]) == 0 && len(n.users[name]) > 0:
			return 2
		case len(n.users[name]) == 0:
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), n.taken(a)-n.taken(b), cmp.Compare(a, b))
}

// taken is the build that took the first bundle of a name.
func (n *namer) taken(name string) (build int) {
	for i, u := range n.users[name] {
		if i == 0 || u.taken < build {
			build = u.taken
		}
	}
	return build
}

// sameOwner reports whether two names are one key's.
func (n *namer) sameOwner(a, b string) bool {
	return len(n.owners[a]) == 1 && slices.Equal(n.owners[a], n.owners[b])
}
