package harbor

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/reward"
)

// Writer writes competitions as tasks.
type Writer struct {
	// Data is the folder of prepared competitions, Dir that of the tasks.
	Data, Dir string
	// Image is the base image of the agent's environment. Images is a prefix of the names
	// of images; if it is empty, the harness builds them.
	Image, Images string
	// Reward is one of reward.Kinds, or empty for the default.
	Reward string
	// Micro is the number of test ids drawn by Seed; 0 is all.
	Micro int
	Seed  uint64
	// Grader finds out whether the answers are a solution.
	Grader grading.Grader
	Work   *progress.Work
	// Describe returns the reference's description of a competition, nil if it has none;
	// a Writer without it writes our own.
	Describe func(context.Context, *competitions.Definition) ([]byte, error)
	// program is this program in a task that was staged.
	program string
	staged  []stage
}

// Task is a task that was written.
type Task struct {
	Competition string `json:"competition"`
	Path        string `json:"path"`
	Solution    bool   `json:"solution"`
}

// Mistake is an error that another request would not have.
type Mistake struct{ error }

// Unwrap returns the cause.
func (m Mistake) Unwrap() error { return m.error }

func mistakef(format string, args ...any) error { return Mistake{fmt.Errorf(format, args...)} }

// draft is a task folder that is being filled.
type draft struct {
	*Writer
	def               *competitions.Definition
	dir, reward       string
	prepared, answers string
	// gold is the file that is the solution if it is solved.
	gold        string
	solved      bool
	description []byte
}

// Stage writes one task folder aside; Commit puts it in its place. Data with the mark of
// a rehearsal give a task of one.
func (w *Writer) Stage(ctx context.Context, def *competitions.Definition) (task Task, err error) {
	if def, err = def.In(w.Data); err != nil {
		return task, Mistake{err}
	}
	d := draft{Writer: w, def: def}
	if d.reward, err = reward.Check(w.Reward, def); err != nil {
		return task, Mistake{err}
	}
	d.use(w.Data)
	to := filepath.Join(w.Dir, w.name(def))
	for _, need := range []string{filepath.Join(d.prepared, "public"), d.answers} {
		if _, err := os.Stat(need); err != nil {
			return task, mistakef("%s is not prepared: %v; run mleflow prepare -c %s first, with the same --data-dir", def.ID, err, def.ID)
		}
	}
	if err := w.free(to); err != nil {
		return task, err
	}
	if d.description, err = w.describe(ctx, def); err != nil {
		return task, err
	}
	if err = os.MkdirAll(w.Dir, 0o777); err == nil {
		d.dir, err = os.MkdirTemp(w.Dir, ".task-")
	}
	if err != nil {
		return task, fmt.Errorf("write task: %w", err)
	}
	w.staged = append(w.staged, stage{d.dir, to})
	if w.Micro > 0 {
		drawn := d.dir + "-drawn" // beside the task, which it is no part of
		defer func() { err = errors.Join(err, os.RemoveAll(drawn)) }()
		if err := d.draw(ctx, drawn); err != nil {
			return task, err
		}
	}
	if err := d.grade(ctx); err != nil {
		return task, err
	}
	if err := cmp.Or(d.fill(), os.Chmod(d.dir, 0o755)); err != nil { //nolint:gosec // a folder to share, as mkdir makes it
		return task, fmt.Errorf("write task: %w", err)
	}
	w.program = filepath.Join(d.dir, "tests", "mleflow")
	return Task{Competition: def.ID, Path: to, Solution: d.solved}, nil
}

// name returns the name of the task's folder.
func (w *Writer) name(def *competitions.Definition) string {
	name := def.ID
	if def.Rehearsal {
		name = conditions.Rehearsal + "-" + name
	}
	if w.Micro == 0 {
		return name
	}
	return fmt.Sprintf("%s-micro-%d-%d", name, w.Micro, w.Seed)
}

// use takes the data in a data directory.
func (d *draft) use(data string) {
	d.prepared, d.answers = filepath.Join(data, d.def.ID, "prepared"), grading.AnswersPath(data, d.def)
	d.gold = filepath.Join(d.prepared, filepath.FromSlash(d.def.Layout.Gold))
}

// draw replaces the data by a small split of them, below a folder.
func (d *draft) draw(ctx context.Context, data string) error {
	from := d.prepared
	d.use(data)
	folder := mask.Folder{From: from, To: d.prepared, Work: d.Work}
	return folder.Write("draw", func(o mask.Options) error {
		if err := mask.Draw(ctx, d.def, d.Micro, d.Seed, o); err != nil {
			return Mistake{err}
		}
		return nil
	})
}

// grade finds out whether the gold submission earns gold, or in a rehearsal the whole
// reward, and whether a small split can be graded.
func (d *draft) grade(ctx context.Context) error {
	grade := func(name string) (grading.Report, error) {
		return d.Grader.Grade(ctx, d.def, grading.Request{Submission: filepath.Join(d.prepared, filepath.FromSlash(name)), Answers: d.answers, Created: time.Now()})
	}
	report, err := grade(d.def.Layout.Gold)
	if err != nil {
		return err
	}
	scale, err := reward.Measure(d.def, grade)
	if err != nil {
		return err
	}
	if report.MetricExternal {
		return mistakef("the metric of %s is a program of its own, which the verifier's image cannot run", d.def.ID)
	}
	d.solved = (report.GoldMedal || reward.Relative(d.def) && scale.Of(d.reward, report) == 1) && filepath.Ext(d.gold) == ".csv"
	if d.Micro == 0 || report.Outcome == outcome.Scored {
		return nil
	}
	one, err := grade(d.def.Layout.Sample)
	if err == nil && one.Outcome != outcome.Scored {
		err = mistakef("the %d ids drawn from %s cannot be graded: %s; draw more of them, or others with --seed", d.Micro, d.def.ID, one.Reason)
	}
	return err
}

