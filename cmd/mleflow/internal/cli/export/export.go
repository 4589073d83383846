package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

type exportOptions struct {
	format, table, output string
	at                    []time.Duration
	rules                 leaderboard.RuleFlags
}

// NewExport returns the command export.
func NewExport(a *app.App) *cobra.Command {
	var o exportOptions
	cmd := a.Command("export [RESULT]... --format FORMAT",
		"Write results as a table for notebooks, or in the format of another tool", app.Takes(0, -1),
		func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && o.format == "" && slices.Contains([]string{"mlflow", "wandb", "trackio"}, args[0]) {
				return app.Usagef("the Python package writes to %[1]s: python -m mleflow export %[1]s RUN (docs/export.md)", args[0])
			}
			if err := o.check(a.Terminal); err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{"latest"}
			}
			return exportRows(cmd.Context(), a, o, args)
		}, &o.rules)
	cmd.Flags().StringVar(&o.format, "format", "", "`FORMAT`: parquet, arrow, csv or json")
	cmd.Flags().StringVar(&o.table, "table", "attempts", "which `TABLE`: attempts or snapshots")
	cmd.Flags().DurationSliceVar(&o.at, "at", nil, "add columns with what stopping every attempt after `TIMES` such as 1h,6h would have given, by graded snapshots")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.AddCommand(newExportRunGroup(a), newExportATIF(a), newExportInspect(a), newExportTrajectories(a), newExportHarbor(a), newExportOtel(a))
	return cmd
}

// check fills in what follows from the name of the file and from --json.
func (o *exportOptions) check(t *app.Terminal) error {
	formats := []string{"parquet", "arrow", "csv", "json"}
	if end := strings.TrimPrefix(filepath.Ext(o.output), "."); o.format == "" && slices.Contains(formats, end) {
		o.format = end
	}
	if o.format == "" && t.JSON {
		o.format = string(export.JSON)
	}
	switch {
	case o.format == "":
		return app.Usagef("choose a format with --format: parquet, arrow, csv or json")
	case !slices.Contains(formats, o.format):
		return app.Usagef("--format %s: it is parquet, arrow, csv or json", o.format)
	case o.table != "attempts" && o.table != "snapshots":
		return app.Usagef("--table %s: it is attempts or snapshots", o.table)
	case len(o.at) > 0 && o.table != "attempts":
		return app.Usagef("--at adds columns to the table attempts, not %s", o.table)
	case t.JSON && o.output == "" && o.format != string(export.JSON):
		return app.Usagef("--json writes to standard output, where --format %s goes; name a file with -o", o.format)
	}
	return errors.Join(leaderboard.CheckStops(o.at), o.rules.Check())
}

