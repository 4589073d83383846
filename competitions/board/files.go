package board

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/competitions/grading"
)

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
