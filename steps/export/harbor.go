package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/harbor"
	"github.com/mleflow/mleflow/competitions/reward"
	"github.com/mleflow/mleflow/engine/step"
)

// checkTasks checks the arguments of harbor.
func (e *exporting) checkTasks() error {
	if len(e.args.Prepared) == 0 {
		return step.WrongArg("prepared", errors.New("harbor needs prepared, the data of competitions, such as { demo-digits = step.checksum.digits }"))
	}
	if e.args.Micro < 0 || e.args.Seed != 0 && e.args.Micro == 0 {
		return step.WrongArg("micro", errors.New("micro is how many test ids to draw, and seed draws others; without micro the task has all"))
	}
	for _, id := range slices.Sorted(maps.Keys(e.args.Prepared)) {
		p := e.args.Prepared[id]
		if p.Public == nil || p.Private == nil {
			return step.WrongArg("prepared", fmt.Errorf("%s has no public or private files", id))
		}
		def, err := conditions.Definition(e.deps.Catalog, id, "v1", p.Private.Conditions)
		if err == nil {
			_, err = reward.Check(step.Text(e.args.Reward), def)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hashTasks hashes what tasks have besides the data: the program, and the definitions that
// the program does not have.
func (e *exporting) hashTasks(h *digest.Hasher) error {
	program, err := e.deps.Program()
	if err != nil {
		return err
	}
	h.Content("program", program)
	for _, id := range slices.Sorted(maps.Keys(e.args.Prepared)) {
		def, err := e.deps.Catalog.Get(id)
		if err != nil {
			return err
		}
		if def.Dir() == "" {
			continue
		}
		for _, name := range def.Texts() {
			text, err := fs.ReadFile(def.Folder(), name)
			if err != nil {
				return fmt.Errorf("read definition: %w", err)
			}
			h.String("definition "+id+" "+name, string(text))
		}
	}
	return nil
}

// tasks writes the tasks. The data lie in a data directory meanwhile.
func (e *exporting) tasks(ctx context.Context, env *step.Env) (ref cache.Ref, err error) {
	work := new(progress.Work)
	defer env.Follow(work)()
	w := harbor.Writer{
		Data: filepath.Join(env.WorkDir, "data"), Dir: filepath.Join(env.WorkDir, "tasks"), Image: e.args.Image, Images: step.Text(e.args.Images),
		Reward: step.Text(e.args.Reward), Micro: e.args.Micro, Seed: e.args.Seed, Grader: e.deps.Grader, Work: work,
	}
	defer func() { err = errors.Join(err, w.Discard()) }()
	for _, id := range slices.Sorted(maps.Keys(e.args.Prepared)) {
		p := e.args.Prepared[id]
		def, err := conditions.Definition(e.deps.Catalog, id, "v1", p.Private.Conditions)
		if err != nil {
			return ref, err
		}
		dir := filepath.Join(w.Data, id)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "prepared"), 0o700), def.Mark(dir)); err != nil {
			return ref, err
		}
		for side, content := range map[string]*step.Artifact{"public": p.Public, "private": p.Private} {
			if _, err := tree.Materialise(ctx, env.Store, content.Ref, filepath.Join(dir, "prepared", side), tree.Options{}); err != nil {
				return ref, fmt.Errorf("place the data of %s: %w", id, err)
			}
		}
		t, err := w.Stage(ctx, def)
		if err != nil {
			return ref, err
		}
		if !t.Solution {
			env.Note("%s has no solution: no file of its data is a submission that earns the whole reward.", id)
		}
	}
	if err := w.Commit(); err != nil {
		return ref, err
	}
	return tree.Import(ctx, env.Store, w.Dir, tree.ImportOptions{})
}
