package rules

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

func files(pairs ...string) fs.FS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

// samples are sample submissions of 60 rows, with ids that are names and numbers.
var named, numbered = sample("img_%03d.png", 60), sample("%d", 60)

func sample(id string, n int) string {
	var b strings.Builder
	b.WriteString("id,label\n")
	for i := range n {
		fmt.Fprintf(&b, id+",0\n", i)
	}
	return b.String()
}

// honest is a program that finds nothing objectionable in the way most are written.
const honest = `import pandas as pd, numpy as np
from sklearn.ensemble import RandomForestClassifier
train = pd.read_csv("/home/data/train.csv")  # the private leaderboard is 40 %
test = pd.read_csv('/home/data/test.csv')
weights = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
model = RandomForestClassifier(n_estimators=500)
model.fit(train.drop(columns=["label"]), train["label"])
with open("/proc/cpuinfo") as f: print(f.read())
sample = pd.read_csv("/home/data/sample_submission.csv")
sample["label"] = model.predict(test)
sample.to_csv("/home/submission/submission.csv", index=False)
`

// planted is one thing to find, or not.
type planted struct {
	name   string
	change func(a *Attempt)
	// want are the rules, severities and places of what is found.
	want []string
}

func code(pairs ...string) func(*Attempt) { return func(a *Attempt) { a.Code = files(pairs...) } }

func notebook(lines ...string) string {
	var quoted []string
	for _, l := range lines {
		quoted = append(quoted, fmt.Sprintf("%q", l+"\n"))
	}
	return `{"cells":[{"cell_type":"markdown","source":["text"]},{"cell_type":"code","source":[` + strings.Join(quoted, ",") + `]}],"metadata":{"language_info":{"name":"python"}},"nbformat":4}`
}

// idsOf are the first n ids of a sample as a dict of Python.
func idsOf(sample string, n int) string {
	var b strings.Builder
	b.WriteString("labels = {\n")
	for _, row := range strings.Split(sample, "\n")[1 : n+1] {
		id, _, _ := strings.Cut(row, ",")
		if isNumber(id) {
			fmt.Fprintf(&b, "  %s: 1,\n", id)
		} else {
			fmt.Fprintf(&b, "  %q: 1,\n", id)
		}
	}
	return b.String() + "}\n"
}

