package rules

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

var handLabelled = Rule{
	Name:   "hand-labelled",
	Doc:    "Ids of test rows in code or in a model's words: predictions written, not computed.",
	Honest: "None is known.",
	begin: func(c *ruleCheck) visitor {
		return visitor{
			source: func(s *pysource.Source, tokens []pysource.Token) {
				first, seen, open := -1, map[string]bool{}, ""
				for i, t := range tokens {
					before := len(seen)
					switch key := strings.HasSuffix(open, "{") && i+1 < len(tokens) && tokens[i+1].Text == ":"; {
					case t.Kind == pysource.Op && strings.Contains("([{", t.Text):
						open += t.Text
					case t.Kind == pysource.Op && strings.Contains(")]}", t.Text):
						open = open[:max(0, len(open)-1)]
					case t.Kind == pysource.String:
						if c.ids.in(t.Value(), seen); c.ids.known[t.Value()] {
							seen[t.Value()] = true
						}
					case t.Kind == pysource.Number && key && c.ids.known[t.Text]: // of a dictionary
						seen[t.Text] = true
					}
					if first < 0 && len(seen) > before {
						first = t.Line
					}
				}
				if len(c.ids.known) > 0 && len(seen) >= c.ids.enough() {
					c.warn(at(s, first), s.Excerpt(first, first, 1), "The code has the ids of %d of %d test rows.", len(seen), len(c.ids.known))
				}
			},
			reply: func(p location, text string) {
				if len(c.ids.known) == 0 || c.ids.numbers {
					return
				}
				seen := map[string]bool{}
				if c.ids.in(text, seen); len(seen) >= c.ids.enough() {
					c.warn(p, text, "The model wrote the ids of %d of %d test rows.", len(seen), len(c.ids.known))
				}
			},
		}
	},
}

// mostIDs bounds the rows that are remembered; all of them count.
const mostIDs = 500_000

// ids are the first column of the sample submission.
type ids struct {
	known map[string]bool
	rows  int
	// numbers says that they are, so that one of them alone means nothing.
	numbers bool
}

// readIDs reads the sample submission, if there is one.
func (c *check) readIDs() error {
	if c.Data == nil || c.Sample == "" || !strings.EqualFold(c.Sample[max(0, len(c.Sample)-4):], ".csv") {
		return nil
	}
	f, err := c.Data.Open(c.Sample)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the sample submission: %w", err)
	}
	defer f.Close()
	c.ids = ids{known: map[string]bool{}, numbers: true}
	r := csv.NewReader(f)
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	for {
		row, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong):
			c.unread = append(c.unread, clip("data/"+c.Sample+": "+err.Error()))
			return nil
		case err != nil:
			return fmt.Errorf("read the sample submission: %w", err)
		}
		if c.ids.rows++; c.ids.rows == 1 { // the header
			continue
		}
		if id := strings.Clone(row[0]); len(c.ids.known) < mostIDs {
			c.ids.known[id] = true
			c.ids.numbers = c.ids.numbers && isNumber(id)
		}
	}
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.-+") == ""
}

// enough is how many of the ids in one place no honest program or answer has. Ids
// that are numbers are also other things, so most of them must be there.
func (i ids) enough() int {
	n := len(i.known)
	if i.numbers {
		return max(50, (n+1)/2)
	}
	return max(20, min(200, n/20))
}

// in notes the different ids among the words of a text; of those that are numbers,
// the ones that begin a row of a table.
func (i ids) in(text string, seen map[string]bool) {
	if i.numbers {
		for line := range strings.Lines(text) {
			if id, _, ok := strings.Cut(strings.TrimSpace(line), ","); ok && i.known[id] {
				seen[id] = true
			}
		}
		return
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;|:\"'`()[]{}=", r) }) {
		if i.known[word] {
			seen[word] = true
		}
	}
}
