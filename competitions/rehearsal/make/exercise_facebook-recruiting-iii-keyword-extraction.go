package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// topicsFacebook are tags, and words that their questions use.
var topicsFacebook = map[string][]string{
	"javascript": {"browser", "callback", "event", "dom"}, "c#": {"linq", "winforms", "assembly", "delegate"},
	"python": {"list", "dictionary", "import", "decorator"}, "php": {"session", "form", "echo", "include"},
	"java": {"thread", "interface", "jar", "servlet"}, "sql": {"join", "query", "index", "select"},
	"ios": {"iphone", "view", "controller", "xcode"}, "linux": {"shell", "kernel", "mount", "permission"},
	"asp.net": {"page", "viewstate", "gridview", "webconfig"}, "r": {"frame", "plot", "vector", "factor"},
}

// drawFacebook draws questions whose titles and bodies have words of their tags. All
// fields are quoted, bodies have several lines that end in \r\n or \n.
func drawFacebook(s *set) {
	tags := slices.Sorted(maps.Keys(topicsFacebook))
	var train, test, sample strings.Builder
	train.WriteString(`"Id","Title","Body","Tags"` + "\r\n")
	test.WriteString(`"Id","Title","Body"` + "\r\n")
	sample.WriteString(`"Id","Tags"` + "\r\n")
	for i := range 420 {
		var chosen []string
		for _, k := range s.Perm(len(tags))[:1+s.weighted(4, 4, 1)] {
			chosen = append(chosen, tags[k])
		}
		say := func(n int) string {
			var words []string
			for range n {
				if s.IntN(2) == 0 {
					words = append(words, s.one(topicsFacebook[s.one(chosen...)]...))
				} else {
					words = append(words, s.one("how", "to", "the", "with", "error", "use", "value", "wrong", "why", "does", "in", "my"))
				}
			}
			return strings.Join(words, " ")
		}
		end := s.one("\n", "\r\n")
		title := strings.ToUpper(say(1)) + " " + say(5) + "?"
		body := "<p>I try to " + say(8) + ".</p>" + end + end + "<pre><code>" + s.one("x", "i", "foo") + " = \"\"" + say(2) + "\"\";" + end + "</code></pre>" + end + "<p>" + say(6) + "</p>" + end
		if i < 400 {
			fmt.Fprintf(&train, `"%d","%s","%s","%s"`+"\r\n", i+1, title, body, strings.Join(chosen, " "))
			continue
		}
		fmt.Fprintf(&test, `"%d","%s","%s"`+"\r\n", 6034196+i-400, title, body)
		fmt.Fprintf(&sample, `"%d","javascript c# python php java"`+"\r\n", 6034196+i-400)
	}
	trains, tests := s.part(), s.part()
	trains.file("Train.csv", []byte(train.String()))
	tests.file("Test.csv", []byte(test.String()))
	s.zip("Train.zip", trains)
	s.zip("Test.zip", tests)
	s.file("SampleSubmission.csv", []byte(sample.String()))
}

// learnFacebook gives a question the tags that usually come with its words.
func learnFacebook(l *lesson) {
	words := func(r *rows, i int) []string {
		all := strings.FieldsFunc(strings.ToLower(r.get(i, "Title")+" "+r.get(i, "Body")), func(c rune) bool { return c < 'a' || c > 'z' })
		slices.Sort(all)
		return slices.Compact(all)
	}
	train, seen, with := l.rows("train.csv"), map[string]float64{}, map[string]map[string]float64{}
	for i := range train.len() {
		for _, w := range words(train, i) {
			seen[w]++
			if with[w] == nil {
				with[w] = map[string]float64{}
			}
			for tag := range strings.FieldsSeq(train.get(i, "Tags")) {
				with[w][tag]++
			}
		}
	}
	test := l.rows("test.csv")
	l.submitLike("sample_submission.csv", []string{"Tags"}, func(_ *rows, i int) []string {
		found := map[string]bool{}
		for _, w := range words(test, i) {
			for tag, n := range with[w] {
				if seen[w] >= 5 && n/seen[w] > 0.8 {
					found[tag] = true
				}
			}
		}
		return []string{strings.Join(slices.Sorted(maps.Keys(found)), " ")}
	})
}
