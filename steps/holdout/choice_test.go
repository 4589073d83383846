package holdout_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	definitions "github.com/mleflow/mleflow/competitions/shipped"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
	"github.com/mleflow/mleflow/steps/holdout"
	"github.com/mleflow/mleflow/steps/prepare"
	"github.com/mleflow/mleflow/steps/steptest"
)

// choiceVariable has the number of repetitions of TestChoice.
const choiceVariable = "MLEFLOW_CHOICE"

// candidates is the number of models that each agent chooses from.
const candidates = 8

// TestChoice measures how well two agents choose among the same eight kinds of models, on
// the rehearsals whose tables the built-in agent learns from. One has all training data and
// holds out rows by the competition's own preparation with a random state of its own; it
// trains each candidate once more on all of them. The other has the data without the
// held-out rows and asks for the score of each candidate. docs/validation.md has the figures.
func TestChoice(t *testing.T) {
	repetitions, _ := strconv.Atoi(os.Getenv(choiceVariable))
	if repetitions == 0 {
		t.Skip("set " + choiceVariable + " to the number of repetitions, such as 2")
	}
	cat := shipped(t)
	ids := goldentest.IDs(t)
	var all [3][][]float64 // each figure by competition
	for r := range repetitions {
		for i, id := range slices.Clone(ids) {
			figures := choose(t, cat, id, uint64(r))
			if figures == nil {
				ids[i] = ""
				continue
			}
			for f := range all {
				if all[f] == nil {
					all[f] = make([][]float64, len(ids))
				}
				all[f][i] = append(all[f][i], figures[f])
			}
			fmt.Printf("%s\t%d\t%.3f\t%.3f\t%.3f\n", id, r, figures[0], figures[1], figures[2])
		}
		for f, name := range []string{"gap of the own split", "gap of /score", "/score ahead"} {
			mean, low, high, n := interval(all[f])
			fmt.Printf("%s: %.3f (%.3f to %.3f), n = %d\n", name, mean, low, high, n)
		}
	}
}

// interval is the mean over competitions of their means, with a 95 % interval by a bootstrap
// over the n competitions that have figures.
func interval(by [][]float64) (mean, low, high float64, n int) {
	var list []float64
	for _, one := range by {
		sum := 0.0
		for _, v := range one {
			sum += v
		}
		if len(one) > 0 {
			list = append(list, sum/float64(len(one)))
		}
	}
	n = len(list)
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // seeded on purpose
	means := make([]float64, 10_000)
	for i := range means {
		for range list {
			means[i] += list[rng.IntN(n)] / float64(n)
		}
	}
	for _, v := range list {
		mean += v / float64(n)
	}
	slices.Sort(means)
	return mean, means[250], means[9750], n
}

// lab is the data of a competition: public files, and those of two splits.
type lab struct {
	t     *testing.T
	def   *competitions.Definition
	given parts
	own   parts
	asked parts
}

// parts are training data, inputs and the answers for them.
type parts struct{ train, inputs, private map[string]string }

// choose returns the gap of the agent with a split of its own, that of the agent that asks
// for scores, and how far ahead on the test the candidate that the latter chose is. A gap is
// how much worse the chosen candidate is on the test than the best one, as a part of the
// range of the agent's candidates; ahead is a part of the range of all.
func choose(t *testing.T, cat *competitions.Catalog, id string, seed uint64) []float64 {
	if id == "" {
		return nil
	}
	l := layOut(t, cat, id, seed)
	if l == nil {
		return nil
	}
	var tests, own [2][]float64 // of both agents: on the test, and on the held-out rows
	for i := range candidates {
		for a, s := range []struct{ train, held parts }{{l.given, l.own}, {l.asked, l.asked}} {
			score, ok := l.score(s.held.train, s.held.inputs, s.held.private, i, seed)
			test, fine := l.score(s.train.train, l.given.inputs, l.given.private, i, seed)
			if !ok || !fine {
				return nil
			}
			own[a], tests[a] = append(own[a], score), append(tests[a], test)
		}
	}
	var gaps, chosen [2]float64
	for a := range chosen {
		chosen[a] = tests[a][slices.Index(own[a], slices.Max(own[a]))]
		wide := slices.Max(tests[a]) - slices.Min(tests[a])
		if wide == 0 {
			l.skip("all candidates are the same on the test")
			return nil
		}
		gaps[a] = (slices.Max(tests[a]) - chosen[a]) / wide
	}
	all := slices.Concat(tests[0], tests[1])
	return []float64{gaps[0], gaps[1], (chosen[1] - chosen[0]) / (slices.Max(all) - slices.Min(all))}
}

