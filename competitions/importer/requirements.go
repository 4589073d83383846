package importer

import (
	_ "embed"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

//go:embed stdlib.txt
var stdlib string

// always are the packages of every competition, in the versions that MLE-bench asks for.
var always = []string{"numpy==1.26.4", "pandas==2.2.3", "scikit-learn==1.5.2", "scipy==1.14.1", "tqdm==4.66.6"}

// pins are further packages, by the module that is imported.
var pins = map[string]string{
	"Levenshtein": "Levenshtein==0.26.1", "PIL": "pillow==10.4.0", "bson": "pymongo==4.10.1", "cv2": "opencv-python-headless==4.10.0.84",
	"dateutil": "python-dateutil==2.9.0.post0", "fastparquet": "fastparquet==2024.11.0", "lightgbm": "lightgbm==4.5.0", "networkx": "networkx==3.4.2",
	"py7zr": "py7zr==0.22.0", "pyarrow": "pyarrow==18.0.0", "pycocotools": "pycocotools==2.0.8", "pydicom": "pydicom==3.0.1", "pyquaternion": "pyquaternion==0.9.9",
	"requests": "requests==2.32.3", "rouge_score": "rouge-score==0.1.2", "shapely": "shapely==2.0.6", "statsmodels": "statsmodels==0.14.4", "tensorflow": "tensorflow-cpu==2.18.0",
	"torch": "torch==2.5.1", "yaml": "PyYAML==6.0.2",
}

// provided are modules that every environment has.
var provided = []string{"numpy", "pandas", "sklearn", "scipy", "tqdm", "mlebench", "mledojo"}

// hints are packages that code needs without importing them, by an expression for its text.
var hints = map[string]*pattern.Pattern{
	"py7zr": pattern.New(`\.7z\b`), "fastparquet": pattern.New(`parquet`), "tensorflow": pattern.New(`get_ids_from_tf_records`),
}

var importForm = pattern.New(`(?m)^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b|import[ \t]+([^#\n;]+))`)

// modules returns the names of the packages that a module of Python imports.
func modules(text []byte) (names []string) {
	for _, m := range importForm.Regexp().FindAllSubmatch(text, -1) {
		for _, part := range strings.Split(string(m[1])+string(m[2]), ",") {
			if fields := strings.Fields(part); len(fields) > 0 {
				name, _, _ := strings.Cut(fields[0], ".")
				names = append(names, name)
			}
		}
	}
	return names
}

// requirements returns the packages that the code needs, and the modules of which it is not
// known which package has them.
func requirements(code map[string][]byte) (text string, unknown []string) {
	list, known := slices.Clone(always), append(strings.Fields(stdlib), provided...)
	for _, name := range slices.Sorted(maps.Keys(code)) {
		if !strings.HasSuffix(name, ".py") {
			continue
		}
		for module, form := range hints {
			if form.Regexp().Match(code[name]) {
				list = append(list, pins[module])
			}
		}
		for _, module := range modules(code[name]) {
			_, own := code[module+".py"]
			switch pin := pins[module]; {
			case pin != "":
				list = append(list, pin)
			case !own && !slices.Contains(known, module):
				unknown = append(unknown, module)
			}
		}
	}
	sorted := func(l []string) []string { slices.Sort(l); return slices.Compact(l) }
	return strings.Join(sorted(list), "\n") + "\n", sorted(unknown)
}
