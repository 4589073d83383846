package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

var knownData = Rule{
	Name:   "known-data",
	Doc:    "Code or commands that get data from Kaggle or other public collections, which may have labelled test rows; connections to Kaggle.",
	Honest: "Pretrained weights; a command that failed without network.",
	begin: func(c *ruleCheck) visitor {
		hosts := map[string]bool{}
		report := func(p location, excerpt func() string, text, command string, kaggle, public bool) {
			labels, ok := labelled(c.Public, text)
			switch {
			case ok:
				c.warn(p, excerpt(), "It names %s, which has %s.", labels.Name, labels.Extent())
			case kaggle || kaggleData.Regexp().MatchString(command):
				c.warn(p, excerpt(), "It gets data from Kaggle.")
			case public || publicData.Regexp().MatchString(command):
				c.note(p, excerpt(), "It gets a public data set.")
			}
		}
		return visitor{
			source: func(s *pysource.Source, tokens []pysource.Token) {
				packages, names := packagesOf(tokens)
				for i, t := range tokens {
					excerpt := func() string { return s.Excerpt(t.Line, t.Line, 1) }
					if !isCall(tokens, i) {
						report(at(s, t.Line), excerpt, t.Value(), command(tokens, i), false, false)
						continue
					}
					called := lastOf(cmp.Or(names[t.Text], t.Text))
					report(at(s, t.Line), excerpt, called, command(tokens, i), slices.Contains(kaggleCalls, called), getsPublic(packages, names, tokens, i))
				}
			},
			text: func(p location, text string) { report(p, func() string { return text }, text, text, false, false) },
			conn: func(p location, n proxy.Conn) {
				host := strings.ToLower(strings.TrimSuffix(n.Host, "."))
				if hosts[host] || host != "kaggle.com" && !strings.HasSuffix(host, ".kaggle.com") && !strings.HasSuffix(host, ".kaggle.io") {
					return
				}
				hosts[host] = true
				find := c.note
				if n.Verdict == proxy.Allowed {
					find = c.warn
				}
				find(p, host, "The agent connected to Kaggle: %s.", n.Verdict)
			},
		}
	},
}

// kaggleCalls are functions of kagglehub and of Kaggle's API.
var kaggleCalls = []string{"competition_download", "dataset_download", "dataset_load", "notebook_output_download", "competition_download_files", "competition_download_file", "dataset_download_files", "dataset_download_file"}

// publicCalls are the calls of packages that get public collections, by the package, which
// the source must import.
var publicCalls = map[string][]string{
	"sklearn": {
		"fetch_openml", "fetch_20newsgroups", "fetch_20newsgroups_vectorized", "fetch_california_housing", "fetch_covtype", "fetch_kddcup99", "fetch_lfw_pairs",
		"fetch_lfw_people", "fetch_olivetti_faces", "fetch_rcv1", "fetch_species_distributions", "load_breast_cancer", "load_diabetes", "load_digits", "load_iris", "load_wine",
	},
	"openml":      {"get_dataset", "get_datasets", "get_task", "get_tasks"},
	"ucimlrepo":   {"fetch_ucirepo"},
	"pmlb":        {"fetch_data"},
	"datasets":    {"load_dataset", "load_dataset_builder"},
	"seaborn":     {"load_dataset"},
	"statsmodels": {"get_rdataset"},
	"fiftyone":    {"load_zoo_dataset", "download_zoo_dataset"},
	"torchvision": {
		"CIFAR10", "CIFAR100", "Caltech101", "Caltech256", "CelebA", "CocoCaptions", "CocoDetection", "DTD", "EMNIST", "EuroSAT", "FGVCAircraft", "FashionMNIST",
		"Flowers102", "Food101", "GTSRB", "INaturalist", "ImageNet", "KMNIST", "MNIST", "OxfordIIITPet", "PCAM", "Places365", "QMNIST", "STL10", "SUN397", "SVHN",
		"StanfordCars", "USPS", "VOCDetection", "VOCSegmentation",
	},
	"torchaudio": {"CMUARCTIC", "FluentSpeechCommands", "GTZAN", "LIBRISPEECH", "LIBRITTS", "LJSPEECH", "LibriMix", "MUSDB_HQ", "SPEECHCOMMANDS", "TEDLIUM", "VCTK_092", "VoxCeleb1Identification", "YESNO"},
	"torchtext":  {"AG_NEWS", "AmazonReviewFull", "AmazonReviewPolarity", "CoLA", "DBpedia", "IMDB", "SQuAD1", "SQuAD2", "SST2", "SogouNews", "YahooAnswers", "YelpReviewFull"},
}

// kerasSets are the modules of Keras whose load_data gets a collection.
var kerasSets = []string{"boston_housing", "california_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"}

// localFormats are the names with which load_dataset reads files of one's own.
var localFormats = []string{"arrow", "audiofolder", "csv", "imagefolder", "json", "pandas", "parquet", "text", "videofolder", "webdataset"}

