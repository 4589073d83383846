package rehearse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// judge returns the reason why an attempt is not ready, and an advice; "" if it is.
func judge(rec *results.Attempt, packages []string, printed string) (problem, fix string) {
	switch rec.Made.Outcome {
	case outcome.Finished, outcome.NoSubmission:
		return judgeSubmission(rec)
	case outcome.TimedOut:
		if bad, _ := judgeSubmission(rec); bad == "" {
			return "", ""
		}
		return "it was stopped at " + limit(rec) + " and had no valid submission", "let it submit early, then improve; or give it more time with --timeout"
	}
	if fix := rec.Made.Outcome.Advice(); fix != "" {
		return rec.Reason(), fix
	}
	if len(packages) > 0 {
		return "it lacks the " + view.Either(len(packages) == 1, "package ", "packages ") + strings.Join(packages, ", "), "add it to the requirements of the agent's python block, or to its image"
	}
	lines := strings.Split(printed, "\n")
	cause, shown := view.Excerpt(lines[max(0, len(lines)-tailLines):])
	if cause == "" && len(shown) > 0 {
		cause = shown[len(shown)-1]
	}
	return cmp.Or(cause, "it failed"), "mleflow logs shows its output"
}

// tailLines is the number of lines in which the cause of a failure is sought.
const tailLines = 200

func judgeSubmission(rec *results.Attempt) (problem, fix string) {
	switch score := rec.Report.ExactScore; {
	case !rec.Report.SubmissionExists:
		return "it ended without a submission", "let it write submission.csv to the folder in SUBMISSION_DIR"
	case !rec.Graded:
		return "its submission was not graded", ""
	case !rec.Report.ValidSubmission:
		return "its submission is invalid: " + rec.Report.Reason, "compare it with the sample submission; the validity server says it while the agent runs"
	case score != nil && (math.IsNaN(float64(*score)) || math.IsInf(float64(*score), 0)):
		return "its score is not a finite number", "predictions that are all equal may have none"
	}
	return "", ""
}

// limit writes the time limit of an attempt.
func limit(rec *results.Attempt) string {
	if rec.TimeLimitSeconds == nil {
		return "its time limit"
	}
	return "its time limit of " + view.Roughly(time.Duration(*rec.TimeLimitSeconds*float64(time.Second)))
}

// The words of Python for a module that is not there.
var lackingModule = pattern.New(`ModuleNotFoundError: No module named '([\w.]+)'`)

// The words of pandas, other packages of Python and R for a package that is not there.
var lacking = []*pattern.Pattern{
	pattern.New(`ImportError: Missing optional dependency '([\w.-]+)'`),
	pattern.New(`ImportError: (?:Unable to find a usable engine; tried using: '|.*(?:requires|install) (?:the )?['"` + "`" + `])([\w.-]+)`),
	pattern.New(`there is no package called [‘']([\w.]+)[’']`),
}

// missingPackages returns the packages that a program asked for in vain, sorted.
func missingPackages(printed string) []string {
	names := []string{}
	for _, m := range lackingModule.Regexp().FindAllStringSubmatch(printed, -1) {
		names = append(names, Distribution(m[1]))
	}
	for _, words := range lacking {
		for _, m := range words.Regexp().FindAllStringSubmatch(printed, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// distributions are the packages of modules that have another name.
var distributions = map[string]string{
	"sklearn": "scikit-learn", "skimage": "scikit-image", "cv2": "opencv-python-headless", "PIL": "pillow", "yaml": "PyYAML", "bs4": "beautifulsoup4",
	"dateutil": "python-dateutil", "dotenv": "python-dotenv", "Bio": "biopython", "google.generativeai": "google-generativeai", "attr": "attrs",
	"sentence_transformers": "sentence-transformers", "pytorch_lightning": "pytorch-lightning", "imblearn": "imbalanced-learn", "hydra": "hydra-core",
	"category_encoders": "category-encoders", "pytorch_tabnet": "pytorch-tabnet", "tensorflow_hub": "tensorflow-hub", "mpl_toolkits": "matplotlib",
	"bson": "pymongo",
}

// Distribution returns the package that has a Python module.
func Distribution(module string) string {
	top, _, _ := strings.Cut(module, ".")
	return cmp.Or(distributions[module], distributions[top], top)
}

// logs is what an attempt left in its output "logs".
type logs struct {
	// printed is the end of the agent's output.
	printed string
	// opened says which data the agent opened; nil if that is not known.
	opened *agentrun.Opened
}

// maxLog is how much of the end of a log is read.
const maxLog = 1 << 20

// logs reads what an attempt left; nothing if the submission is not of an attempt.
func (q Request) logs(ctx context.Context, action string) (l logs, err error) {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return l, nil //nolint:nilerr // a submission of a file has no attempt
	}
	made, err := q.Run.Index.Lookup(ctx, id)
	if err != nil {
		return l, err
	}
	in := made.Outputs["logs"].Ref
	printed, err := end(ctx, q.Run.Store, in, agentrun.OutputLog)
	if err != nil {
		return l, err
	}
	l.printed = string(printed)
	opened, err := end(ctx, q.Run.Store, in, agentrun.OpenedFile)
	if err == nil && len(opened) > 0 {
		_ = json.Unmarshal(opened, &l.opened) // an agent may have written another file of that name
	}
	return l, err
}

// end returns the end of a file of a tree; nil if there is no such file.
func end(ctx context.Context, store cache.Store, in cache.Ref, name string) ([]byte, error) {
	e, err := tree.Find(ctx, store, in, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := store.Open(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, max(0, e.Size-maxLog)); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxLog))
}
