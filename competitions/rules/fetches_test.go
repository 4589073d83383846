package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/shipped"
)

// fetches are programs that get public data, by the line of the fetch. Each is written as the
// documentation of its library or program writes it.
var fetches = []struct {
	name, file, text string
	line             int
}{
	{"openml", "a.py", "import openml\nd = openml.datasets.get_dataset(40588)\n", 2},
	{"openml, a task", "a.py", "from openml.tasks import get_task\nt = get_task(31)\n", 2},
	{"openml, renamed", "a.py", "from openml.datasets import get_dataset as gd\nd = gd('titanic')\n", 2},
	{"openml, imported by name", "a.py", "import importlib\no = importlib.import_module('openml')\nd = o.datasets.get_dataset(61)\n", 3},
	{"scikit-learn", "a.py", "from sklearn.datasets import fetch_openml\nx = fetch_openml(name='titanic', version=1)\n", 2},
	{"scikit-learn, renamed", "a.py", "from sklearn.datasets import fetch_openml as fo\nx = fo(data_id=40945)\n", 2},
	{"scikit-learn, module renamed", "a.py", "import sklearn.datasets as skd\nx = skd.load_breast_cancer()\n", 2},
	{"scikit-learn, the module", "a.py", "from sklearn import datasets\nx = datasets.load_digits(return_X_y=True)\n", 2},
	{"tfds", "a.py", "import tensorflow_datasets as tfds\nd = tfds.load('stanford_dogs', split='train')\n", 2},
	{"tfds, renamed otherwise", "a.py", "import tensorflow_datasets as td\nd = td.load('patch_camelyon')\n", 2},
	{"tfds, the function", "a.py", "from tensorflow_datasets import load\nd = load('civil_comments')\n", 2},
	{"tfds, a builder", "a.py", "import tensorflow_datasets as tfds\nb = tfds.builder('speech_commands')\n", 2},
	{"tfds, imported by name", "a.py", "tfd = __import__('tensorflow_datasets')\nd = tfd.load('lm1b')\n", 2},
	{"torchvision", "a.py", "import torchvision\nd = torchvision.datasets.PCAM('.', split='test', download=True)\n", 2},
	{"torchvision, renamed", "a.py", "from torchvision.datasets import INaturalist as IN\nd = IN('.', version='2019', download=True)\n", 2},
	{"torchvision, module renamed", "a.py", "import torchvision.datasets as tvd\nd = tvd.EMNIST('.', split='letters', download=True)\n", 2},
	{"torchaudio", "a.py", "import torchaudio\nd = torchaudio.datasets.SPEECHCOMMANDS('.', download=True)\n", 2},
	{"torchaudio, renamed", "a.py", "from torchaudio.datasets import SPEECHCOMMANDS as SC\nclass Sub(SC):\n    pass\nd = SC('./')\n", 4},
	{"datasets", "a.py", "from datasets import load_dataset\nd = load_dataset('google/civil_comments', split='train')\n", 2},
	{"datasets, renamed", "a.py", "from datasets import load_dataset as ld\nd = ld('stanfordnlp/sst')\n", 2},
	{"datasets, the module renamed", "a.py", "import datasets as hf\nd = hf.load_dataset('cats_vs_dogs')\n", 2},
	{"the hub, a file", "a.py", "from huggingface_hub import hf_hub_download\np = hf_hub_download(repo_id='lmsys/lmsys-arena-human-preference-55k', filename='train.csv', repo_type='dataset')\n", 2},
	{"the hub, a snapshot", "a.py", "import huggingface_hub as h\np = h.snapshot_download('a/b', repo_type = \"dataset\")\n", 2},
	{"the hub, renamed", "a.py", "from huggingface_hub import hf_hub_download as get\np = get('a/b', 'x.csv', repo_type='dataset')\n", 2},
	{"the hub, by pandas", "a.py", "import pandas as pd\nd = pd.read_parquet('hf://datasets/stanfordnlp/sst/data.parquet')\n", 2},
	{"kagglehub", "a.py", "import kagglehub\np = kagglehub.dataset_download('irvingvasquez/cactus-aerial-photos')\n", 2},
	{"kagglehub, renamed", "a.py", "from kagglehub import competition_download as cd\np = cd('dogs-vs-cats')\n", 2},
	{"Kaggle's API", "a.py", "from kaggle.api.kaggle_api_extended import KaggleApi\napi = KaggleApi()\napi.dataset_download_files('a/b', path='.', unzip=True)\n", 3},
	{"Kaggle's program, a list", "a.py", "import subprocess\nsubprocess.run(['kaggle', 'competitions', 'download', '-c', 'leaf-classification'])\n", 2},
	{"Kaggle's API by curl", "a.sh", "curl -L -u u:k https://www.kaggle.com/api/v1/datasets/download/a/b -o x.zip\n", 1},
	{"keras", "a.py", "from tensorflow.keras.datasets import imdb\n(x, y), t = imdb.load_data(num_words=100)\n", 2},
	{"UCI, its package", "a.py", "from ucimlrepo import fetch_ucirepo as f\nd = f(id=241)\n", 2},
	{"UCI, by pandas", "a.py", "import pandas as pd\nd = pd.read_csv('https://archive.ics.uci.edu/ml/machine-learning-databases/00241/data.csv')\n", 2},
	{"curl by subprocess", "a.py", "import subprocess\nsubprocess.check_call(['curl', '-L', '-o', 'x.zip', 'https://zenodo.org/records/3612637/files/FSDKaggle2019.meta.zip'])\n", 2},
	{"wget by os.system", "a.py", "import os\nos.system('wget -q http://vision.stanford.edu/aditya86/ImageNetDogs/lists.tar')\n", 2},
	{"urlretrieve", "a.py", "import urllib.request as u\nu.urlretrieve('http://download.tensorflow.org/data/speech_commands_v0.01.tar.gz', 'x')\n", 2},
	{"a notebook, scikit-learn", "a.ipynb", notebook("from sklearn.datasets import fetch_openml as fo", "x = fo('birds')"), 2},
	{"a notebook, wget", "a.ipynb", notebook("import os", "!wget https://www.statmt.org/lm-benchmark/1-billion-word.tar.gz"), 2},
	{"a notebook, Kaggle's program", "a.ipynb", notebook("!pip install kaggle", "!kaggle datasets download -d irvingvasquez/cactus-aerial-photos"), 2},
	{"a notebook, a cell of shell", "a.ipynb", notebook("%%bash", "curl -O https://snap.stanford.edu/data/web-RedditPizzaRequests.html"), 2},
	{"a shell, wget", "a.sh", "set -e\nwget -c https://archive.ics.uci.edu/static/public/318/noisyoffice.zip\n", 2},
	{"a shell, git", "a.sh", "git clone https://huggingface.co/datasets/google/civil_comments\n", 1},
	{"a shell, hf", "a.sh", "hf download stanfordnlp/sst --repo-type dataset\n", 1},
	{"a shell, the old program", "a.sh", "huggingface-cli download --repo-type=dataset lmsys/x\n", 1},
	{"a shell, tfds", "a.sh", "tfds build stanford_dogs\n", 1},
	{"a shell, Python", "a.sh", "python -c \"import tensorflow_datasets as tfds; tfds.load('stanford_dogs')\"\n", 1},
}