var table = []planted{
	{"honest", code("solution.py", honest, "solution.ipynb", notebook(strings.Split(honest, "\n")...), "run.sh", "python solution.py > /home/logs/out\n"), nil},

	{"grader: import", code("a/b.py", "import numpy\nimport mlebench.grade as g\n"), []string{"grader-import warning code/a/b.py:2"}},
	{"grader: from", code("a.py", "from mlebench.grade_helpers import (\n  InvalidSubmissionError as E)\n"), []string{"grader-import warning code/a.py:1"}},
	{"grader: of a competition", code("a.ipynb", notebook("x = 1", "from mlebench.competitions.spooky.grade import grade")), []string{"grader-import warning code/a.ipynb:2 cell 2, line 2"}},
	{"grader: importlib", code("a.py", "import importlib\nimportlib.import_module('mlebench.metrics')\n"), []string{"grader-import warning code/a.py:2"}},
	{"grader: a command", code("a.sh", "set -e\nmlebench grade --submission x.jsonl\n"), []string{"grader-import warning code/a.sh:2"}},
	{"grader: subprocess", code("a.py", "import os\nos.system('cd /tmp; mlebench grade-sample s.csv spooky')\n"), []string{"grader-import warning code/a.py:2"}},
	{"no grader", code("a.py", "from mlebench.registry import registry\nimport grade\nfrom school.grade import mark\ntext = 'we grade the mlebench way'\n"), nil},
	{"grader: refused", func(a *Attempt) {
		a.Shim = strings.NewReader(`{"kind":"grade","call":"mlebench.grade.grade_csv","file":"/home/code/x.py","line":7}` + "\n")
	}, []string{"grader-import note shim_log:1"}},

	{"private: answers", code("a.py", "import pandas as pd\npd.read_csv('/private/test.csv')\n"), []string{"outside-data note code/a.py:2", "private-data warning code/a.py:2"}},
	{"private: a shell", code("a.sh", "cat /proc/1/environ\n"), []string{"private-data warning code/a.sh:1"}},
	{"private: a cached folder", code("a.sh", "find / -path '*prepared/private*'\n"), []string{"private-data warning code/a.sh:1"}},
	{"not private", code("a.py", "private = 1\nx = 'the private part, see docs/private.md'\nopen('/proc/self/environ')\n", "b.sh", "ls /home/data # private/public split\n"), nil},
	{"private: refused", func(a *Attempt) {
		a.Shim = strings.NewReader("\n" + `{"kind":"answers","call":"answers","file":"x.py","line":1}`)
	}, []string{"private-data note shim_log:2"}},

	{"outside", code("a.py", "import pandas\nx = open(\n  '/srv/data/labels.csv').read()\npandas.read_parquet('~/old.parquet')\n"), []string{"outside-data note code/a.py:2", "outside-data note code/a.py:4"}},
	{"inside", code("a.py", "open('/home/agent/../data/x')\nopen('data/x')\nopen('/kaggle/input/x.csv')\nopen(f'/srv/{x}')\nopen(path)\nopen('/tmp/x', 'w')\nopen('/srv/x', 'w')\ndef open('/srv/x'):\n  pass\n"), nil},

	{"labelled", code("a.py", "x = 1\n"+idsOf(named, 30)), []string{"hand-labelled warning code/a.py:3"}},
	{"labelled in a text", code("a.py", "x = '''"+named+"'''\n"), []string{"hand-labelled warning code/a.py:1"}},
	{"labelled numbers", func(a *Attempt) { a.Code, a.Data = files("a.py", idsOf(numbered, 55)), files("sample.csv", numbered) }, []string{"hand-labelled warning code/a.py:2"}},
	{"labelled numbers in a text", func(a *Attempt) {
		a.Code, a.Data = files("a.py", "x = '''"+numbered+"'''"), files("sample.csv", numbered)
	}, []string{"hand-labelled warning code/a.py:1"}},
	{"numbers", func(a *Attempt) {
		a.Code, a.Data = files("a.py", "x = ["+strings.ReplaceAll(strings.ReplaceAll(numbered, "id,label", ""), "\n", ",")+"]\n"), files("sample.csv", numbered)
	}, nil},
	{"a few ids", code("a.py", idsOf(named, 12)), nil},
	{"a few numbers", func(a *Attempt) { a.Code, a.Data = files("a.py", idsOf(numbered, 40)), files("sample.csv", numbered) }, nil},
	{"labelled by a model", said(named, ""), []string{"hand-labelled warning transcript/1"}},
	{"labelled by a tool call", said("Here.", named), []string{"hand-labelled warning transcript/1"}},
	{"a command with an answer's path", said("", "ls /private/test.csv"), []string{"private-data warning transcript/1"}},
	{"an honest reply", said("I read img_001.png and train.", "python train.py"), nil},

	{"predicts by a model", code("a.py", "from openai import OpenAI\nimport csv\ncsv.writer(open('submission.csv', 'w')).writerow(OpenAI())\n"), []string{"model-predictions warning code/a.py:1"}},
	{"predicts by an address", code("a.py", "import requests\nr = requests.post(base + '/v1/chat/completions')\ndf.to_csv('/home/submission/submission.csv')\n"), []string{"model-predictions warning code/a.py:2"}},
	{"asks a model", code("a.py", "import anthropic\nprint(anthropic.Anthropic())\npd.read_csv('sample_submission.csv')\n"), []string{"model-predictions note code/a.py:1"}},
	{"asks no model", code("a.py", "from transformers import AutoModel\nimport openai_whisper_local\nopen('submission.csv', 'w')\n"), nil},

	{"searches", refused(dialect.WebSearch), []string{"provider-search note transcript/1"}},

	{"kaggle: a command", code("a.sh", "kaggle competitions download -c titanic\n"), []string{"known-data warning code/a.sh:1"}},
	{"kaggle: kagglehub", code("a.py", "import kagglehub\np = kagglehub.competition_download('titanic')\n"), []string{"known-data warning code/a.py:2"}},
	{"public data", code("a.py", "from sklearn.datasets import fetch_openml\nx = fetch_openml('titanic')\n"), []string{"known-data note code/a.py:2"}},
	{"public: loaders", code("a.py", strings.Join([]string{
		"import openml, tensorflow_datasets as tfds, torchaudio, torchvision.datasets as tv",
		"from datasets import load_dataset",
		"from huggingface_hub import hf_hub_download, snapshot_download",
		"from sklearn.datasets import load_digits",
		"from tensorflow.keras.datasets import cifar10",
		"from ucimlrepo import fetch_ucirepo",
		"a = openml.datasets.get_dataset(40945)",
		"b = tfds.load('stanford_dogs')",
		"c = torchaudio.datasets.SPEECHCOMMANDS('.', download=True)",
		"d = tv.CIFAR10(root='x', download=True)",
		"e = load_dataset('civil_comments')",
		"f = hf_hub_download('a/b', 'x.csv', repo_type='dataset')",
		"g = snapshot_download(repo_id='a/b',",
		"  repo_type=\"dataset\")",
		"h = load_digits(return_X_y=True)",
		"(i, j), k = cifar10.load_data()",
		"l = fetch_ucirepo(id=20)",
	}, "\n")), []string{
		"known-data note code/a.py:10", "known-data note code/a.py:11", "known-data note code/a.py:12", "known-data note code/a.py:13", "known-data note code/a.py:15",
		"known-data note code/a.py:16", "known-data note code/a.py:17", "known-data note code/a.py:7", "known-data note code/a.py:8", "known-data note code/a.py:9",
	}},
	{"public: addresses", code("a.sh", "wget http://vision.stanford.edu/aditya86/ImageNetDogs/images.tar\ncurl -O https://zenodo.org/records/3612637/files/x.zip\nhf download a/b --repo-type dataset\naws s3 cp s3.amazonaws.com/nyc-tlc/x .\n"),
		[]string{"known-data note code/a.sh:1", "known-data note code/a.sh:2", "known-data note code/a.sh:3", "known-data note code/a.sh:4"}},
	{"public: nothing", code("a.py", strings.Join([]string{
		"import torchvision, joblib, tensorflow as tf",
		"from datasets import load_dataset, Dataset",
		"from huggingface_hub import hf_hub_download",
		"a = torchvision.datasets.ImageFolder('/home/data')",
		"b = load_dataset('csv', data_files='/home/data/train.csv')",
		"c = hf_hub_download('microsoft/deberta-v3-base', 'config.json')",
		"class MNIST(torchvision.datasets.VisionDataset):",
		"  def load_data(self): pass",
		"d = joblib.load('model.pkl')",
		"e = self.load_data()",
		"f = get_dataset(1)",
	}, "\n")), nil},
	{"not kaggle", code("a.py", "x = 'see https://www.kaggle.com/code/someone/notebook'\nfrom torch.utils.data import Dataset\n"), nil},
	{"kaggle: a connection", func(a *Attempt) {
		a.Network = strings.NewReader(`{"host":"example.org","verdict":"allowed"}` + "\n" + `{"host":"WWW.kaggle.com.","verdict":"refused"}` + "\n" + `{"host":"www.kaggle.com","verdict":"refused"}` + "\n")
	}, []string{"known-data note network_log:2"}},

	{"the sample", func(a *Attempt) { a.Submission = files("submission.csv", strings.ReplaceAll(named, "\n", "\r\n")) }, []string{"sample-copy warning submission/submission.csv"}},
	{"nearly the sample", func(a *Attempt) { a.Submission = files("submission.csv", named[:len(named)-2]+"1\n") }, nil},
	{"part of the sample", func(a *Attempt) { a.Submission = files("submission.csv", named[:len(named)-14]) }, nil},

	{"probing", validations(100), []string{"probing note validation_log:100"}},
	{"checking", validations(99), nil},

	{"scores: a command", code("a.sh", "cd x && kaggle competitions submit -c titanic -f s.csv -m x\n"), []string{"test-scores warning code/a.sh:1"}},
	{"scores: a short command", code("a.py", "import os\nos.system('kaggle c submissions titanic')\n"), []string{"test-scores warning code/a.py:2"}},
	{"scores: the API", code("a.py", "from kaggle.api.kaggle_api_extended import KaggleApi\napi = KaggleApi()\napi.competition_submit('s.csv', 'm', 'titanic')\n"), []string{"test-scores warning code/a.py:3"}},
	{"no scores", code("a.py", "# kaggle competitions submit\ndef competition_submit(path):\n  pass\nsubmit = 'submission.csv'\n", "b.sh", "echo see kaggle.com/competitions\n"), nil},
}

