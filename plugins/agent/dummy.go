package agent

import (
	"archive/zip"
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
	Version: "2",
	Doc:     "Submits the sample submission unchanged: the score that costs no thought.",
	Solve:   submitSample,
}

func submitSample(t Task) error {
	name, src, err := openSample(t.DataDir)
	if err != nil {
		return err
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

// openSample opens the sample submission, or where there is none the first
// file of a zip archive called like one: some competitions hand it out packed.
func openSample(dir string) (string, io.ReadCloser, error) {
	name, err := sampleFile(dir)
	if err == nil {
		src, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return "", nil, fmt.Errorf("open sample submission: %w", err)
		}
		return name, src, nil
	}
	packed, packedErr := sampleNamed(dir, ".csv.zip")
	if packedErr != nil {
		return "", nil, err
	}
	src, err := openZip(filepath.Join(dir, packed))
	if err != nil {
		return "", nil, fmt.Errorf("open sample submission %s: %w", packed, err)
	}
	return packed, src, nil
}

// zipMember is a file of an archive that it closes with itself.
type zipMember struct {
	io.ReadCloser
	archive io.Closer
}

// Close closes the file and its archive.
func (m zipMember) Close() error { return errors.Join(m.ReadCloser.Close(), m.archive.Close()) }

func openZip(path string) (io.ReadCloser, error) {
	r, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, ".csv") {
			src, err := f.Open()
			if err != nil {
				return nil, errors.Join(err, r.Close())
			}
			return zipMember{src, r}, nil
		}
	}
	return nil, errors.Join(errors.New("it holds no CSV file"), r.Close())
}

// sampleFile returns the name of the sample submission: a CSV file whose name
// holds "sample" and "submission" in whatever case and spelling, the shortest
// name first.
func sampleFile(dir string) (string, error) { return sampleNamed(dir, ".csv") }

func sampleNamed(dir, suffix string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("list data: %w", err)
	}
	var found []string
	for _, e := range entries {
		low := strings.ToLower(e.Name())
		if e.Type().IsRegular() && strings.HasSuffix(low, suffix) && strings.Contains(low, "sample") && strings.Contains(low, "submission") {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("find sample submission in %s: %w", dir, fs.ErrNotExist)
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
	return found[0], nil
}
