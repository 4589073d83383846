package rules

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

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
