package rungroup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// Group is a run group on disk.
type Group struct {
	Dir  string
	Name string
	// Agent is the agent of the group's name; "" if that does not say.
	Agent string
	Runs  []Run
	// Unlisted are folders that the metadata do not name. They are not graded.
	Unlisted []string
}

// Run is a run of a group: its entry in the metadata, with the way it ended and the time it
// took as far as the files say.
type Run struct {
	Record
	Competition string
	// Submission is the path of its submission, "" if there is none.
	Submission string
	// Refused is the reason why an existing submission is not read, and Note that for the
	// outcome.
	Refused, Note string
}

// maxMetadata bounds the size of metadata.json, in bytes.
const maxMetadata = 64 << 20

// Find returns the run groups that a folder is or holds, by name.
func Find(dir string) ([]string, error) {
	if isFile(filepath.Join(dir, metadataName)) {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("find run groups: %w", err)
	}
	found := lists.Of(entries, func(e fs.DirEntry) string { return filepath.Join(dir, e.Name()) })
	found = lists.Where(found, func(below string) bool { return isFile(filepath.Join(below, metadataName)) })
	if len(found) == 0 {
		return nil, fmt.Errorf("find run groups: there is no %s in %s or in a folder directly below it", metadataName, dir)
	}
	return found, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Open reads a run group.
func Open(dir string) (*Group, error) {
	meta, errMeta := readMetadata(filepath.Join(dir, metadataName))
	abs, err := filepath.Abs(dir)
	if err := cmp.Or(errMeta, err); err != nil {
		return nil, fmt.Errorf("read run group %s: %w", dir, err)
	}
	g := &Group{Dir: dir, Name: cmp.Or(meta.RunGroup, filepath.Base(abs))}
	g.Agent = agentOf(g.Name)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read run group: %w", err)
	}
	defer root.Close()
	for _, record := range meta.Runs {
		run, err := readRun(root, dir, record)
		if err != nil {
			return nil, fmt.Errorf("read run group %s: %w", dir, err)
		}
		g.Runs = append(g.Runs, run)
	}
	g.Unlisted, err = unlisted(dir, meta.Runs)
	return g, err
}

func readMetadata(path string) (*Metadata, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxMetadata {
		err = fmt.Errorf("%s is larger than %d MiB", metadataName, maxMetadata>>20)
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var meta Metadata
	if err := cmp.Or(board.CheckFetched(data), json.Unmarshal(data, &meta)); err != nil {
		return nil, fmt.Errorf("%s: %w", metadataName, err)
	}
	if len(meta.Runs) == 0 {
		return nil, fmt.Errorf("%s names no run", metadataName)
	}
	return &meta, nil
}

// readRun looks at a run's folder.
func readRun(root *os.Root, dir string, record Record) (Run, error) {
	id := record.ID
	if !filepath.IsLocal(id) || filepath.Base(id) != id || id == "." {
		return Run{}, fmt.Errorf("run %q is not the name of a folder in the group", id)
	}
	competition, _, found := strings.Cut(id, "_")
	if !found || competition == "" {
		return Run{}, fmt.Errorf("run %q is not called <competition>_<unique>", id)
	}
	run := Run{Record: record, Competition: competition}
	if err := record.check(); err != nil {
		return Run{}, fmt.Errorf("run %q in %s: %w", id, metadataName, err)
	}
	folder, err := root.OpenRoot(id)
	if err != nil {
		run.Outcome, run.Note = outcome.MachineFailed, "the run's folder is missing"
		if !errors.Is(err, fs.ErrNotExist) {
			run.Note = "its folder cannot be read: " + err.Error()
		}
		return run, nil
	}
	defer folder.Close()
	run.find(folder, filepath.Join(dir, id, "submission", "submission.csv"))
	run.ended(readLog(folder))
	return run, nil
}

// find looks for the submission. A link may lead to another file of the run,
// not out of it: it may have been made by the agent, and lead to the answers.
func (r *Run) find(folder *os.Root, path string) {
	info, err := folder.Stat("submission/submission.csv")
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		r.Refused = "submission/submission.csv is not read: it is a link out of the run's folder, or cannot be opened"
	case info.Mode().IsRegular():
		r.Submission = path
	}
}

func unlisted(dir string, runs Records) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read run group: %w", err)
	}
	others := lists.Where(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && !slices.ContainsFunc(runs, func(r Record) bool { return r.ID == e.Name() })
	})
	return lists.Of(others, fs.DirEntry.Name), nil
}

