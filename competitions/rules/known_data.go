package rules

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

var knownData = Rule{
	Name:   "known-data",
	Doc:    "Code or commands that get data from Kaggle or other public collections, which may have labelled test rows; connections to Kaggle.",
	Honest: "Pretrained weights; a command that failed without network.",
	begin: func(c *check) visitor {
		const name = "known-data"
		hosts := map[string]bool{}
		return visitor{
			source: func(s *pysource.Source, tokens []pysource.Token) {
				for i, t := range tokens {
					call := isCall(tokens, i)
					switch {
					case call && slices.Contains(kaggleCalls, t.Text):
						c.warn(name, at(s, t.Line), s.Excerpt(t.Line, t.Line, 1), "It gets data from Kaggle.")
					case call && slices.Contains(publicCalls, t.Text):
						c.note(name, at(s, t.Line), s.Excerpt(t.Line, t.Line, 1), "It gets a public data set.")
					}
				}
			},
			text: func(p place, text string) {
				switch {
				case kaggleData.Regexp().MatchString(text):
					c.warn(name, p, text, "It gets data from Kaggle.")
				case publicData.Regexp().MatchString(text):
					c.note(name, p, text, "It gets a public data set.")
				}
			},
			conn: func(p place, n proxy.Conn) {
				host := strings.ToLower(strings.TrimSuffix(n.Host, "."))
				if hosts[host] || host != "kaggle.com" && !strings.HasSuffix(host, ".kaggle.com") && !strings.HasSuffix(host, ".kaggle.io") {
					return
				}
				hosts[host] = true
				find := c.note
				if n.Verdict == proxy.Allowed {
					find = c.warn
				}
				find(name, p, host, "The agent connected to Kaggle: %s.", n.Verdict)
			},
		}
	},
}

// kaggleCalls are functions of kagglehub and of Kaggle's API, publicCalls those of
// packages that get other collections.
var (
	kaggleCalls = []string{"competition_download", "dataset_download", "notebook_output_download", "competition_download_files", "competition_download_file", "dataset_download_files"}
	publicCalls = []string{"fetch_openml", "load_dataset", "fetch_20newsgroups", "fetch_california_housing", "fetch_covtype", "fetch_kddcup99"}
)

var (
	kaggleData = pattern.New(`\bkaggle\s+(competitions|datasets|kernels)\s+(download|output|pull)\b|kaggle\.com/(api/v1/)?(competitions|datasets|c)/`)
	publicData = pattern.New(`\b(openml\.org/|archive\.ics\.uci\.edu/|zenodo\.org/record|data\.world/)|huggingface\.co/datasets/`)
)