// ExportedJSON is what export --json prints of a file that it wrote.
type ExportedJSON struct {
	Path    string `json:"path"`
	Table   string `json:"table"`
	Format  string `json:"format"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
}

func exportRows(ctx context.Context, a *app.App, o exportOptions, args []string) error {
	var records []*results.Attempt
	for _, arg := range args {
		list, err := leaderboard.RecordsOf(ctx, a, arg)
		if err != nil {
			return err
		}
		records = append(records, list...)
	}
	records = leaderboard.WithoutFound(a, o.rules, results.Rows(records))
	t, err := export.Attempts(records, o.at...)
	if o.table == "snapshots" {
		t, err = export.Snapshots(records)
	}
	if err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	if o.output == "" {
		return export.Write(a.Stdout, t, export.Format(o.format))
	}
	var out bytes.Buffer
	if err := export.Write(&out, t, export.Format(o.format)); err != nil {
		return err
	}
	if err := app.ReplaceFile(o.output, out.Bytes()); err != nil {
		return err
	}
	return a.Show(ExportedJSON{o.output, o.table, o.format, t.Len(), len(t.Columns())}, func() {
		fmt.Fprintf(a.Stdout, "%s holds %s.\n", o.output, view.Plural(t.Len(), "row"))
	})
}

func newExportATIF(a *app.App) *cobra.Command {
	var output string
	cmd := a.KeyCommand("atif RUN KEY [-o FILE]",
		"Write an attempt's conversation with its models as a trajectory", app.Takes(2, 2),
		func(cmd *cobra.Command, past *history.Past, args []string) error {
			return runs.WithTranscript(cmd.Context(), a, past, args[1], func(rec *cache.Record, r *transcript.Reader) error {
				return exportATIF(cmd.Context(), a, past.Info.ID, rec, r, output)
			})
		})
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return cmd
}

// sentTurn is an exchange as a module of the Python package gets it.
type sentTurn struct {
	runs.ShownTurn
	Tools []message.Tool `json:"tools,omitempty"`
}

// mostTurns bounds the bytes of the exchanges that a module gets, since it holds them in memory.
const mostTurns = 2 << 30

// sendTurns writes the exchanges of a transcript, then null, and reports whether they have a
// conversation.
func sendTurns(w io.Writer, r *transcript.Reader) (conversation bool, err error) {
	size := 0
	for t, err := range r.Turns() {
		if err != nil {
			return false, err
		}
		conversation = conversation || t.Conversation > 0
		e := *t.Event
		e.Time = e.Time.UTC()
		line, err := json.Marshal(sentTurn{runs.ShownTurn{Event: &e, Conversation: t.Conversation, Said: t.Said, Reply: t.Reply}, t.Tools})
		if size += len(line); err == nil && size > mostTurns {
			err = fmt.Errorf("the exchanges have more than %d bytes", mostTurns)
		}
		if err == nil {
			_, err = w.Write(append(line, '\n'))
		}
		if err != nil {
			return false, err
		}
	}
	_, err = io.WriteString(w, "null\n")
	return conversation, err
}

func exportATIF(ctx context.Context, a *app.App, run string, rec *cache.Record, r *transcript.Reader, output string) error {
	at := bundle.AttemptOf(rec.Address, rec)
	extra := map[string]any{
		"competition": at.Competition, "competition_version": at.CompetitionVersion, "seed": at.Seed, "outcome": at.Result.Outcome,
		"action": rec.Action.String(), "mleflow_run": run,
	}
	made, err := atifModule.run(ctx, a, func(w io.Writer) error {
		about := map[string]any{"session": rec.Run + "/" + rec.Address, "agent": at.Agent, "version": at.AgentVersion, "extra": extra}
		if err := json.NewEncoder(w).Encode(about); err != nil {
			return err
		}
		conversation, err := sendTurns(w, r)
		if err == nil && !conversation {
			err = app.Usagef("%s has nothing to export: no conversation was recorded", rec.Address)
		}
		return err
	}, "export")
	if err != nil {
		return err
	}
	var tr struct {
		Steps     []struct{} `json:"steps"`
		Subagents []struct{} `json:"subagent_trajectories"`
	}
	if err := json.Unmarshal(made, &tr); err != nil {
		return fmt.Errorf("export transcript: %w", err)
	}
	if output == "" {
		return app.WriteJSON(a.Stdout, json.RawMessage(made))
	}
	err = wholefile.Create(output, 0o666, func(w io.Writer) error { return app.WriteJSON(w, json.RawMessage(made)) })
	if errors.Is(err, os.ErrExist) {
		return app.Usagef("%s already exists; move it away, or write elsewhere", output)
	}
	if err != nil {
		return fmt.Errorf("write trajectory: %w", err)
	}
	return a.Show(map[string]any{"path": output, "steps": len(tr.Steps), "subagents": len(tr.Subagents)}, func() {
		fmt.Fprintf(a.Stdout, "%s holds %d steps and %d other conversations.\n", output, len(tr.Steps), len(tr.Subagents))
	})
}

// A module is a part of the Python package that reads and writes a format.
type module struct {
	// file is what it reads, and format the plural with the name of the format.
	name, file, format string
	// oldest is the oldest Python that it runs on, and install what pip installs.
	oldest, install string
}

var (
	inspectModule = module{"_inspect", "log", "logs of Inspect AI", "3.10", "'mleflow[inspect]'"}
	atifModule    = module{"_atif", "trajectory", "trajectories in ATIF", "3.9", "mleflow"}
)

// start calls a module. The exit status is noPackage where a package is missing, and
// wrong where standard error is a sentence for the person.
const (
	start = `import sys
try:
    from mleflow.%s import main
except ImportError as err:
    print(err, file=sys.stderr)
    sys.exit(66)
sys.exit(main(sys.argv[1:]))`
	noPackage, wrong = 66, 2
)

// findPython finds the Python that has the package mleflow: MLEFLOW_PYTHON, that of the virtual
// environment in which this program is installed, or python3 of PATH.
func findPython(a *app.App, m module) (string, error) {
	if named := a.Env("MLEFLOW_PYTHON"); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", app.Usagef("MLEFLOW_PYTHON: %w", err)
		}
		return filepath.Abs(path)
	}
	if own, err := os.Executable(); err == nil {
		dir := filepath.Dir(own)
		if _, err := os.Stat(filepath.Join(dir, "..", "pyvenv.cfg")); err == nil {
			return filepath.Join(dir, "python3"), nil
		}
	}
	path, err := checkout.Program("python3")
	if err != nil {
		return "", app.Usagef("%s need Python %s or later: %w; install it, or set MLEFLOW_PYTHON to its path", m.format, m.oldest, err)
	}
	return path, nil
}

// run calls the module, feeds it, and returns what it prints. Nothing is imported from the
// working folder or from PYTHONPATH.
func (m module) run(ctx context.Context, a *app.App, feed func(io.Writer) error, args ...string) ([]byte, error) {
	python, err := findPython(a, m)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{"-I", "-c", fmt.Sprintf(start, m.name)}, args...)...)
	cmd.Dir = "/"
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, 10*time.Second // input that ends early makes it clean up
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	fed := feed(in)
	in.Close()
	err = cmd.Wait()
	said := strings.TrimSpace(errs.String())
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case fed != nil && !errors.Is(fed, syscall.EPIPE):
		return nil, fed
	case err == nil:
		return out.Bytes(), nil
	case cmd.ProcessState.ExitCode() == noPackage:
		return nil, app.Usagef("%s need a Python package: %s: %s; install it with pip install %s, or set MLEFLOW_PYTHON to a Python that has it", m.format, python, said, m.install)
	case cmd.ProcessState.ExitCode() == wrong:
		return nil, app.Usagef("%s", said)
	}
	return nil, fmt.Errorf("%s: %w: %s", python, err, said[strings.LastIndexByte(said, '\n')+1:])
}

type importOptions struct {
	competition, submission, seed, agent, output string
	sample                                       string
	epoch                                        int
}

// NewImport returns the command import.
func NewImport(a *app.App) *cobra.Command {
	return app.Group(a, "import", "Take attempts that were made elsewhere, by their trajectories", newImportATIF(a), newImportInspect(a))
}

func newImportATIF(a *app.App) *cobra.Command {
	var o importOptions
	return a.Command("atif TRAJECTORY.json -c ID --submission FILE -o DIR",
		"Take an attempt by its trajectory in ATIF", app.Needs(app.Takes(1, 1), "competition", "output"),
		func(cmd *cobra.Command, args []string) error {
			return o.importFile(cmd.Context(), a, atifModule, "logs/trajectory.json", args[0])
		}, &o)
}

func newImportInspect(a *app.App) *cobra.Command {
	var o importOptions
	cmd := a.Command("inspect LOG.eval --sample ID -c ID --submission FILE -o DIR",
		"Take an attempt by a sample of a log of Inspect AI", app.Needs(app.Takes(1, 1), "sample", "competition", "output"),
		func(cmd *cobra.Command, args []string) error {
			return o.importFile(cmd.Context(), a, inspectModule, "logs/inspect.json", args[0], o.sample, strconv.Itoa(o.epoch))
		}, &o)
	cmd.Flags().StringVar(&o.sample, "sample", "", "the sample `ID`")
	cmd.Flags().IntVar(&o.epoch, "epoch", 1, "epoch `N` of the sample")
	return cmd
}

// Register adds the flags.
func (o *importOptions) Register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.competition, "competition", "c", "", "the competition `ID`")
	cmd.Flags().StringVar(&o.submission, "submission", "", "the submission, `FILE`; without it there was none")
	cmd.Flags().StringVar(&o.seed, "seed", "", "label the attempt with seed `N`")
	cmd.Flags().StringVar(&o.agent, "agent", "", "call the agent `NAME` (default: as the file does)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "add it to the run group in `DIR`, which is made if it is missing")
}

// ImportedRun is what import says.
type ImportedRun struct {
	RunGroup string `json:"run_group"`
	Run      string `json:"run"`
	Agent    string `json:"agent"`
	Evidence string `json:"evidence"`
}

// importFile takes an attempt by a file that a module reads. Evidence is the name of what it
// read in the run's folder.
func (o *importOptions) importFile(ctx context.Context, a *app.App, m module, evidence, file string, args ...string) error {
	path, err := filepath.Abs(file)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", m.file, err)
	}
	out, err := m.run(ctx, a, func(io.Writer) error { return nil }, append([]string{"import", path}, args...)...)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	claim, err := rungroup.ReadClaim(out, evidence)
	if err != nil {
		return app.Usagef("%s: %w", file, err)
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	if _, err := catalog.Get(o.competition); err != nil {
		return app.Wrong(err)
	}
	if o.agent != "" {
		claim.Agent = o.agent
	}
	dir := filepath.Clean(o.output)
	run, err := rungroup.Import(dir, o.competition, o.seed, o.submission, claim)
	if err != nil {
		return app.Wrong(err)
	}
	return a.Show(ImportedRun{dir, run.ID, run.Agent, run.Evidence}, func() {
		fmt.Fprintf(a.Stdout, "%s: %s of %s, %s\n", dir, run.ID, view.OneLine(run.Agent), view.OneLine(run.Evidence))
	})
}
