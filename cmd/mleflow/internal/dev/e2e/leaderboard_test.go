package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// TestLockLeaderboard compares a pinned leaderboard with the one that Kaggle
// has, which is taken only when told to.
func TestLockLeaderboard(t *testing.T) {
	const id = "spaceship-titanic"
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, id), os.DirFS("../../../../../competitions/shipped/"+id)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, id, "leaderboard.txt")
	pinned := read(t, file)
	scores := shippedScores(t, id)

	kaggle := func(scores []string, deadline time.Time) *place {
		srv := kaggletest.New(nil)
		t.Cleanup(srv.Close)
		srv.Add(kaggletest.Competition{Slug: id, Public: scores, Private: scores, Deadline: deadline})
		return &place{t: t, cache: filepath.Join(t.TempDir(), "cache"),
			env: []string{"KAGGLE_API_ENDPOINT=" + srv.Endpoint, "KAGGLE_API_TOKEN=" + kaggletest.Token}}
	}
	over := time.Now().AddDate(-1, 0, 0)
	lock := func(p *place, code int, flags ...string) string {
		t.Helper()
		out, errs, got := p.run(append([]string{"competition", "lock", id, "--leaderboard", "--dir", dir}, flags...)...)
		if got != code {
			t.Fatalf("exit status %d, want %d\n%s%s", got, code, out, errs)
		}
		if strings.Contains(out+errs, kaggletest.Token) {
			t.Errorf("the credential is shown:\n%s%s", out, errs)
		}
		return out + errs
	}
	expect := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
	}

	expect(lock(kaggle(scores, over), 0), "unchanged (the private leaderboard)")

	better := append([]string{"0.999", "0.998"}, scores...)
	better = better[:len(better)-1]
	changed := kaggle(better, over)
	expect(lock(changed, 3), "scores added: 2, removed: 1", "the first is 1", "gold", "--accept takes Kaggle's")
	if read(t, file) != pinned {
		t.Fatal("the leaderboard was written without --accept")
	}
	expect(lock(changed, 3, "--json"), `"scores_added": 2`, `"thresholds_before": {`, `"written": false`, `"private": true`)

	goesOn := kaggle(better, time.Now().AddDate(1, 0, 0))
	expect(lock(goesOn, 3), "the public leaderboard, since it ends on")
	expect(lock(goesOn, 3, "--accept"), "MLE-bench uses the private one. Nothing was written")
	if read(t, file) != pinned {
		t.Fatal("a public leaderboard was taken")
	}
	reversed := make([]string, len(scores))
	for i, s := range scores {
		reversed[len(scores)-1-i] = s
	}
	expect(lock(kaggle(reversed, over), 1, "--accept"), "opposite order")

	expect(lock(changed, 0, "--accept"), "wrote "+file)
	if got := strings.Split(read(t, file), "\n"); got[0] != "0.999" || got[1] != "0.998" {
		t.Errorf("the file begins with %q", got[:3])
	}
	expect(lock(changed, 0), "unchanged")

	p := &place{t: t, cache: changed.cache, env: changed.env}
	for _, args := range [][]string{{"--accept"}, {"--leaderboard", "--accept", "--check"}, {"--leaderboard", "--from-run", "latest"}} {
		if out, errs, code := p.run(append([]string{"competition", "lock", id, "--dir", dir}, args...)...); code != 2 {
			t.Errorf("%q: exit status %d\n%s%s", args, code, out, errs)
		}
	}
	none := &place{t: t, cache: changed.cache, env: []string{"KAGGLE_API_TOKEN=", "KAGGLE_USERNAME=", "KAGGLE_CONFIG_DIR=", "HOME=" + t.TempDir()}}
	expect(lock(none, 1), "Generate New Token")
}

// shippedScores are the scores of a leaderboard as Kaggle would send them.
func shippedScores(t *testing.T, id string) []string {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, s := range def.Medals.Scores {
		texts = append(texts, strconv.FormatFloat(s, 'f', -1, 64))
	}
	if len(texts) < 500 {
		t.Fatal(fmt.Sprint(len(texts), " teams are too few for several pages"))
	}
	return texts
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
