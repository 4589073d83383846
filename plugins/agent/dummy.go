package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var dummy = Agent{
	Name:    "dummy",
	Version: "1",
	Doc:     "Submits the sample submission unchanged: the score that costs no thought.",
	Solve:   submitSample,
}

func submitSample(t Task) error {
	name, err := sampleFile(t.DataDir)
	if err != nil {
		return err
	}
	src, err := os.Open(filepath.Join(t.DataDir, name))
	if err != nil {
		return fmt.Errorf("open sample submission: %w", err)
	}
	defer src.Close()
	dst, err := os.Create(filepath.Join(t.SubmissionDir, SubmissionFile))
	if err != nil {
		return fmt.Errorf("create submission: %w", err)
	}
	n, err := io.Copy(dst, src)
	if err := errors.Join(err, dst.Close()); err != nil {
		return fmt.Errorf("copy sample submission: %w", err)
	}
	fmt.Fprintf(t.Log, "submitted %s as it is, %d bytes\n", name, n)
	return nil
}

// sampleFile returns the name of the sample submission: a CSV file whose name
// holds "sample" and "submission" in whatever case and spelling, the shortest
// name first.
func sampleFile(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("list data: %w", err)
	}
	var found []string
	for _, e := range entries {
		low := strings.ToLower(e.Name())
		if e.Type().IsRegular() && strings.HasSuffix(low, ".csv") && strings.Contains(low, "sample") && strings.Contains(low, "submission") {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("find sample submission in %s: %w", dir, fs.ErrNotExist)
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
	return found[0], nil
}
