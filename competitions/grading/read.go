package grading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// A submission comes from a stranger, so what reading it may take is bounded
// before anything is built of it, in the same way when it is graded and when
// its form is checked. The measure is a file that is trusted: the answers, or
// the sample submission. The limits are fixed numbers next to it, so that the
// verdict is the same on every machine, and far from what a submission is that
// has a score: it may have columns and rows that nobody asks for, and longer
// cells than the sample's.
const (
	// baseBytes and timesBytes bound the file. The largest sample submission of
	// all competitions has some 270 MB.
	baseBytes  = 256 << 20
	timesBytes = 32
	// baseMemory and timesMemory bound the table that is made of it: 1.5 GB of
	// probabilities take 1 GB, and each column counts some hundred bytes.
	baseMemory  = 2 << 30
	timesMemory = 16
)

// limits are the bytes that a submission may have, and its table in memory.
type limits struct{ bytes, memory int64 }

// limitsBeside returns the limits by the trusted file at path.
func limitsBeside(path string) (limits, error) {
	info, err := os.Stat(path)
	if err != nil {
		return limits{}, err
	}
	return limits{MaxBytes(info.Size()), baseMemory + timesMemory*info.Size()}, nil
}

// MaxBytes returns the largest size of a submission by the size of its sample or answers,
// in bytes.
func MaxBytes(trusted int64) int64 { return baseBytes + timesBytes*trusted }

// fits refuses a submission that is larger than the limit, for a program that reads it.
func fits(q Request) error {
	l, err := limitsBeside(q.Answers)
	if err != nil {
		return fmt.Errorf("read answers: %w", err)
	}
	info, err := os.Stat(q.Submission)
	if err != nil {
		return fmt.Errorf("read submission: %w", err)
	}
	return l.check(info.Size())
}

func (l limits) check(size int64) error {
	if size > l.bytes {
		return unreadable("the file has %d bytes; the limit for this competition is %d", size, l.bytes)
	}
	return nil
}

// read reads a submission within the limits. A mistake in the file is an
// *Invalid, whose reason holds no path of this machine.
func (l limits) read(path string, o table.ReadOptions) (*table.Table, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, unreadable("the file cannot be read: permission denied")
	}
	if err != nil {
		return nil, fmt.Errorf("read submission: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read submission: %w", err)
	}
	o.Memory = l.memory
	if err := l.check(info.Size()); err != nil {
		return nil, err
	}
	t, err := table.ReadCSV(f, o)
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk): // the machine's fault, not the submission's
		return nil, fmt.Errorf("read submission: %w", err)
	case err != nil:
		return nil, unreadable("the file cannot be read as a table: %v", err)
	}
	return t, nil
}

func unreadable(format string, args ...any) *Invalid {
	return &Invalid{Rule: "csv", Reason: fmt.Sprintf(format, args...)}
}

// readObjects reads the named fields of a sequence of JSON objects as columns
// of texts: a string as it is, anything else as its JSON.
func readObjects(r io.Reader, names []string) (*table.Table, error) {
	cells := make([][]string, len(names))
	in := json.NewDecoder(r)
	for row := 1; ; row++ {
		var object map[string]json.RawMessage
		err := in.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", row, err)
		}
		for i, name := range names {
			text, err := fieldText(object[name])
			if err != nil {
				return nil, fmt.Errorf("object %d: field %q: %w", row, name, err)
			}
			cells[i] = append(cells[i], text)
		}
	}
	return table.New(table.Collect(len(names), func(i int) *table.Column { return table.FromTexts(names[i], cells[i], nil) })...)
}

func fieldText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", errors.New("is missing")
	}
	if raw[0] != '"' {
		return string(raw), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}

// The most of a submission's first line that a hint reads, and of its columns that
// it names.
const (
	hintBytes   = 64 << 10
	hintColumns = 10
)

// missingColumn is the reason of a submission without a column.
var missingColumn = pattern.New(`^column "(.*)" is missing$`)

// Hint adds to the report's reason for people. If a column is missing, it lists the
// columns of the file and a possible cause. It is "" if there is nothing to add.
// It is no part of the report.
func Hint(r Report, path string) string {
	m := missingColumn.Regexp().FindStringSubmatch(r.Reason)
	if m == nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, hintBytes))
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return columnHint(m[1], strings.TrimRight(string(line), "\r"))
}

// columnHint is about a column that the first line of a file does not have.
func columnHint(missing, line string) string {
	text, marked := strings.CutPrefix(line, "\ufeff")
	names := strings.Split(text, ",")
	var shown []string
	cause := ""
	for i, name := range names {
		name = strings.Trim(name, `"`)
		if i < hintColumns {
			shown = append(shown, plain.Line(name[:min(len(name), 60)]))
		}
		if cause == "" && name != missing && strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(missing)) {
			cause = fmt.Sprintf("%q differs by case or spaces", plain.Line(name))
		}
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	if len(names) == 1 {
		for _, sign := range [][2]string{{";", "semicolons"}, {"\t", "tabs"}, {"|", "bars"}} {
			if strings.Contains(text, sign[0]) {
				cause = "they are separated by " + sign[1] + ", not by commas"
			}
		}
	}
	if marked && cause == "" {
		cause = "the file begins with a byte order mark"
	}
	hint := "the columns of the file are " + strings.Join(shown, ", ")
	if cause != "" {
		hint += " (" + cause + ")"
	}
	return hint
}
