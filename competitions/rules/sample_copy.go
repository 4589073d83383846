package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := c.Data.Open(c.Sample)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer b.Close()
	ours, theirs := bufio.NewReader(a), bufio.NewReader(b)
	for n := 0; ; n++ {
		x, errX := readLine(ours)
		y, errY := readLine(theirs)
		if err := errors.Join(notEOF(errX), notEOF(errY)); err != nil {
			return false, fmt.Errorf("compare with the sample: %w", err)
		}
		if !bytes.Equal(x, y) {
			return false, nil
		}
		if errX != nil || errY != nil {
			return errX != nil && errY != nil && n > 0, nil
		}
	}
}

// readLine reads a line without its end, at most as many bytes as the reader holds.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return line, nil
	}
	if len(line) > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.TrimRight(line, "\r\n"), err
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
