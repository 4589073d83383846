package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/nolink"
)

// About holds a user's name, tags and note for a run. It can change after the
// run and is kept in about.json, next to run.json.
type About struct {
	RunName string            `json:"run_name,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
	Note    string            `json:"note,omitempty"`
}

const (
	aboutFile  = "about.json"
	maxTags    = 50
	maxTagText = 200
	maxNote    = 4000
)

// aboutName is the syntax of names of runs and tags. Run IDs do not start with
// a letter.
var aboutName = pattern.New(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// Check returns an error if it cannot be displayed or exceeds a limit.
func (a About) Check() error {
	if a.RunName != "" && (!aboutName.Regexp().MatchString(a.RunName) || a.RunName == "latest") {
		return fmt.Errorf("%.80q cannot name a run: a name starts with a letter and has at most 64 letters, digits, dots, underscores and hyphens; latest is taken", a.RunName)
	}
	if len(a.Tags) > maxTags {
		return fmt.Errorf("a run has at most %d tags", maxTags)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Tags)) {
		if !aboutName.Regexp().MatchString(key) {
			return fmt.Errorf("%.80q cannot name a tag: a name starts with a letter and has at most 64 letters, digits, dots, underscores and hyphens", key)
		}
		if v := a.Tags[key]; !shown(v, "") || len(v) > maxTagText {
			return fmt.Errorf("the tag %s has a value that cannot be shown: write at most %d bytes of text in one line", key, maxTagText)
		}
	}
	if !shown(a.Note, "\n\t") || len(a.Note) > maxNote {
		return fmt.Errorf("the note cannot be shown: write at most %d bytes of text", maxNote)
	}
	return nil
}

// shown reports whether a text is printable, apart from the characters in
// besides.
func shown(text, besides string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(besides, r) })
}

func (a About) empty() bool { return a.RunName == "" && len(a.Tags) == 0 && a.Note == "" }

// Tagged reports whether it has all of these tags.
func (a About) Tagged(with map[string]string) bool {
	for k, v := range with {
		if own, ok := a.Tags[k]; !ok || own != v {
			return false
		}
	}
	return true
}

// Chosen reports whether a run has this name, given or generated, and all of
// these tags. The name "" matches any run.
func (a About) Chosen(id, name string, tags map[string]string) bool {
	return a.Tagged(tags) && (name == "" || a.RunName == name || Nickname(id) == name)
}

// Called returns the name of a run, or its generated name if it has none.
func (a About) Called(id string) string {
	return cmp.Or(a.RunName, Nickname(id))
}

// Said returns the tags and the note in one line.
func (a About) Said() string {
	list := lists.OfMap(a.Tags, func(k, v string) string { return k + "=" + v })
	if a.Note != "" {
		list = append(list, a.Note)
	}
	return strings.Join(list, " ")
}

// About reads the run's About. A damaged file counts as empty.
func (p *Past) About() (a About) {
	if err := p.readJSON(aboutFile, &a); err != nil || a.Check() != nil {
		return About{}
	}
	return a
}

// About reads the About of the run with this ID.
func (l *Store) About(id string) About {
	return (&Past{dir: filepath.Join(l.runs(), id)}).About()
}

// Describe changes the run's About. Concurrent changes do not overwrite each
// other.
func (p *Past) Describe(change func(*About)) (a About, err error) {
	lock, err := nolink.OpenFile(filepath.Join(p.dir, "about.lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err == nil {
		defer lock.Close()
		err = flock.Lock(lock)
	}
	if err == nil {
		if err = p.readJSON(aboutFile, &a); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return a, fmt.Errorf("describe run %s: %w", p.Info.ID, err)
	}
	if a.Tags == nil {
		a.Tags = map[string]string{}
	}
	change(&a)
	if err := a.Check(); err != nil {
		return a, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return a, err
	}
	return a, nolink.WriteFile(filepath.Join(p.dir, aboutFile), append(text, '\n'), 0o644, false)
}

var (
	adjectives = strings.Fields("able amber brave brief bright brisk calm clear clever cool deep eager early fair fast fine firm fond frank free fresh gentle glad gold grand green happy hardy keen kind large late light lively loud lucky merry mild neat new noble plain polite prime proud quick quiet rapid ready rich round sharp shy silent silver smart smooth soft solid steady sunny swift warm wise")
	nouns      = strings.Fields("badger bear beaver bison bobcat camel cat condor crane crow deer dingo dolphin dove eagle egret elk falcon ferret finch fox frog gecko goat goose hare hawk heron horse ibex ibis jackal jay koala lark lemur lion llama lynx marten mole moose newt ocelot orca otter owl panda parrot pony puffin quail rabbit raven robin salmon seal sparrow stork swan tiger toad trout whale wolf wren yak zebra")
)

// Nickname returns a name of two words for a run without a name. It is derived
// from the ID.
func Nickname(id string) string {
	h := fnv.New64a()
	h.Write([]byte(id))
	n := h.Sum64() >> 8
	return adjectives[n%uint64(len(adjectives))] + "-" + nouns[n/uint64(len(adjectives))%uint64(len(nouns))]
}

// named returns the IDs of the runs with a name or, if there are none, those
// with it as a nickname.
func (l *Store) named(name string, ids []string) []string {
	if !aboutName.Regexp().MatchString(name) {
		return nil
	}
	if given := lists.Where(ids, func(id string) bool { return l.About(id).RunName == name }); len(given) > 0 {
		return given
	}
	return lists.Where(ids, func(id string) bool { return Nickname(id) == name })
}
