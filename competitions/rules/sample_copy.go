package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

var sampleCopy = Rule{
	Name:   "sample-copy",
	Doc:    "A submission with the same lines as the sample submission.",
	Honest: "The last resort of an agent out of time; its score is the sample's.",
	begin: func(c *ruleCheck) visitor {
		return visitor{end: func() {
			same, err := c.isSample()
			if err != nil {
				c.unread = append(c.unread, clip("submission/"+c.File+": "+err.Error()))
			}
			if same {
				c.warn(location{file: "submission/" + c.File}, "", "The submission is the sample submission.")
			}
		}}
	},
}

// isSample compares the submission with the sample, line by line, without regard to
// how lines end.
func (c *check) isSample() (bool, error) {
	if c.Submission == nil || c.Data == nil || c.File == "" || c.Sample == "" {
		return false, nil
	}
	a, err := c.Submission.Open(c.File)
	if err != nil {
		return false, except(err, fs.ErrNotExist)
	}
	defer a.Close()
	b, err := c.Data.Open(c.Sample)
	if err != nil {
		return false, except(err, fs.ErrNotExist)
	}
	defer b.Close()
	ours, theirs, n, same := bufio.NewScanner(a), bufio.NewScanner(b), 0, true
	ours.Buffer(nil, mostText)
	theirs.Buffer(nil, mostText)
	for ; same && ours.Scan(); n++ {
		same = theirs.Scan() && bytes.Equal(ours.Bytes(), theirs.Bytes())
	}
	same = same && n > 0 && !theirs.Scan()
	if err := errors.Join(ours.Err(), theirs.Err()); err != nil {
		return false, except(fmt.Errorf("compare with the sample: %w", err), bufio.ErrTooLong) // a line of its own length
	}
	return same, nil
}

// except returns an error unless it is an expected one.
func except(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
