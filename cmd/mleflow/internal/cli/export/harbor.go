package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/competition"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/prep"
)

type harborOptions struct {
	data                  app.DataFlags
	output, image, reward string
	images                string // prefix of the names of built images; empty: the harness builds them
	micro                 int    // how many ids are drawn; 0 is all
	seed                  uint64
}

// HarborJSON is what export harbor --json prints of each task.
type HarborJSON struct {
	Competition string `json:"competition"`
	Path        string `json:"path"`
	Solution    bool   `json:"solution"`
}

func newExportHarbor(a *app.App) *cobra.Command {
	var o harborOptions
	cmd := &cobra.Command{
		Use:   "harbor ID... -o DIR",
		Short: "Write prepared competitions as Harbor tasks",
		Long: `Write prepared competitions as Harbor's task folders DIR/<id>. Answers are in
the verifier's image and solution/, never in the agent's image. docs/training.md
has the layout and the rewards.

--micro N writes a small split to DIR/<id>-micro-<N>-<seed>. Its medals and
ranks are the whole leaderboard's, which compares only roughly.`,
		Example: `  mleflow export harbor demo-digits demo-cancer --reward rank -o tasks
  mleflow export harbor demo-digits --micro 50 --seed 7 -o tasks`,
		Args: app.Takes(1, -1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if o.output == "" {
				return app.Usagef("name the folder for the tasks with -o DIR")
			}
			if err := competition.CheckReward(o.reward); err != nil {
				return err
			}
			if cmd.Flags().Changed("seed") && o.micro == 0 || o.micro < 0 {
				return app.Usagef("--micro N takes how many test ids to draw, and --seed draws others; without --micro the task has all")
			}
			return exportHarbor(cmd.Context(), a, o, args)
		}),
	}
	cmd.Flags().StringVar(&o.data.Dir, "data-dir", "", "`DIR` with the competitions' data (default: data below the cache folder)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write the tasks below `DIR`")
	cmd.Flags().StringVar(&o.image, "image", "python:3.12.11-slim-bookworm", "build the agent's environment from `IMAGE`")
	cmd.Flags().StringVar(&o.images, "images", "", "name a task's images `PREFIX`/<task>-agent and PREFIX/<task>-verifier, for harnesses that do not build them")
	cmd.Flags().StringVar(&o.reward, "reward", "medal", "`KIND` of reward: medal, rank or margin")
	cmd.Flags().IntVar(&o.micro, "micro", 0, "draw the rows and files of `N` test ids, and as large a part of the training data")
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "draw the small split by seed `N`")
	return cmd
}

func exportHarbor(ctx context.Context, a *app.App, o harborOptions, ids []string) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	layout, err := o.data.Layout(a)
	if err != nil {
		return err
	}
	work, stop := a.MeterWork("export")
	defer stop()
	var written []HarborJSON
	for _, id := range ids {
		def, err := catalog.Get(id)
		if err != nil {
			return app.Wrong(err)
		}
		if slices.Contains(catalog.Own(), id) {
			return app.Usagef("%s is not among the competitions of the program, which is all that a verifier has", id)
		}
		w, err := writeHarbor(ctx, o, layout, def, work)
		if err != nil {
			return err
		}
		written = append(written, w)
	}
	stop()
	if a.JSON {
		return app.WriteJSON(a.Stdout, map[string]any{"tasks": written})
	}
	for _, w := range written {
		fmt.Fprintf(a.Stdout, "%s\n", w.Path)
		if !w.Solution {
			fmt.Fprintf(a.Stderr, "%s has no solution: its answers are not a submission that earns gold.\n", w.Competition)
		}
	}
	return nil
}