// score trains a candidate and returns its score, of which more is better.
func (l *lab) score(train, inputs, private map[string]string, candidate int, seed uint64) (float64, bool) {
	dir := l.t.TempDir()
	defer os.RemoveAll(dir)
	sample := strings.TrimPrefix(l.def.Layout.Sample, "public/")
	answers := strings.TrimPrefix(l.def.Layout.Answers, "private/")
	rows, keep := 1.0, func(int) bool { return true }
	if candidate%2 == 1 {
		rows = 0.4
	}
	if part := candidate / 2; part == 1 || part == 2 {
		keep = func(column int) bool { return column%2 == part%2 }
	}
	test, err := csv.NewReader(strings.NewReader(inputs["test.csv"])).ReadAll()
	header, _, _ := strings.Cut(inputs[sample], "\n")
	if err != nil || len(test) < 2 || strings.Count(header, ",") > 20 { // of more columns, training takes minutes
		return 0, l.skip("test.csv has no rows, or the sample submission more than 20 columns")
	}
	dropped := map[string]bool{}
	for i, name := range test[0] {
		dropped[name] = i > 0 && len(test[0]) > 3 && !keep(i)
	}
	trained, err := csv.NewReader(strings.NewReader(train["train.csv"])).ReadAll()
	if err != nil || len(trained) < 20 {
		return 0, l.skip("train.csv has less than 20 rows")
	}
	trained = trained[:1+int(rows*float64(len(trained)-1))]
	for name, text := range map[string]string{"train.csv": without(trained, dropped), "test.csv": without(test, dropped), sample: inputs[sample], "answers.csv": private[answers]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return 0, l.skip("the sample submission is in a folder")
		}
	}
	baseline, err := agent.Find("baseline")
	if err != nil {
		l.t.Fatal(err)
	}
	var log bytes.Buffer
	if err := baseline.Solve(agent.Task{DataDir: dir, SubmissionDir: dir, CodeDir: dir, LogsDir: dir, Seed: 100*seed + uint64(candidate), Sample: sample, Log: &log}); err != nil || strings.Contains(log.String(), "no model") {
		return 0, l.skip(log.String())
	}
	report, err := grading.Grade(l.t.Context(), l.def, metric.All(), grading.Request{Submission: filepath.Join(dir, "submission.csv"), Answers: filepath.Join(dir, "answers.csv"), Created: time.Unix(0, 0)})
	score := report.FiniteScore()
	if err != nil || score == nil {
		return 0, l.skip("no score: " + report.Reason)
	}
	if l.def.Medals.LowerIsBetter {
		return -*score, true
	}
	return *score, true
}

// skip says why a competition has no figures.
func (l *lab) skip(why string) bool {
	fmt.Printf("%s: %s\n", l.def.ID, why)
	return false
}

// without writes a table without columns.
func without(table [][]string, dropped map[string]bool) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, row := range table {
		var kept []string
		for i, cell := range row {
			if !dropped[table[0][i]] {
				kept = append(kept, cell)
			}
		}
		_ = w.Write(kept)
	}
	w.Flush()
	return b.String()
}

var randomState = regexp.MustCompile(`(random_state|seed)(\s*=\s*)\d+`)

// layOut prepares a rehearsal and splits its public data twice: as for /score, and with
// another random state. It returns nil where there is no train.csv and test.csv.
func layOut(t *testing.T, cat *competitions.Catalog, id string, seed uint64) *lab {
	def, err := cat.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	src, err := fs.ReadFile(definitions.FS, id+"/competition.hcl")
	if err != nil {
		t.Fatal(err)
	}
	changed := randomState.ReplaceAllString(string(src), "${1}${2}"+strconv.FormatUint(1000+seed, 10))
	if changed == string(src) || !strings.HasPrefix(def.Layout.Sample, "public/") {
		fmt.Printf("%s: its split has no random state, or its sample submission is private\n", id)
		return nil
	}
	files := fstest.MapFS{}
	if err := fs.WalkDir(definitions.FS, id, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(definitions.FS, path)
		files[path] = &fstest.MapFile{Data: data}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	files[id+"/competition.hcl"] = &fstest.MapFile{Data: []byte(changed)}
	other, err := competitions.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := fs.ReadFile(def.Folder(), competitions.RehearsalName)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := archive.Unpack(t.Context(), archive.Source{ReaderAt: bytes.NewReader(packed), Size: int64(len(packed))}, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
		t.Fatal(err)
	}
	under := conditions.Data + "=" + conditions.Rehearsal
	b := steptest.New(prepare.Kind(prepare.Deps{Catalog: cat}))
	raw, err := tree.Import(t.Context(), b.Store, dir, tree.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := b.Run(t, map[string]cty.Value{"competition": cty.StringVal(id), "raw": steptest.Under(steptest.Artifact(raw), under)})
	if err != nil {
		t.Fatal(err)
	}
	public := b.Files(t, prepared["public"].Ref)
	if public["train.csv"] == "" || public["test.csv"] == "" {
		return nil
	}
	l := &lab{t: t, def: def.Rehearsed(), given: parts{public, public, b.Files(t, prepared["private"].Ref)}}
	for c, into := range map[*competitions.Catalog]*parts{cat: &l.asked, other: &l.own} {
		kind := holdout.Kind(c)
		b.Kind = &kind
		out, err := b.Run(t, map[string]cty.Value{"competition": cty.StringVal(id), "data": steptest.Under(steptest.Artifact(prepared["public"].Ref), under)})
		if err != nil {
			return nil
		}
		files := func(ref cache.Ref) map[string]string { return b.Files(t, ref) }
		*into = parts{files(out["public"].Ref), files(out["inputs"].Ref), files(out["private"].Ref)}
	}
	return l
}
