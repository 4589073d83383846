package competition

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

func newCompetitionShow(a *app.App) *cobra.Command {
	var board bool
	cmd := a.Command("show ID", "Show a competition: task, metric, medals, parameters, known defects", app.Takes(1, 1),
		func(_ *cobra.Command, args []string) error {
			def, err := a.Definition(args[0])
			if err != nil {
				return err
			}
			detail := toDetailJSON(def)
			if !board {
				return a.Show(detail, func() { showCompetition(a.Terminal, def) })
			}
			detail.Scores = lists.Of(def.Medals.Scores, func(score float64) grading.Number { return grading.Number(score) })
			return a.Show(detail, func() {
				fmt.Fprintln(a.Stdout, "score")
				for _, score := range def.Medals.Scores {
					fmt.Fprintln(a.Stdout, table.FormatFloat(score))
				}
			})
		})
	cmd.Flags().BoolVar(&board, "leaderboard", false, "write the human leaderboard's scores in rank order, as CSV; with --json add them")
	return cmd
}

// FilesJSON are the paths of a competition's files below the prepared folder.
type FilesJSON struct {
	Answers string `json:"answers"`
	Gold    string `json:"gold"`
	Sample  string `json:"sample"`
}

// DetailJSON is the form of competition show --json.
type DetailJSON struct {
	CompetitionJSON
	Description string                    `json:"description"`
	Thresholds  map[string]grading.Cutoff `json:"thresholds"`
	Teams       int                       `json:"teams"`
	SampleScore *float64                  `json:"sample_score,omitempty"`
	Pinned      map[string]string         `json:"pins"`
	Errata      map[string][]string       `json:"errata,omitempty"`
	Crowd       *competitions.Crowd       `json:"crowd,omitempty"`
	// Kind is simple, or code for a code competition on Kaggle.
	Kind  string    `json:"type"`
	Files FilesJSON `json:"files"`
	// DownloadMD5 pins the archive of the raw data.
	DownloadMD5 string           `json:"download_md5,omitempty"`
	Scores      []grading.Number `json:"scores,omitempty"`
}

func toDetailJSON(d *competitions.Definition) DetailJSON {
	t := d.Medals.Thresholds
	out := DetailJSON{CompetitionJSON: toCompetitionJSON(d), Description: d.Description, Teams: len(d.Medals.Scores),
		SampleScore: d.Facts.SampleScore, Pinned: d.Checksums.Pinned(),
		Kind: d.Facts.Kind, Files: FilesJSON{Answers: d.Layout.Answers, Gold: d.Layout.Gold, Sample: d.Layout.Sample},
		Thresholds: map[string]grading.Cutoff{"gold": grading.Cutoff(t.Gold), "silver": grading.Cutoff(t.Silver), "bronze": grading.Cutoff(t.Bronze), "median": grading.Cutoff(t.Median)}}
	if out.Teams > 0 {
		crowd := d.Medals.Crowd()
		out.Crowd = &crowd
	}
	if main, ok := d.Download(); ok {
		out.DownloadMD5 = main.MD5
	}
	for _, e := range d.Errata {
		if out.Errata == nil {
			out.Errata = map[string][]string{}
		}
		out.Errata[e.Version] = append(out.Errata[e.Version], e.Reason+" ("+e.Reference+")")
	}
	return out
}

func showCompetition(term *app.Terminal, d *competitions.Definition) {
	style := term.OutStyle()
	fmt.Fprintf(term.Stdout, "%s (%s)\n\n%s\n\n", style.Bold(view.OneLine(d.Title)), d.ID, strings.TrimSpace(view.Text(d.Description)))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(term.Stdout, "%-12s %s\n", name, view.OneLine(value))
		}
	}
	row("category", d.Category)
	row("complexity", string(d.Complexity))
	row("metric", fmt.Sprintf("%s, %s is better", d.Facts.MetricName, competitions.Direction(d.Medals.LowerIsBetter)))
	row("download", sizeText(d.Facts.SizeGB))
	t, published := d.Medals.Thresholds, d.Medals.Published
	row("medals", fmt.Sprintf("gold %s, silver %s, bronze %s; median %s of %s", published(t.Gold), published(t.Silver), published(t.Bronze), published(t.Median), view.Plural(len(d.Medals.Scores), "team")))
	row("crowd", d.Medals.Crowd().String())
	if d.Facts.SampleScore != nil {
		row("sample", fmt.Sprintf("the sample submission scores %s on the full data", view.Score(*d.Facts.SampleScore)))
	}
	row("pins", view.Plural(len(d.Checksums.Pinned()), "file"))
	for _, p := range d.Params {
		row("parameter", fmt.Sprintf("%s: %s", p.Name, view.OneLine(p.Description)))
	}
	if d.Dir() != "" {
		row("definition", d.FilePath())
	}
	for _, e := range d.Errata {
		row("defect", fmt.Sprintf("%s (%s; %s)", view.OneLine(e.Reason), e.Version, view.OneLine(e.Reference)))
	}
	for _, p := range d.PublicLabels {
		row("public", fmt.Sprintf("%s has %s. %s %s (evidence: %s)", p.Name, p.Extent(), p.Note, p.URL, p.Reference))
	}
	for _, s := range d.Sources {
		row("source", sourceText(s, d.Dir() != ""))
	}
}