// pages are programs that name collections and get none.
var pages = []string{
	"\"\"\"The metric of https://www.kaggle.com/c/kuzushiji-recognition/\n\nhttps://huggingface.co/datasets/a/b\n\"\"\"\nx = 1\n",
	"def grade():\n    'See https://archive.ics.uci.edu/dataset/17.'\n    return 1\n",
	"url = 'https://www.kaggle.com/competitions/leaf-classification/overview/evaluation'\n",
	"# wget https://zenodo.org/records/3612637/files/x.zip\nx = 1\n",
}

// TestPages: a page that is only named is no fetch.
func TestPages(t *testing.T) {
	for _, text := range pages {
		if found, _ := check1(t, code("a.py", text)); len(found) > 0 {
			t.Errorf("%q: %q", text, found)
		}
	}
}

// TestFetches: every way of getting public data is found, on its line.
func TestFetches(t *testing.T) {
	if len(fetches) < 40 {
		t.Errorf("only %d fetches", len(fetches))
	}
	for _, f := range fetches {
		found, _ := check1(t, code(f.file, f.text))
		if !slices.ContainsFunc(found, func(s string) bool {
			name, at, _ := strings.Cut(s, ":")
			return strings.HasPrefix(name, "known-data ") && strings.HasPrefix(at+" ", itoa(f.line)+" ")
		}) {
			t.Errorf("%s: found %q", f.name, found)
		}
	}
}

func itoa(n int) string { return string(rune('0' + n)) }

// TestAtlasIsFetched: code that names a collection of the atlas is a warning for the
// competition whose labels it has, and the address of every collection is found.
func TestAtlasIsFetched(t *testing.T) {
	catalog, err := competitions.Load(shipped.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range catalog.IDs() {
		def, err := catalog.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range def.PublicLabels {
			for _, name := range append([]string{p.URL, strings.ToUpper(p.URL)}, p.Loaders...) {
				_, result := check1(t, func(a *Attempt) {
					a.Code, a.Public = files("a.py", "x = fetch('"+name+"')\n"), def.PublicLabels
				})
				if len(result.Findings) == 0 || result.Findings[0].Severity != evidence.Warning || !strings.Contains(result.Findings[0].Explanation, p.Name) {
					t.Errorf("%s: %s: %+v", id, name, result.Findings)
				}
			}
			_, result := check1(t, func(a *Attempt) { a.Code, a.Public = files("a.py", honest), def.PublicLabels })
			if len(result.Findings) > 0 {
				t.Errorf("%s: an honest program: %+v", id, result.Findings)
			}
		}
	}
}

// TestHonestFiles: no file of MLEFLOW_HONEST_CODE, a folder of programs that are known to fetch
// nothing, has a finding of known-data.
func TestHonestFiles(t *testing.T) {
	dir := os.Getenv("MLEFLOW_HONEST_CODE")
	if dir == "" {
		t.Skip("MLEFLOW_HONEST_CODE names no folder of honest programs")
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		_, result := check1(t, code(filepath.Base(path), string(data)))
		for _, f := range result.Findings {
			if f.Rule == "known-data" {
				t.Errorf("%s:%d: %s: %s", path, f.Line, f.Explanation, f.Excerpt)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files", n)
}
