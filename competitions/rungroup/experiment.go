package rungroup

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/engine/diag"
)

// experimentsName is the file that says which run groups are an experiment.
const experimentsName = "run_group_experiments.csv"

// Experiment is the reports of an experiment's run groups.
type Experiment struct {
	// Reports are their paths, in the order of the groups' names.
	Reports []string
	// Missing are the groups without a folder or a report, which the reference
	// passes over.
	Missing []string
}

// ReadExperiment finds the reports of an experiment below a folder of run
// groups.
func ReadExperiment(runs, id string) (*Experiment, error) {
	rows, err := readExperiments(runs)
	if err != nil {
		return nil, err
	}
	groups := groupsOf(rows, id)
	if len(groups) == 0 {
		by := lists.Grouped(rows, func(row []string) string { return row[0] })
		known := lists.Of(by, func(same [][]string) string { return same[0][0] })
		return nil, fmt.Errorf("%s has no experiment %q. %s", filepath.Join(runs, experimentsName), id, diag.Suggest(id, known))
	}
	if err := sameAgent(id, groups); err != nil {
		return nil, err
	}
	out := &Experiment{}
	for _, group := range groups {
		if !filepath.IsLocal(group) {
			return nil, fmt.Errorf("%s: %q is not a folder below %s", experimentsName, group, runs)
		}
		report, err := Report(filepath.Join(runs, group))
		switch {
		case err != nil:
			return nil, err
		case report == "":
			out.Missing = append(out.Missing, group)
		default:
			out.Reports = append(out.Reports, report)
		}
	}
	if len(out.Reports) == 0 {
		return nil, fmt.Errorf("no run group of experiment %q has a grading report below %s; grade them with: mleflow grade --run-group", id, runs)
	}
	return out, nil
}

// groupsOf returns the run groups of an experiment, each once and sorted.
func groupsOf(rows [][]string, id string) []string {
	own := lists.Where(rows, func(row []string) bool { return row[0] == id })
	groups := lists.Of(own, func(row []string) string { return row[1] })
	slices.Sort(groups)
	return slices.Compact(groups)
}

// sameAgent refuses run groups of different agents, by their names: their runs would be
// averaged as the seeds of one.
func sameAgent(id string, groups []string) error {
	first := ""
	for _, group := range groups {
		switch agent := agentOf(group); {
		case agent == "" || agent == first:
		case first == "":
			first = agent
		default:
			return fmt.Errorf("experiment %q would have run groups of two agents, %s and %s, whose runs count as the seeds of one; give each agent an experiment of its own", id, first, agent)
		}
	}
	return nil
}

// agentOf returns the agent in the name of a run group, or "".
func agentOf(group string) string {
	_, agent, _ := strings.Cut(group, "_run-group_")
	return agent
}

// readExperiments returns the rows of the file but its header.
func readExperiments(runs string) ([][]string, error) {
	path := filepath.Join(runs, experimentsName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read experiments: %w", err)
	}
	in := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff")))
	in.FieldsPerRecord, in.TrimLeadingSpace = 2, true
	rows, err := in.ReadAll()
	if err := cmp.Or(board.CheckFetched(text), err); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, row := range rows {
		row[0], row[1] = strings.TrimSpace(row[0]), strings.TrimSpace(row[1])
	}
	if len(rows) > 0 && rows[0][0] == "experiment_id" {
		rows = rows[1:]
	}
	return rows, nil
}

// AddToExperiment notes that a run group is part of an experiment.
func AddToExperiment(runs, id, group string) error {
	if strings.ContainsAny(id, ",\"\r\n") || strings.TrimSpace(id) != id || id == "" {
		return fmt.Errorf("%q is not a valid name of an experiment: it must not be empty or contain a comma, a quote or a newline", id)
	}
	rows, err := readExperiments(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	groups := groupsOf(rows, id)
	if slices.Contains(groups, group) {
		return nil
	}
	if err := sameAgent(id, append([]string{group}, groups...)); err != nil {
		return err
	}
	if err := appendRow(filepath.Join(runs, experimentsName), id+","+group+"\n"); err != nil {
		return fmt.Errorf("write experiments: %w", err)
	}
	return nil
}

// appendRow adds a row in one write, so that rows of other processes stay.
func appendRow(path, row string) error {
	err := wholefile.Create(path, 0o666, wholefile.Bytes([]byte("experiment_id,run_group\n")))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		row = "\n" + row
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(row)
	return errors.Join(err, f.Close())
}