// Entries returns the runs as entries to grade, as the reference makes them: one
// a run, in their order, "None" for no submission. A refused one counts as none.
func (g *Group) Entries() []grading.Entry {
	entries := make([]grading.Entry, len(g.Runs))
	for i, r := range g.Runs {
		e := grading.Entry{
			Line: i + 1, CompetitionID: r.Competition, SubmissionPath: r.Submission, Refused: r.Refused, Labels: map[string]string{}, Conditions: r.Conditions,
			Origin: &grading.Origin{Group: g.Name, Run: r.ID, Outcome: string(r.Outcome), WallSeconds: r.WallSeconds, Note: r.Note, Usage: r.Usage, Evidence: r.Evidence},
		}
		if r.Submission == "" {
			e.SubmissionPath = "None"
		}
		if agent := cmp.Or(g.Agent, r.Agent); agent != "" {
			e.Labels["agent"] = agent
		}
		if r.Seed != "" {
			e.Labels["seed"] = r.Seed
		}
		entries[i] = e
	}
	return entries
}

// Graded returns a grading report of the group in a folder, "" if there is none. In
// the group's own folder any report is; elsewhere it holds one of the group's runs.
func (g *Group) Graded(dir string) (string, error) {
	if filepath.Clean(dir) == filepath.Clean(g.Dir) {
		return Report(dir)
	}
	found, err := reports(dir)
	if err != nil {
		return "", err
	}
	for _, path := range found {
		file, err := board.ReadPaths([]string{path})
		if err != nil {
			return "", fmt.Errorf("%w; move it away, or write elsewhere with --output-dir", err)
		}
		if slices.ContainsFunc(file.Reports, g.has) {
			return path, nil
		}
	}
	return "", nil
}

// has reports whether a report is about a run of the group. The reference's reports
// name only the submission.
func (g *Group) has(r grading.Graded) bool {
	return slices.ContainsFunc(g.Runs, func(run Run) bool {
		if r.Origin != nil {
			return r.Origin.Group == g.Name && r.Origin.Run == run.ID
		}
		return run.Submission != "" && filepath.Clean(r.SubmissionPath) == filepath.Clean(run.Submission)
	})
}

// reports lists the grading reports in a folder.
func reports(dir string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(cmp.Or(dir, ".")), "*grading_report*.json")
	return lists.Of(found, func(name string) string { return filepath.Join(dir, name) }), err
}

// Report returns the grading report in a group's folder, "" if there is none.
func Report(dir string) (string, error) {
	found, err := reports(dir)
	if err != nil || len(found) == 0 {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s holds %d grading reports: %s; keep one", dir, len(found), strings.Join(found, ", "))
	}
	return found[0], nil
}

// logTail is the number of bytes read from the end of run.log.
const logTail = 64 << 10

// The lines at the end of a run.log of the reference. Agents print the first at
// their time limit, the other is the runner's.
var (
	timedOut  = pattern.New(`(?m)(?:^|\[Container\] )Timed out after \d.*$`)
	completed = pattern.New(`(?m)^\[[^\]]*\].*Run completed in (\d+(?:\.\d+)?) seconds\.\s*$`)
)

// readLog returns the end of a run's log; "" if there is none that can be read.
func readLog(folder *os.Root) string {
	info, err := folder.Stat("run.log")
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := folder.Open("run.log")
	if err != nil {
		return ""
	}
	defer f.Close()
	tail := io.NewSectionReader(f, max(0, info.Size()-logTail), logTail)
	text, err := io.ReadAll(tail)
	if err != nil {
		return ""
	}
	return string(text)
}

// ended decides how the run ended: by the metadata, the log, and whether there is a
// submission. The reference notes neither how an agent ended nor why, so that without a
// sign of something else a run that left a submission has finished.
func (r *Run) ended(log string) {
	if m := completed.Regexp().FindStringSubmatch(log); m != nil && r.WallSeconds == nil {
		if seconds, err := strconv.ParseFloat(m[1], 64); err == nil {
			r.WallSeconds = &seconds
		}
	}
	switch {
	case r.Success != nil && !*r.Success:
		r.Outcome, r.Note = outcome.MachineFailed, "the metadata say that the run failed outside the agent"
	case r.Outcome.Known():
	case timedOut.Regexp().MatchString(log):
		r.Outcome, r.Note = outcome.TimedOut, "the end of run.log says so"
	case r.Submission == "":
		r.Outcome = outcome.NoSubmission
	default:
		r.Outcome = outcome.Finished
	}
}
