package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

func TestKaggleInspect(t *testing.T) {
	many := make([]kaggletest.File, 450)
	for i := range many {
		many[i] = kaggletest.File{Name: fmt.Sprintf("%d.csv", i), Bytes: 10}
	}
	for _, tt := range []struct {
		name   string
		change func(*kaggletest.Competition)
		token  string
		plan   kaggletest.Plan
		want   Availability
		err    error
		text   string
	}{
		{name: "there", want: Availability{Bytes: 5000, Files: 450, Unpacked: 4500}},
		{name: "no summary", change: func(c *kaggletest.Competition) { c.NoSummary = true }, want: Availability{Bytes: 5000, Files: 450, Unpacked: 4500}},
		{name: "rules", change: func(c *kaggletest.Competition) { c.Rules = kaggletest.NotAccepted }, err: ErrRules, text: "https://www.kaggle.com/competitions/toy/rules"},
		{name: "withdrawn", change: func(c *kaggletest.Competition) { c.Withdrawn = true }, err: ErrGone, text: "withdrawn"},
		{name: "missing", change: func(c *kaggletest.Competition) { c.Slug = "other" }, err: ErrGone, text: "withdrawn"},
		{name: "wrong credential", token: "wr0ng", err: ErrCredential, text: "Generate New Token"},
		{name: "no credential", token: "-", err: ErrCredential, text: "~/.kaggle/access_token"},
		{name: "busy once", plan: kaggletest.Seeded(1, 0.3, kaggletest.Status, kaggletest.Drop), want: Availability{Bytes: 5000, Files: 450, Unpacked: 4500}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := kaggletest.New(tt.plan)
			defer srv.Close()
			c := kaggletest.Competition{Slug: "toy", Title: "Toy", Files: many, Archive: kaggletest.NewObject(1, 5000)}
			if tt.change != nil {
				tt.change(&c)
			}
			srv.Add(c)
			k := scaledKaggle(srv, 2)
			token := map[string]string{"": kaggletest.Token, "-": ""}
			k.env = func(name string) string {
				switch name {
				case "KAGGLE_API_ENDPOINT":
					return srv.Endpoint
				case "KAGGLE_API_TOKEN":
					if value, ok := token[tt.token]; ok {
						return value
					}
					return tt.token
				}
				return ""
			}
			got, err := k.Inspect(t.Context(), Spec{Slug: "toy"})
			if !errors.Is(err, tt.err) || (err != nil) != (tt.err != nil) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("the error %q lacks %q", err, tt.text)
			}
		})
	}
}

// TestKagglePage reads what a page says of a competition.
func TestKagglePage(t *testing.T) {
	srv := kaggletest.New(nil)
	defer srv.Close()
	srv.Add(kaggletest.Competition{Slug: "toy", Title: "Toy", Metric: "Root Mean Squared Error"})
	title, metric, err := scaledKaggle(srv, 1).Page(t.Context(), "toy")
	if title != "Toy" || metric != "Root Mean Squared Error" || err != nil {
		t.Errorf("got %q, %q, %v", title, metric, err)
	}
	if _, _, err := scaledKaggle(srv, 1).Page(t.Context(), "none"); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "ask Kaggle about none") {
		t.Errorf("got %v", err)
	}
}

// TestKaggleInspectBusy hands on for how long Kaggle wants to be left alone.
func TestKaggleInspectBusy(t *testing.T) {
	srv := toyServer(t, 10, func(kaggletest.Call) kaggletest.Fault {
		return kaggletest.Fault{Kind: kaggletest.Status, Code: 429, After: 90 * time.Second}
	})
	_, err := scaledKaggle(srv, 1).Inspect(t.Context(), Spec{Slug: "toy"})
	var passing *TemporaryError
	if !errors.As(err, &passing) || passing.After != 90*time.Second {
		t.Errorf("got %v, want an error that passes after 90s", err)
	}
}

func TestKaggleEndpoint(t *testing.T) {
	for endpoint, want := range map[string]string{
		"": "https://www.kaggle.com/api/v1", "http://localhost:7777/": "http://localhost:7777/api/v1", "https://mirror.example": "https://mirror.example/api/v1",
	} {
		if got, err := kaggleAPI(endpoint); err != nil || got != want {
			t.Errorf("%q: %q, %v", endpoint, got, err)
		}
	}
	for _, bad := range []string{"http://mirror.example", "mirror.example", "ftp://localhost", "://"} {
		if got, err := kaggleAPI(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}
