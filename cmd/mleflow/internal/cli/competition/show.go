package competition

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

func newCompetitionShow(a *app.App) *cobra.Command {
	var board bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a competition: task, metric, medals, parameters, known defects",
		Args:  app.Takes(1, 1),
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			def, err := a.Definition(args[0])
			if err != nil {
				return err
			}
			detail := toDetailJSON(def)
			if !board {
				return a.Show(detail, func() { showCompetition(a.Terminal, def) })
			}
			for _, score := range def.Medals.Scores {
				detail.Scores = append(detail.Scores, grading.Number(score))
			}
			return a.Show(detail, func() {
				fmt.Fprintln(a.Stdout, "score")
				for _, score := range def.Medals.Scores {
					fmt.Fprintln(a.Stdout, table.FormatFloat(score))
				}
			})
		}),
	}
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
