package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

var outsideData = Rule{
	Name:   "outside-data",
	Doc:    "Code that reads absolute paths outside the attempt's folders and the system's.",
	Honest: "Weights of the image; a path of another machine with a fallback.",
	begin: func(c *ruleCheck) visitor {
		return visitor{source: func(s *pysource.Source, tokens []pysource.Token) {
			for i, t := range tokens {
				if !slices.Contains(readers, t.Text) || !isCall(tokens, i) || i+2 >= len(tokens) {
					continue
				}
				if file := tokens[i+2].Value(); isOutside(file) && !(i+4 < len(tokens) && tokens[i+3].Text == "," && strings.HasPrefix(tokens[i+4].Value(), "w")) {
					c.note(at(s, t.Line), s.Excerpt(t.Line, t.Line, 1), "It reads %q, which is in none of the attempt's folders.", clip(file))
				}
			}
		}}
	},
}

// readers are functions whose first argument is a file that is read.
var readers = []string{
	"open", "read_csv", "read_parquet", "read_feather", "read_pickle", "read_json", "read_excel", "read_table", "read_hdf", "scan_csv", "scan_parquet",
	"loadtxt", "genfromtxt", "fromfile", "imread", "ZipFile", "from_pretrained", "load_model", "load_weights",
}

// inside are the folders that an attempt may read.
var inside = []string{
	"/home/data", "/home/submission", "/home/code", "/home/logs", "/home/agent", "/home/instructions.txt", "/home/mleflow.txt", "/tmp", "/var/tmp",
	"/dev", "/sys", "/usr", "/opt", "/etc/os-release", "/etc/hostname", "/proc/cpuinfo", "/proc/meminfo", "/proc/self", "/kaggle", "/content", "/mnt/data", "/workspace",
}

func isOutside(file string) bool {
	if strings.HasPrefix(file, "~") {
		return true
	}
	if !strings.HasPrefix(file, "/") || strings.ContainsAny(file, "\n{%*") {
		return false
	}
	file = path.Clean(file)
	return !slices.ContainsFunc(inside, func(folder string) bool { return file == folder || strings.HasPrefix(file, folder+"/") })
}
