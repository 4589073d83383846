package grading

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Program is a metric that is a program next to the definition:
//
//	metric = command({
//	  command = ["python3", "metric.py"]
//	  files   = ["metric.py"]         # of the competition's folder; a folder is taken whole
//	  better  = "higher"
//	  timeout = "5m"                  # of the wall clock
//	  memory_mib = 2048
//	  python  = { requirements = "requirements.txt" } # and version = "3.11"
//	})
//
// It runs in a folder that holds copies of its files, with the paths of the
// submission and of the answers, which it may read only, as its last two
// arguments. It prints one object of JSON: {"score": 0.5}, or {"invalid": "why"}
// for a submission that has no score. Anything else is a failure of the grader.
type Program struct {
	Command []string
	Files   []string
	// Python are the packages that it needs; nil without any.
	Python  *program.Python
	Timeout time.Duration
	Memory  int64
	// Function means that the program calls the function Grade of the definition's Python.
	// It reads the submission itself, and there are no requirements.
	Function bool
}

// function returns the program that calls a definition's own function of Python.
func function(def *competitions.Definition) *Program {
	timeout, memory := def.Python.Limits(false)
	return &Program{
		Command: []string{"python3", program.Runner, "grade", def.Python.Function(def.Python.Grade)},
		Python:  program.PackagesOf(def.Python), Timeout: timeout, Memory: memory, Function: true,
	}
}

// roundings of a verdict.
var verdictRoundings = map[string]metric.Rounding{"": metric.PythonRounding, "python": metric.PythonRounding, "numpy": metric.NumpyRounding, "integer": metric.WholeNumber}

// ErrProgram says that a submission meets the requirements, and that its score
// takes a program, for which the request has no executor.
var ErrProgram = errors.New("the metric is a program, which is not run here")

// maxVerdict bounds the output of a program.
const maxVerdict = 64 << 10

// score runs the program. An *Invalid error is its verdict on the submission.
func (p *Program) score(ctx context.Context, def *competitions.Definition, q Request) (_ metric.Score, err error) {
	if q.Executor == nil {
		return metric.Score{}, ErrProgram
	}
	dir, err := os.MkdirTemp("", "mleflow-metric-*")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return metric.Score{}, fmt.Errorf("run metric: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out := Head{Most: maxVerdict + 1}
	c := program.Call{
		Machine: program.Machine{Executor: q.Executor, Packages: q.Packages}, What: "metric", Dir: dir, Python: p.Python, Stdout: &out,
		Limits: executor.Limits{Timeout: p.Timeout, MemoryBytes: p.Memory, Processes: maxProcesses},
	}
	if err = p.stage(def, q, &c); err == nil {
		err = c.Run(ctx, def)
	}
	if err != nil {
		return metric.Score{}, fmt.Errorf("run metric: %w", err)
	}
	return verdict(out.Bytes())
}

// stage lays out the program's inputs.
func (p *Program) stage(def *competitions.Definition, q Request, c *program.Call) error {
	submission, answers := filepath.Join(c.Dir, "submission.csv"), filepath.Join(c.Dir, "answers"+filepath.Ext(q.Answers))
	c.Command = append(slices.Clone(p.Command), submission, answers)
	err := errors.Join(c.Make(), copyFile(q.Submission, submission), copyFile(q.Answers, answers))
	if p.Function {
		c.Env = program.Environment
		return errors.Join(err, program.Lay(def, c.Work()))
	}
	for _, name := range p.Files {
		err = errors.Join(err, copyFrom(def.Folder(), name, c.Work()))
	}
	return err
}

// maxProcesses is the largest number of processes and threads of a program.
const maxProcesses = 256

// verdict parses a program's output.
func verdict(text []byte) (metric.Score, error) {
	if len(text) > maxVerdict {
		return metric.Score{}, fmt.Errorf("run metric: it printed more than %d bytes instead of one object", maxVerdict)
	}
	var v struct {
		Score    *Number `json:"score"`
		Rounding string  `json:"rounding"`
		Invalid  *string `json:"invalid"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&v)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("there is more after it")
	}
	switch {
	case err != nil:
		return metric.Score{}, fmt.Errorf("run metric: it must print one object, {\"score\": number} or {\"invalid\": \"reason\"}: %w; it printed %.200q", err, text)
	case (v.Score == nil) == (v.Invalid == nil):
		return metric.Score{}, fmt.Errorf("run metric: it must print either score or invalid, not both or neither; it printed %.200q", text)
	case v.Invalid != nil:
		return metric.Score{}, &Invalid{Rule: "command", Reason: *v.Invalid}
	}
	rounding, ok := verdictRoundings[v.Rounding]
	if !ok {
		return metric.Score{}, fmt.Errorf("run metric: it printed the rounding %.20q, which is none of python, numpy and integer", v.Rounding)
	}
	return metric.Score{Value: float64(*v.Score), Rounding: rounding}, nil
}

// copyFrom copies a file or folder of a competition, with its path.
func copyFrom(folder fs.FS, name, to string) error {
	return fs.WalkDir(folder, name, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dst := filepath.Join(to, filepath.FromSlash(at))
		if e.IsDir() {
			return os.MkdirAll(dst, 0o700)
		}
		data, err := fs.ReadFile(folder, at)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.FromSlash(path.Dir(at))), 0o700); err != nil {
			return err
		}
		return os.WriteFile(dst, data, 0o500)
	})
}

// copyFile copies a file so that it can be read only.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// Head keeps the first bytes that are written to it, as many as Most.
type Head struct {
	bytes.Buffer
	Most int
}

// Write implements io.Writer.
func (h *Head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), max(0, h.Most-h.Len()))])
	return len(p), nil
}

// unmeasured stands for the scorer of a program where none is run: what can be
// said of the form of a submission are the requirements.
func unmeasured(metric.Input) (metric.Score, error) { return metric.Score{}, nil }
