package grade

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/step"
)

// Spoilt describes the last scored snapshot of a submission that is not scored, such as
// one that was half-written at the time limit. It returns "" if there is none. The text
// is for people: the result remains that of the submission.
func Spoilt(how outcome.Submission, curve []grading.Moment) string {
	for _, p := range slices.Backward(curve) {
		if how != outcome.Scored && p.Score != nil {
			return fmt.Sprintf("the submission is %s, and the snapshot after %v would have scored %v, medal: %s; the result stays as it is",
				how, time.Duration(p.Seconds)*time.Second, *p.Score, p.Medal)
		}
	}
	return ""
}

// snapshotFile is the name of the submission in the folder of a snapshot.
const snapshotFile = "submission.csv"

// curve scores the snapshots. It scores equal ones once.
func (g *gradeStep) curve(ctx context.Context, env *step.Env, answers string) ([]grading.Moment, error) {
	points := []grading.Moment{}
	if g.args.Snapshots == nil {
		return points, nil
	}
	folders, err := tree.Read(ctx, env.Store, g.args.Snapshots.Ref)
	if err != nil {
		return nil, fmt.Errorf("grade %s: read snapshots: %w", g.def.ID, err)
	}
	known := map[cache.Ref]grading.Moment{}
	for i, folder := range folders {
		seconds, err := strconv.ParseInt(folder.Name, 10, 64)
		if err != nil || seconds < 0 || !folder.IsDir() {
			return nil, fmt.Errorf("grade %s: snapshots: %q is not a folder named after a number of seconds", g.def.ID, folder.Name)
		}
		env.Progress(step.Progress{What: "scoring snapshots", Done: int64(i), Total: int64(len(folders)), Unit: "files"})
		file, err := tree.Find(ctx, env.Store, folder.Ref(), snapshotFile)
		if err != nil {
			return nil, fmt.Errorf("grade %s: snapshot %s: %w", g.def.ID, folder.Name, err)
		}
		one, ok := known[file.Ref()]
		if !ok {
			if one, err = g.scoreSnapshot(ctx, env, file.Ref(), answers); err != nil {
				return nil, err
			}
			known[file.Ref()] = one
		}
		one.Seconds = seconds
		points = append(points, one)
	}
	return points, nil
}

func (g *gradeStep) scoreSnapshot(ctx context.Context, env *step.Env, ref cache.Ref, answers string) (grading.Moment, error) {
	dst := filepath.Join(env.WorkDir, "snapshot.csv")
	if err := os.RemoveAll(dst); err != nil {
		return grading.Moment{}, err
	}
	if _, err := tree.Materialise(ctx, env.Store, ref, dst, tree.Options{}); err != nil {
		return grading.Moment{}, fmt.Errorf("grade %s: place snapshot: %w", g.def.ID, err)
	}
	report, err := g.grader.Grade(ctx, g.def, grading.Request{
		Submission: dst, Name: snapshotFile, Answers: answers, Params: g.params, Created: time.Unix(0, 0).UTC(), Packages: g.packages(env),
	})
	if err != nil {
		return grading.Moment{}, err
	}
	return grading.Moment{Outcome: report.Outcome, Score: finite(report.ExactScore), Medal: report.Best()}, nil
}
