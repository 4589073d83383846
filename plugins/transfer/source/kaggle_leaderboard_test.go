package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// TestKaggleLeaderboard fetches leaderboards from the stand-in, page by page,
// with its faults.
func TestKaggleLeaderboard(t *testing.T) {
	public, private := make([]string, 450), make([]string, 450)
	for i := range private {
		public[i], private[i] = fmt.Sprintf("%.3f", 2-float64(i)/1000), fmt.Sprintf("%.5f", 1-float64(i)/1000)
	}
	private[449] = "" // a team without a score
	over, going := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	rows := func(page map[string]any) []any { return page["submissions"].([]any) }
	for _, tt := range []struct {
		name   string
		change func(*kaggletest.Competition)
		plan   kaggletest.Plan
		token  string
		public bool
		err    error
		text   string
	}{
		{name: "ended"},
		{name: "goes on", change: func(c *kaggletest.Competition) { c.Deadline = going }, public: true},
		{name: "busy", plan: kaggletest.Seeded(3, 0.3, kaggletest.Status, kaggletest.Drop)},
		{name: "only the top", change: func(c *kaggletest.Competition) { c.Top = 50 }, text: "50 rows, but Kaggle counts 450 teams"},
		{name: "some teams on none", change: func(c *kaggletest.Competition) { c.Teams = 460 }},
		{name: "empty", change: func(c *kaggletest.Competition) { c.Private = []string{} }, text: "no scores"},
		{name: "pages without end", change: func(c *kaggletest.Competition) {
			c.Spoil = func(page map[string]any) { page["nextPageToken"] = "MjAw" }
		}, text: "too many pages"},
		{name: "an empty page", change: func(c *kaggletest.Competition) {
			c.Spoil = func(page map[string]any) { page["submissions"] = []any{} }
		}, text: "too many pages"},
		{name: "no number", change: func(c *kaggletest.Competition) {
			c.Spoil = func(page map[string]any) { rows(page)[3].(map[string]any)["score"] = "NaN" }
		}, text: `place 4 is "NaN"`},
		{name: "words", change: func(c *kaggletest.Competition) {
			c.Spoil = func(page map[string]any) { rows(page)[0].(map[string]any)["score"] = "first" }
		}, text: `place 1 is "first"`},
		{name: "missing", change: func(c *kaggletest.Competition) { c.Slug = "other" }, err: ErrGone},
		{name: "wrong credential", token: "wr0ng", err: ErrCredential, text: "Generate New Token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := kaggletest.New(tt.plan)
			defer srv.Close()
			c := kaggletest.Competition{Slug: "toy", Public: public, Private: private, Deadline: over}
			if tt.change != nil {
				tt.change(&c)
			}
			srv.Add(c)
			k := scaledKaggle(srv, 1)
			if tt.token != "" {
				env := k.env
				k.env = func(name string) string {
					if name == "KAGGLE_API_TOKEN" {
						return tt.token
					}
					return env(name)
				}
			}
			got, err := k.Leaderboard(t.Context(), "toy")
			if tt.text != "" || tt.err != nil {
				if err == nil || !strings.Contains(err.Error(), tt.text) || tt.err != nil && !errors.Is(err, tt.err) {
					t.Fatalf("got %v, want %v with %q", err, tt.err, tt.text)
				}
				if strings.Contains(err.Error(), kaggletest.Token) || tt.token != "" && strings.Contains(err.Error(), tt.token) {
					t.Errorf("the error shows the credential: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want, unscored := private[:449], 1
			if tt.public {
				want, unscored = public, 0
			}
			var texts []string
			for _, s := range got.Scores {
				texts = append(texts, fmt.Sprintf("%.*f", len(want[0])-2, s))
			}
			if !slices.Equal(texts, want) || got.Unscored != unscored || got.Private(time.Now()) == tt.public {
				t.Errorf("%d scores from %v on, %d without, private %v", len(texts), texts[0], got.Unscored, got.Private(time.Now()))
			}
		})
	}
}
