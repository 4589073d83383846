package board

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/grading"
)

// File is the content of a file of reports.
type File struct {
	Reports []grading.Graded
	// Failures are the runs that could not be graded through no fault of the
	// agent. Only our own files tell.
	Failures []grading.Failure
}

// flagNames are the fields that the leaderboard is made of. The reference
// requires each of them.
var flagNames = []string{"gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission"}

// ReadFile reads grading reports: an object with competition_reports, as grade
// and the reference write it; a single report, as the step grade writes it; or
// the leaderboard of the step aggregate, with entries. The reports are sorted
// by competition, which keeps several reports of one competition in the order
// of the file, as the reference does.
//
// The words NaN, Infinity and -Infinity, which the reference writes for such
// scores though they are not JSON, are read. A report without one of the
// fields that the leaderboard is made of is an error, as in the reference.
func ReadFile(r io.Reader) (File, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return File{}, fmt.Errorf("read grading report: %w", err)
	}
	var form struct {
		Reports  *[]json.RawMessage `json:"competition_reports"`
		Failures []grading.Failure  `json:"failures"`
		Entries  *[]boardEntry      `json:"entries"`
		ID       string             `json:"competition_id"`
	}
	if err = CheckFetched(data); err == nil {
		data = replaceNotFinite(data)
		err = json.Unmarshal(data, &form)
	}
	if err != nil {
		return File{}, fmt.Errorf("read grading report: %w", err)
	}
	var raw []json.RawMessage
	switch {
	case form.Reports != nil:
		raw = *form.Reports
	case form.Entries != nil:
		raw = lists.Of(*form.Entries, func(e boardEntry) json.RawMessage { return e.Report })
	case form.ID != "":
		raw = []json.RawMessage{data}
	default:
		return File{}, fmt.Errorf("read grading report: the file has no competition_reports")
	}
	f := File{Failures: form.Failures}
	for i, text := range raw {
		report, err := readGraded(text)
		if err != nil {
			return File{}, fmt.Errorf("read grading report: report %d: %w", i+1, err)
		}
		if form.Reports == nil && form.Entries != nil {
			report.Labels = (*form.Entries)[i].labels()
		}
		f.Reports = append(f.Reports, report)
	}
	slices.SortStableFunc(f.Reports, func(a, b grading.Graded) int { return strings.Compare(a.CompetitionID, b.CompetitionID) })
	return f, nil
}

// boardEntry is an entry of the leaderboard of the step aggregate.
type boardEntry struct {
	Agent  string            `json:"agent"`
	Seed   string            `json:"seed"`
	Labels map[string]string `json:"labels"`
	Report json.RawMessage   `json:"report"`
}

func (e boardEntry) labels() map[string]string {
	labels := map[string]string{"agent": e.Agent}
	if e.Seed != "" {
		labels["seed"] = e.Seed
	}
	maps.Copy(labels, e.Labels)
	return labels
}

func readGraded(text json.RawMessage) (grading.Graded, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return grading.Graded{}, err
	}
	for _, name := range flagNames {
		value, ok := fields[name]
		if !ok {
			return grading.Graded{}, fmt.Errorf("%s is missing", name)
		}
		truth, err := jsonTruth(value)
		if err != nil {
			return grading.Graded{}, fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = truth
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return grading.Graded{}, err
	}
	var g grading.Graded
	if err := json.Unmarshal(text, &g); err != nil {
		return grading.Graded{}, err
	}
	if g.CompetitionID == "" {
		return grading.Graded{}, fmt.Errorf("it names no competition")
	}
	g.AnyMedal = g.Best() != "none"
	return g, nil
}

// jsonTruth returns Python's bool() of a boolean, a number or null.
func jsonTruth(value json.RawMessage) (json.RawMessage, error) {
	var of any
	if err := json.Unmarshal(value, &of); err != nil {
		return nil, err
	}
	switch of.(type) {
	case nil, bool, float64:
		return json.Marshal(of != nil && of != false && of != 0.0)
	}
	return nil, fmt.Errorf("%s is neither true nor false", value)
}

// notFinite finds strings, and outside them the words that Python writes for floats that
// are not finite.
var notFinite = pattern.New(`(?s)"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// replaceNotFinite replaces the words NaN, Infinity and -Infinity in JSON that Python wrote
// by strings that grading.Number reads.
func replaceNotFinite(data []byte) []byte {
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data
	}
	words := map[string]string{"NaN": `"nan"`, "Infinity": `"inf"`, "-Infinity": `"-inf"`}
	return notFinite.Regexp().ReplaceAllFunc(data, func(found []byte) []byte {
		return []byte(cmp.Or(words[string(found)], string(found)))
	})
}

// AllFlags returns the fields of the reports that the leaderboard needs.
func AllFlags(reports []grading.Graded) []Flags {
	return lists.Of(reports, func(g grading.Graded) Flags { return FlagsOf(g.Report) })
}

// ReadPaths reads files of reports in the order of their paths as texts, which
// is that of the reference's script: it decides which runs make up a seed. A
// path that is given twice is read twice.
func ReadPaths(paths []string) (File, error) {
	var all File
	for _, path := range slices.Sorted(slices.Values(paths)) {
		one, err := readPath(path)
		if err != nil {
			return File{}, err
		}
		all.Reports = append(all.Reports, one.Reports...)
		all.Failures = append(all.Failures, one.Failures...)
	}
	return all, nil
}

// CheckFetched refuses the pointer that Git LFS leaves in place of a large file
// that it has not fetched, as in a plain clone of the reference.
func CheckFetched(data []byte) error {
	if bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return errors.New("it is a pointer of Git LFS, not the file; fetch that with git lfs pull in the checkout")
	}
	return nil
}

func readPath(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("read grading report: %w", err)
	}
	defer f.Close()
	one, err := ReadFile(f)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return one, nil
}

// ReportFiles replaces folders by the reports below them.
func ReportFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read grading report: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := reportsBelow(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

func reportsBelow(folder string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if match, _ := filepath.Match("*grading_report*.json", d.Name()); match && d.Type().IsRegular() {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find grading reports: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find grading reports: there is no *grading_report*.json below %s", folder)
	}
	return found, nil
}

// agentName is the label of the reports, or the name of the folder that the
// first of them is from; a file of the working folder stands for itself.
func agentName(reports []grading.Graded, paths []string) string {
	if len(reports) > 0 && reports[0].Labels["agent"] != "" {
		return reports[0].Labels["agent"]
	}
	first := slices.Min(paths)
	path, err := filepath.Abs(first)
	if err != nil {
		return first
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() && first != filepath.Base(first) {
		path = filepath.Dir(path)
	}
	return filepath.Base(path)
}