// packagesOf returns the packages that a source imports, and the full names of its imported
// names.
func packagesOf(tokens []pysource.Token) (packages map[string]bool, names map[string]string) {
	packages, names = map[string]bool{}, map[string]string{}
	for _, one := range imports(tokens) {
		name, _, _ := strings.Cut(one.module, ".")
		packages[name] = true
		if names[one.local] = one.module; one.name != "" {
			names[one.local] += "." + one.name
		}
	}
	return packages, names
}

func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// labelled returns the collection that a text names by its address or as a loader does.
func labelled(list []competitions.PublicLabels, text string) (found competitions.PublicLabels, ok bool) {
	lower := strings.ToLower(text)
	for _, p := range list {
		if strings.Contains(lower, p.Address()) || slices.ContainsFunc(p.Loaders, func(name string) bool {
			return text == name || len(name) > 8 && strings.Contains(text, name)
		}) {
			return p, true
		}
	}
	return found, false
}

// command joins the strings from token i on, if it is the first of a list, as in
// subprocess.run(["kaggle", "datasets", "download"]).
func command(tokens []pysource.Token, i int) string {
	if tokens[i].Kind != pysource.String || i == 0 || tokens[i-1].Text != "[" && tokens[i-1].Text != "(" {
		return ""
	}
	words, first := tokens[i].Value(), i
	for i += 2; i < len(tokens) && tokens[i-1].Text == "," && tokens[i].Kind == pysource.String && len(words) < mostExcerpt; i += 2 {
		words += " " + tokens[i].Value()
	}
	if i == first+2 {
		return "" // of one string, text is called
	}
	return words
}

// getsPublic reports whether the call at token i gets a public collection.
func getsPublic(packages map[string]bool, names map[string]string, tokens []pysource.Token, i int) bool {
	full := cmp.Or(names[tokens[i].Text], tokens[i].Text)
	name, of := lastOf(full), strings.TrimSuffix(full, "."+lastOf(full))
	if i > 0 && tokens[i-1].Text == "class" {
		return false
	}
	if i > 1 && tokens[i-1].Text == "." {
		name, of = tokens[i].Text, cmp.Or(names[tokens[i-2].Text], tokens[i-2].Text)
	}
	switch name {
	case "load_data":
		return slices.Contains(kerasSets, lastOf(of))
	case "load", "builder", "data_source":
		return of == "tfds" || of == "tensorflow_datasets"
	}
	if packages["huggingface_hub"] && (name == "hf_hub_download" || name == "snapshot_download") {
		return hasArgument(tokens, i, "repo_type", "dataset")
	}
	for of, calls := range publicCalls {
		if packages[of] && slices.Contains(calls, name) {
			return of != "datasets" || i+2 >= len(tokens) || !slices.Contains(localFormats, tokens[i+2].Value())
		}
	}
	return false
}

// hasArgument reports whether the call at token i has an argument of a name with a literal
// value.
func hasArgument(tokens []pysource.Token, i int, name, value string) bool {
	depth := 0
	for i++; i+2 < len(tokens); i++ {
		switch tokens[i].Text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return false
			}
		case name:
			if depth == 1 && tokens[i+1].Text == "=" && tokens[i+2].Value() == value {
				return true
			}
		}
	}
	return false
}

var (
	kaggleData = pattern.New(`\bkaggle\s+(competitions|datasets|kernels|c|d|k)\s+(download|output|pull)\b|kaggle\.com/api/v[0-9]/|kaggle\.com/(competitions|datasets|c)/\S*\bdownload|\b(curl|wget)\b.*\bkaggle\.com/|storage\.googleapis\.com/kaggle-(competitions-data|data-sets|forum)`)
	publicData = pattern.New(`\b(openml\.org/|archive\.ics\.uci\.edu/|zenodo\.org/(records?|api)/|data\.world/|data\.mendeley\.com/|figshare\.com/(ndownloader|articles)|dataverse\.[a-z.]+/|osf\.io/download|` +
		`physionet\.org/files/|isic-archive\.com/|isic-challenge-data|cancerimagingarchive\.net/|lila\.science/|snap\.stanford\.edu/data|ai\.stanford\.edu/~amaas/data|vision\.stanford\.edu/aditya86/|ufldl\.stanford\.edu/housenumbers|` +
		`robots\.ox\.ac\.uk/~vgg/data|yann\.lecun\.com/exdb|cocodataset\.org/|image-net\.org/|openslr\.org/|download\.tensorflow\.org/data|statmt\.org/lm-benchmark|s3\.amazonaws\.com/(nyc-tlc|fast-ai-)|cloudfront\.net/trip-data/)|` +
		`huggingface\.co/datasets/|hf://datasets/|\btfds(\s+build\s|\.(load|builder)\()|\bhuggingface-cli\s+download\b.*--repo-type[ =]dataset|\bhf\s+download\b.*--repo-type[ =]dataset`)
)