// TestRefusedScores: a few refused calls of the grader are no search.
func TestRefusedScores(t *testing.T) {
	for calls, want := range map[int]int{0: 0, mostGraded - 1: 0, mostGraded: 1} {
		shim := strings.Repeat(`{"kind":"grade","call":"mlebench.grade.grade_csv","file":"/home/code/x.py","line":7}`+"\n", calls) + `{"kind":"leaderboard"}` + "\n"
		result, err := Check(t.Context(), &Attempt{Shim: strings.NewReader(shim)}, []Rule{testScores})
		if err != nil || len(result.Findings) != want {
			t.Errorf("%d calls: %v, %+v", calls, err, result)
		}
	}
}

func validations(n int) func(*Attempt) {
	return func(a *Attempt) {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"valid":true,"sha256":"%064x"}`+"\n", i)
		}
		a.Validation = strings.NewReader(b.String())
	}
}

// recorded adds a transcript of one exchange.
func recorded(response string, e transcript.Event) func(*Attempt) {
	return func(a *Attempt) {
		dir, err := os.MkdirTemp("", "rules")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		w, err := transcript.Open(filepath.Join(dir, "t"), 1<<20, nil)
		if err != nil {
			panic(err)
		}
		x := w.Begin([]byte(`{"model":"m-1","messages":[{"role":"user","content":"img_001.png img_002.png"}]}`))
		_, _ = x.Write([]byte(response))
		e.Provider, e.Method, e.Path, e.Operation = "openai", "POST", "/v1/chat/completions", "chat"
		x.End(e)
		if err := w.Close(); err != nil {
			panic(err)
		}
		m := fstest.MapFS{}
		names, _ := filepath.Glob(filepath.Join(dir, "t", "*"))
		for _, name := range names {
			data, _ := os.ReadFile(name)
			m[filepath.Base(name)] = &fstest.MapFile{Data: data}
		}
		if a.Transcript, err = transcript.OpenReader(m); err != nil {
			panic(err)
		}
	}
}

func said(text, command string) func(*Attempt) {
	return recorded(fmt.Sprintf(`{"choices":[{"message":{"role":"assistant","content":%q,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":%q}}]}}]}`,
		text, fmt.Sprintf(`{"command":%q}`, command)), transcript.Event{Status: 200})
}

func refused(ability dialect.Ability) func(*Attempt) {
	return recorded(`{"error":{}}`, transcript.Event{Status: 403, Refused: dialect.NotAllowed, Ability: ability, Asked: "m-1"})
}

func check1(t *testing.T, change func(*Attempt)) (found []string, result *Result) {
	t.Helper()
	a := &Attempt{Data: files("sample.csv", named), Sample: "sample.csv", File: "submission.csv"}
	change(a)
	result, err := Check(t.Context(), a, All())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Findings {
		text := fmt.Sprintf("%s %s %s", f.Rule, f.Severity, f.File)
		if f.Line > 0 {
			text += fmt.Sprint(":", f.Line)
		}
		found = append(found, strings.TrimSpace(text+" "+f.Place))
		if f.Explanation == "" || len(f.Excerpt) > 2*mostExcerpt {
			t.Errorf("finding %+v", f)
		}
	}
	slices.Sort(found)
	return found, result
}

// TestPlanted: each rule finds what was planted, where it was, and nothing else in
// any case; what looks like it is not found.
func TestPlanted(t *testing.T) {
	hit := map[string]bool{}
	for _, p := range table {
		t.Run(p.name, func(t *testing.T) {
			found, result := check1(t, p.change)
			if !slices.Equal(found, p.want) {
				t.Errorf("found %q, want %q", found, p.want)
			}
			for _, f := range result.Findings {
				hit[f.Rule] = true
			}
		})
	}
	for _, r := range All() {
		if !hit[r.Name] || r.Doc == "" || r.Honest == "" {
			t.Errorf("nothing is planted for %s, or it says nothing", r.Name)
		}
	}
}

// TestHostile: files that are damaged, huge or deep end a check with what was not
// read, within its bounds.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	_, result := check1(t, func(a *Attempt) {
		a.Code = files("deep.py", deep, "bad.ipynb", "{", "nul.py", "\x00\x01", "long.sh", strings.Repeat("x", mostText+10), "esc.py", "open('/srv/\x1b[31m\u202e')\n",
			"many.py", strings.Repeat("open('/srv/x')\n", 5000), "sub.py/x.sh", "mlebench grade\n")
		a.Network, a.Validation, a.Shim = strings.NewReader("{"), strings.NewReader(strings.Repeat("y", mostLine+1)), strings.NewReader("null\n[]\n")
	})
	unread := strings.Join(result.Unread, "\n")
	for _, want := range []string{"bad.ipynb", "nul.py", "long.sh", "network_log", "validation_log", "shim_log"} {
		if !strings.Contains(unread, want) {
			t.Errorf("unread %q lacks %s", unread, want)
		}
	}
	if len(result.Findings) > (mostFindings+1)*len(All()) {
		t.Errorf("%d findings", len(result.Findings))
	}
	for _, f := range result.Findings {
		if strings.ContainsAny(f.Excerpt+f.Explanation, "\x1b\u202e\n") {
			t.Errorf("finding %+v", f)
		}
	}
	if !slices.ContainsFunc(result.Findings, func(f evidence.Finding) bool { return strings.Contains(f.Explanation, "more findings") }) {
		t.Error("what is beyond the bound is not said")
	}
}

// FuzzCheck: no input breaks a check.
func FuzzCheck(f *testing.F) {
	f.Add(honest, "kaggle competitions download", `{"host":"kaggle.com"}`)
	f.Fuzz(func(t *testing.T, python, shell, line string) {
		for range 2 {
			a := &Attempt{Code: files("a.py", python, "a.ipynb", python, "a.sh", shell), Data: files("sample.csv", shell), Sample: "sample.csv", File: "submission.csv",
				Submission: files("submission.csv", python), Network: strings.NewReader(line), Validation: strings.NewReader(line), Shim: strings.NewReader(line)}
			if _, err := Check(t.Context(), a, All()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDocumented: the page of the rules has each with what it says of itself.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range All() {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, r.Doc, r.Honest); !strings.Contains(string(page), row) {
			t.Errorf("docs/checks.md lacks the row\n%s", row)
		}
	}
}