func (d *draft) fill() error {
	files := map[string]string{
		"task.toml":              d.config(),
		"instruction.md":         instruction(d.def, d.description),
		"environment/Dockerfile": fmt.Sprintf("FROM %s\nCOPY data/ /home/data/\nRUN mkdir -p /home/submission\nWORKDIR /home\n", d.Image),
		"tests/Dockerfile":       "FROM debian:12.11-slim\nCOPY . /tests/\nRUN mkdir -p /logs/verifier\n",
	}
	options, err := d.define(files)
	if err != nil {
		return err
	}
	files["tests/test.sh"] = fmt.Sprintf(testScript, d.def.ID, options+"--reward "+d.reward)
	graded := []string{d.def.Layout.Answers}
	if reward.Relative(d.def) { // Measure needs the others
		graded = append(graded, d.def.Layout.Sample, d.def.Layout.Gold)
	}
	if d.def.Rehearsal {
		files[path.Join("tests/data", d.def.ID, competitions.RehearsalMark)] = competitions.RehearsalText
	}
	if d.solved {
		files["solution/solve.sh"] = "#!/bin/sh\nset -e\nmkdir -p /home/submission\ncp \"$(dirname \"$0\")/submission.csv\" /home/submission/submission.csv\n"
	}
	for name, text := range files {
		if err := writeScript(filepath.Join(d.dir, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	if d.solved {
		if err := linkFile(d.gold, filepath.Join(d.dir, "solution", "submission.csv")); err != nil {
			return err
		}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	install := copyFile
	if d.program != "" { // tasks share one copy
		program, install = d.program, linkFile
	}
	slices.Sort(graded)
	trees := []link{{from: filepath.Join(d.prepared, "public"), to: filepath.Join(d.dir, "environment", "data")}}
	trees = append(trees, lists.Of(slices.Compact(graded), func(name string) link {
		return link{from: filepath.Join(d.prepared, name), to: filepath.Join(d.dir, "tests", "data", d.def.ID, "prepared", name)}
	})...)
	return errors.Join(linkTrees(d.def.ID, d.Work, trees...), install(program, filepath.Join(d.dir, "tests", "mleflow")))
}

// define adds the definition of a competition that the program in the task does not have, and
// returns the option that names it.
func (d *draft) define(files map[string]string) (options string, err error) {
	if d.def.Dir() == "" {
		return "", nil
	}
	for _, name := range d.def.Texts() {
		text, err := fs.ReadFile(d.def.Folder(), name)
		if err != nil {
			return "", fmt.Errorf("copy definition: %w", err)
		}
		files[path.Join("tests/competitions", d.def.ID, name)] = string(text)
	}
	return `--competitions "$here/competitions" `, nil
}

// testScript ends with status 1 and no reward if grading itself fails, which
// Harbor reports as an error: that is not the submission's fault.
//
//go:embed test.sh
var testScript string

// taskText is the task.toml of a task.
//
//go:embed task.toml
var taskText string

func (d *draft) config() string {
	kind, w, def := "", d.Writer, d.def
	timeout, cpus, memory := 86400.0, 4, 16384
	if def.Rehearsal {
		kind = "data = \"rehearsal\"\n"
		timeout, cpus, memory = 3600, 2, 4096
	}
	if w.Micro > 0 {
		kind += fmt.Sprintf("micro = %d\nseed = %d\n", w.Micro, w.Seed)
	}
	agent, verifier := "", ""
	if w.Images != "" {
		agent = fmt.Sprintf("docker_image = %q\n", w.Images+"/"+w.name(def)+"-agent")
		verifier = fmt.Sprintf("docker_image = %q\n", w.Images+"/"+w.name(def)+"-verifier")
	}
	return fmt.Sprintf(taskText, w.name(def), def.Version, w.task(), d.reward, kind, timeout, verifier, agent, cpus, memory)
}

func instruction(def *competitions.Definition, description []byte) string {
	text := fmt.Sprintf(rules, def.ID) + "\n"
	if def.Rehearsal {
		text += "This is a rehearsal: the data are synthetic and tiny, in the form of the real ones.\n\n"
	}
	return text + string(description)
}

// rules are the rules of our own instructions that hold without our
// agent's server.
//
//go:embed rules.md
var rules string

func writeScript(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if filepath.Ext(path) == ".sh" {
		mode = 0o755
	}
	return os.WriteFile(path, []byte(text), mode) //nolint:gosec // scripts are to be run
}

// link is from where a file or folder is linked, and to where.
type link struct {
	from, to string
	size     int64
}

// linkTrees links files and folders, or copies them across file systems.
func linkTrees(what string, work *progress.Work, trees ...link) error {
	var files []link
	var bytes int64
	for _, t := range trees {
		err := filepath.WalkDir(t.from, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(t.from, path)
			files = append(files, link{path, filepath.Join(t.to, rel), info.Size()})
			bytes += info.Size()
			return err
		})
		if err != nil {
			return err
		}
	}
	work.Begin(what, int64(len(files)), bytes)
	for _, f := range files {
		if err := linkFile(f.from, f.to); err != nil {
			return err
		}
		work.Add(1, f.size)
	}
	return nil
}

func linkFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
