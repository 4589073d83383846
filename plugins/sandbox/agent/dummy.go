package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var sample = Agent{
	Name:    "dummy",
	Version: "3",
	Doc:     "Submits the sample submission unchanged: the score that costs no thought.",
	Solve:   submitSample,
}

func submitSample(t Task) error {
	dst, err := os.Create(filepath.Join(t.SubmissionDir, SubmissionFile))
	if err != nil {
		return fmt.Errorf("create submission: %w", err)
	}
	name, n, err := copySample(t, dst)
	if err := errors.Join(err, dst.Close()); err != nil {
		return errors.Join(fmt.Errorf("copy sample submission %s: %w", name, err), os.Remove(dst.Name()))
	}
	fmt.Fprintf(t.Log, "submitted %s unchanged, %d bytes\n", name, n)
	return nil
}

// copySample copies the sample submission. It is the file that the task names, or else
// a file with such a name, or else the table in an archive with such a name, because
// some competitions provide it compressed.
func copySample(t Task, dst io.Writer) (name string, n int64, err error) {
	name = t.Sample
	if name == "" {
		name, err = sampleFile(t.DataDir)
	}
	if err != nil {
		packed, packedErr := sampleNamed(t.DataDir, func(name string) bool { return archive.FormatOf(name) != "" })
		if packedErr != nil {
			return "", 0, err
		}
		n, err = copyPacked(filepath.Join(t.DataDir, packed), dst)
		return packed, n, err
	}
	src, err := os.Open(filepath.Join(t.DataDir, name))
	if err != nil {
		return name, 0, err
	}
	defer src.Close()
	n, err = io.Copy(dst, src)
	return name, n, err
}

// copyPacked copies the first table in an archive.
func copyPacked(path string, dst io.Writer) (n int64, err error) {
	found, err := archive.FirstCSV(context.Background(), path, func(_ string, r io.Reader) (err error) {
		n, err = io.Copy(dst, r)
		return err
	})
	if err == nil && !found {
		err = errors.New("it contains no CSV file")
	}
	return n, err
}

// sampleFile returns the name of the sample submission: the CSV file with the shortest
// name that contains "sample" and "submission", in any case and spelling.
func sampleFile(dir string) (string, error) {
	return sampleNamed(dir, func(name string) bool { return strings.HasSuffix(name, ".csv") })
}

// sampleNamed is sampleFile for other files.
func sampleNamed(dir string, is func(name string) bool) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("list data: %w", err)
	}
	var found []string
	for _, e := range entries {
		low := strings.ToLower(e.Name())
		if e.Type().IsRegular() && is(low) && strings.Contains(low, "sample") && strings.Contains(low, "submission") {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("find sample submission in %s: %w", dir, fs.ErrNotExist)
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
	return found[0], nil
}