// writeHarbor writes one task folder, as a whole or not at all.
func writeHarbor(ctx context.Context, o harborOptions, layout dataset.Layout, def *competitions.Definition, work *progress.Work) (w HarborJSON, err error) {
	prepared, to := layout.Prepared(def.ID), filepath.Join(o.output, o.name(def))
	answers := grading.AnswersPath(layout.Dir, def)
	for _, need := range []string{filepath.Join(prepared, "public"), answers} {
		if _, err := os.Stat(need); err != nil {
			return w, app.Usagef("%s is not prepared: %v; run mleflow prepare -c %s first, with the same --data-dir", def.ID, err, def.ID)
		}
	}
	if _, err := os.Lstat(to); err == nil {
		return w, app.Usagef("%s already exists; move it away, or write elsewhere", to)
	}
	if err := os.MkdirAll(o.output, 0o777); err != nil {
		return w, fmt.Errorf("write task: %w", err)
	}
	draft, err := os.MkdirTemp(o.output, ".task-")
	if err != nil {
		return w, fmt.Errorf("write task: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	if o.micro > 0 {
		drawn := dataset.Layout{Dir: filepath.Join(draft, "drawn")}
		defer func() { err = errors.Join(err, os.RemoveAll(drawn.Dir)) }()
		if err := drawSplit(ctx, o, def, prepared, drawn.Prepared(def.ID), work); err != nil {
			return w, err
		}
		prepared, answers = drawn.Prepared(def.ID), grading.AnswersPath(drawn.Dir, def)
	}
	report, err := app.NewJudge(app.Programs(), "").Grade(ctx, def, grading.Request{Submission: answers, Answers: answers, Created: time.Now()})
	if err != nil {
		return w, err
	}
	if o.micro > 0 && report.Outcome != grading.Scored {
		sample := filepath.Join(prepared, filepath.FromSlash(def.Layout.Sample))
		one, err := app.NewJudge(app.Programs(), "").Grade(ctx, def, grading.Request{Submission: sample, Answers: answers, Created: time.Now()})
		if err != nil {
			return w, err
		}
		if one.Outcome != grading.Scored {
			return w, app.Usagef("the %d ids drawn from %s cannot be graded: %s; draw more of them, or others with --seed", o.micro, def.ID, one.Reason)
		}
	}
	w = HarborJSON{Competition: def.ID, Path: to, Solution: report.GoldMedal && filepath.Ext(answers) == ".csv"}
	if err := fillHarbor(draft, o, prepared, answers, def, w.Solution, work); err != nil {
		return w, fmt.Errorf("write task: %w", err)
	}
	if err := os.Chmod(draft, 0o755); err != nil { //nolint:gosec // a folder to share, as mkdir makes it
		return w, fmt.Errorf("write task: %w", err)
	}
	return w, os.Rename(draft, to)
}

// name is that of the task's folder.
func (o harborOptions) name(def *competitions.Definition) string {
	if o.micro == 0 {
		return def.ID
	}
	return fmt.Sprintf("%s-micro-%d-%d", def.ID, o.micro, o.seed)
}

// drawSplit writes a small split of prepared data.
func drawSplit(ctx context.Context, o harborOptions, def *competitions.Definition, from, to string, work *progress.Work) (err error) {
	folder, err := prep.NewFolder(to)
	if err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	err = mask.Draw(ctx, def, o.micro, o.seed, mask.Options{
		Public: os.DirFS(filepath.Join(from, "public")), Private: os.DirFS(filepath.Join(from, "private")), Out: folder, Progress: work,
	})
	if err != nil {
		return app.Wrong(err)
	}
	return folder.Publish()
}

func fillHarbor(draft string, o harborOptions, prepared, answers string, def *competitions.Definition, solved bool, work *progress.Work) error {
	files := map[string]string{
		"task.toml":              harborConfig(o, def),
		"instruction.md":         harborInstruction(def),
		"environment/Dockerfile": fmt.Sprintf("FROM %s\nCOPY data/ /home/data/\nRUN mkdir -p /home/submission\nWORKDIR /home\n", o.image),
		"tests/Dockerfile":       "FROM debian:12.11-slim\nCOPY . /tests/\nRUN mkdir -p /logs/verifier\n",
		"tests/test.sh":          fmt.Sprintf(harborTest, def.ID, o.reward),
	}
	if solved {
		files["solution/solve.sh"] = "#!/bin/sh\nset -e\nmkdir -p /home/submission\ncp \"$(dirname \"$0\")/submission.csv\" /home/submission/submission.csv\n"
	}
	for name, text := range files {
		if err := writeScript(filepath.Join(draft, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	if solved {
		if err := linkFile(answers, filepath.Join(draft, "solution", "submission.csv")); err != nil {
			return err
		}
	}
	private, err := filepath.Rel(prepared, answers)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return errors.Join(
		linkTrees(def.ID, work,
			link{filepath.Join(prepared, "public"), filepath.Join(draft, "environment", "data")},
			link{answers, filepath.Join(draft, "tests", "data", def.ID, "prepared", private)}),
		copyFile(program, filepath.Join(draft, "tests", "mleflow")))
}

// harborTest ends with status 1 and no reward if grading itself fails, which
// Harbor reports as an error: that is not the submission's fault.
const harborTest = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
logs=${MLEFLOW_REWARD_DIR:-/logs/verifier}
mkdir -p "$logs"
submission=${MLEFLOW_SUBMISSION:-/home/submission/submission.csv}
if [ -L "$submission" ]; then # it could lead to the answers
  echo "The submission is a symbolic link, which does not count."
  submission=$here/none
fi
"$here/mleflow" grade-sample "$submission" %s \
  --data-dir "$here/data" --reward %s --reward-dir "$logs"
status=$?
[ $status = 4 ] && status=0
exit $status
`

func harborConfig(o harborOptions, def *competitions.Definition) string {
	micro := ""
	if o.micro > 0 {
		micro = fmt.Sprintf("micro = %d\nseed = %d\n", o.micro, o.seed)
	}
	agent, verifier := "", ""
	if o.images != "" {
		agent = fmt.Sprintf("docker_image = %q\n", o.images+"/"+o.name(def)+"-agent")
		verifier = fmt.Sprintf("docker_image = %q\n", o.images+"/"+o.name(def)+"-verifier")
	}
	return fmt.Sprintf(`schema_version = "1.1"
artifacts = ["/home/submission/submission.csv"]

[task]
name = "mleflow/%s"

[metadata]
competition_version = %q
reward = %q
%s
[agent]
timeout_sec = 86400.0

[verifier]
timeout_sec = 3600.0
environment_mode = "separate"

[verifier.environment]
%snetwork_mode = "no-network"
cpus = 2
memory_mb = 8192

[environment]
%snetwork_mode = "no-network"
build_timeout_sec = 3600.0
cpus = 4
memory_mb = 16384
`, o.name(def), def.Version, o.reward, micro, verifier, agent)
}

func harborInstruction(def *competitions.Definition) string {
	return fmt.Sprintf(harborRules, def.ID) + "\n" + string(def.OwnDescription())
}

// harborRules are the rules of our own instructions that hold without our
// agent's server.
const harborRules = `You take part in the machine-learning competition %s, offline.

Train a model on the training data, predict the test data, and leave the
predictions as one CSV file. Hand-labelling the test data is not allowed, and
neither are other people's solutions.

- Data: /home/data. If description.md is there, read it first.
- Submission: /home/submission/submission.csv, in the form of the sample
  submission. No file there means no score.

The data were split again, so that numbers of rows, file names and columns may
differ from what the competition's text says. Where they disagree, this text is
right. The score is computed with the competition's metric after you have ended.
`

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
type link struct{ from, to string }

// linkTrees links files and folders, or copies them across file systems.
func linkTrees(what string, work *progress.Work, trees ...link) error {
	type file struct {
		link
		size int64
	}
	var files []file
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
			files = append(files, file{link{path, filepath.Join(t.to, rel)}, info.Size()})
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
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