func sourceText(s competitions.Source, own bool) string {
	switch {
	case s.Kind == "kaggle":
		return "https://www.kaggle.com/competitions/" + s.Slug
	case s.URL != "":
		return s.URL
	case s.Path == "":
		return s.Kind + ": " + s.Slug
	case own:
		return "next to the definition: " + s.Path
	}
	return "shipped with this program: " + s.Path
}

func newCompetitionList(a *app.App) *cobra.Command {
	var set app.SetFlags
	var category string
	cmd := a.Command("list", "List the competitions", app.Takes(0, 0), func(*cobra.Command, []string) error {
		catalog, err := a.Catalog()
		if err != nil {
			return err
		}
		filter := competitions.Filter{Category: category}
		if set.Given() {
			if filter.IDs, err = set.Ids(catalog); err != nil {
				return app.Wrong(err)
			}
		}
		defs, err := catalog.List(filter)
		if err != nil {
			return err
		}
		return showCompetitions(a.Terminal, defs)
	}, &set)
	cmd.Flags().StringVar(&category, "category", "", "only this `CATEGORY`, such as image-classification")
	return cmd
}

// CompetitionJSON is one competition in competition list --json.
type CompetitionJSON struct {
	ID            string                  `json:"id"`
	Title         string                  `json:"title"`
	Category      string                  `json:"category"`
	Complexity    competitions.Complexity `json:"complexity"`
	Metric        string                  `json:"metric"`
	LowerIsBetter bool                    `json:"is_lower_better"`
	SizeGB        float64                 `json:"size_gb,omitempty"`
	Versions      []string                `json:"versions"`
	Params        []string                `json:"params"`
	// PublicLabels are the collections that have labels of hidden rows.
	PublicLabels []competitions.PublicLabels `json:"public_labels,omitempty"`
}

func toCompetitionJSON(d *competitions.Definition) CompetitionJSON {
	return CompetitionJSON{ID: d.ID, Title: d.Title, Category: d.Category, Complexity: d.Complexity, Metric: d.Facts.MetricName,
		LowerIsBetter: d.Medals.LowerIsBetter, SizeGB: d.Facts.SizeGB, Versions: d.Versions(), Params: d.ParamNames(), PublicLabels: d.PublicLabels}
}

func showCompetitions(term *app.Terminal, defs []*competitions.Definition) error {
	t := view.NewTable("Competition", "Complexity", "Category", "Metric", ">Size")
	for _, d := range defs {
		t.Row(d.ID, string(d.Complexity), d.Category, d.Facts.MetricName, sizeText(d.Facts.SizeGB))
	}
	return term.Show(map[string]any{"competitions": lists.Of(defs, toCompetitionJSON)}, func() {
		term.Table(t)
		fmt.Fprintf(term.Stdout, "\n%s.\n", view.Plural(len(defs), "competition"))
	})
}

// sizeText writes a size in units of 10⁹ bytes; "" when it is not known.
func sizeText(gb float64) string {
	switch {
	case gb == 0:
		return ""
	case gb < 0.1:
		return fmt.Sprintf("%.1f MB", gb*1000)
	default:
		return fmt.Sprintf("%.1f GB", gb)
	}
}

// NewCompetition returns the command competition.
func NewCompetition(a *app.App) *cobra.Command {
	return app.Group(a, "competition", "Show, write and check competitions: list, show, rank, new, import, lint, test, lock, rehearsal", newCompetitionList(a), newCompetitionShow(a), newCompetitionRank(a), newCompetitionNew(a), newCompetitionImport(a), newCompetitionLint(a), newCompetitionTest(a), newCompetitionLock(a), newCompetitionRehearsal(a))
}

// RankJSON is the form of competition rank --json.
type RankJSON struct {
	grading.Thresholds
	grading.Medals
	LowerIsBetter bool `json:"is_lower_better"`
	Rank          int  `json:"rank"`
	Teams         int  `json:"teams"`
}

func newCompetitionRank(a *app.App) *cobra.Command {
	return a.Command("rank SCORE LEADERBOARD.csv", "Compare a score with a leaderboard file", app.Takes(2, 2),
		func(_ *cobra.Command, args []string) error {
			score, err := strconv.ParseFloat(args[0], 64)
			if err != nil {
				return app.Usagef("%q is not a score; write a number, inf or nan", args[0])
			}
			medals, err := readBoard(args[1])
			if err != nil {
				return app.Wrong(err)
			}
			s := medals.Rank(score)
			ranked := RankJSON{grading.ThresholdsOf(medals.Thresholds), grading.MedalsOf(s), medals.LowerIsBetter, s.Rank, len(medals.Scores)}
			return a.Show(ranked, func() {
				fmt.Fprintf(a.Stdout, "%s: %s medal, place %d of %d teams\n", args[0], ranked.Best(), ranked.Rank, ranked.Teams)
			})
		})
}

// readBoard reads the column score of a CSV file.
func readBoard(path string) (competitions.Medals, error) {
	t, err := table.ReadCSVFile(path, table.ReadOptions{})
	if err != nil {
		return competitions.Medals{}, fmt.Errorf("read leaderboard: %w", err)
	}
	column, err := t.Column("score")
	if err != nil {
		return competitions.Medals{}, fmt.Errorf("read leaderboard %s: %w", path, err)
	}
	if kind := column.Kind(); column.Len() > 0 && (kind != table.Int64 && kind != table.Float64 || column.MissingCount() > 0) {
		return competitions.Medals{}, fmt.Errorf("read leaderboard %s: column score has values that are not numbers", path)
	}
	return competitions.NewMedals(column.Floats())
}
