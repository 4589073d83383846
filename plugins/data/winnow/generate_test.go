package winnow_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// author writes Python programs as Kaggle kernels look: functions, classes and
// steps at the top level, of 120 to 400 lines. Programs of different authors
// share the libraries that they use and the grammar of Python, nothing else.
type author struct {
	*rand.Rand
	names int
}

func newAuthor(seed uint64) *author { return &author{Rand: rand.New(rand.NewPCG(seed, 17))} }

// What libraries are asked for, as in real kernels.
var asked = strings.Fields(`groupby merge fillna drop astype apply map values mean std sum max min reset_index sort_values head iloc loc
	shape columns copy dropna isnull unique nunique value_counts transform rank shift diff rolling cumsum quantile agg concat read_csv to_csv
	fit predict predict_proba fit_transform score split train_test_split StratifiedKFold KFold GroupKFold array zeros ones arange reshape
	concatenate stack where argmax argsort clip log1p expm1 sqrt exp dot random seed permutation choice uniform normal append extend items keys
	update join strip lower replace format startswith Dense Conv2D Dropout Embedding LSTM Model compile add layers backend callbacks
	EarlyStopping optimizers Adam losses functional nn Linear relu softmax sigmoid cuda device backward step zero_grad load state_dict
	DataLoader Dataset from_numpy item cpu numpy detach unsqueeze squeeze view permute cat roc_auc_score log_loss accuracy_score
	mean_squared_error f1_score confusion_matrix LGBMRegressor XGBClassifier CatBoostRegressor train Dataset best_iteration
	feature_importances_ imread resize cvtColor GaussianBlur rotate flip imshow plot hist figure subplots title show countplot heatmap`)

var modules = strings.Fields("np pd plt sns torch nn F tf keras lgb xgb cv2 os gc re json model_selection metrics preprocessing")

func pick[T any](a *author, list []T) T { return list[a.IntN(len(list))] }

// name returns a name of the author's own.
func (a *author) name() string { return fmt.Sprintf("v_%d", a.IntN(30)) }

func (a *author) fresh(kind string) string {
	a.names++
	return fmt.Sprintf("%s_%d", kind, a.names)
}

func (a *author) literal() string {
	switch a.IntN(5) {
	case 0:
		return fmt.Sprint(a.IntN(1000))
	case 1:
		return fmt.Sprintf("%.3f", a.Float64())
	case 2:
		return pick(a, []string{"True", "False", "None", "-1"})
	}
	return fmt.Sprintf("'col_%d'", a.IntN(500))
}

func (a *author) atom() string {
	switch a.IntN(4) {
	case 0:
		return a.literal()
	case 1:
		return pick(a, modules)
	}
	return a.name()
}

func (a *author) expr(depth int) string {
	if depth <= 0 {
		return a.atom()
	}
	e := func() string { return a.expr(depth - 1 - a.IntN(2)) }
	switch a.IntN(13) {
	case 0:
		return e() + pick(a, []string{" + ", " - ", " * ", " / ", " ** ", " % ", " // "}) + e()
	case 1:
		return a.name() + "[" + e() + "]"
	case 2:
		return a.name() + "[" + e() + ":" + e() + "]"
	case 3:
		return "[" + e() + " for " + a.name() + " in " + e() + "]"
	case 4:
		return fmt.Sprintf("{%s: %s, %s: %s}", a.literal(), e(), a.literal(), e())
	case 5:
		return "(" + e() + pick(a, []string{" > ", " < ", " == ", " != ", " & ", " | "}) + e() + ")"
	case 6:
		return e() + " if " + e() + " else " + e()
	case 7:
		return "lambda x_0: " + e()
	case 8:
		return a.name() + "(" + a.args(depth) + ")"
	default:
		chain := a.atomName()
		for range 1 + a.IntN(3) {
			chain += "." + pick(a, asked)
			if a.IntN(4) > 0 {
				chain += "(" + a.args(depth) + ")"
			}
		}
		return chain
	}
}

func (a *author) atomName() string {
	if a.IntN(3) == 0 {
		return pick(a, modules)
	}
	return a.name()
}

func (a *author) args(depth int) string {
	var list []string
	for range a.IntN(4) {
		arg := a.expr(depth - 1 - a.IntN(3))
		if a.IntN(3) == 0 {
			arg = fmt.Sprintf("p_%d=%s", a.IntN(40), arg)
		}
		list = append(list, arg)
	}
	return strings.Join(list, ", ")
}

func (a *author) block(b *strings.Builder, indent, depth, lines int) {
	pad := strings.Repeat("    ", indent)
	for range lines {
		switch k := a.IntN(16); {
		case k == 0 && depth > 0:
			fmt.Fprintf(b, "%sfor %s in %s:\n", pad, a.name(), a.expr(2))
			a.block(b, indent+1, depth-1, 1+a.IntN(4))
		case k == 1 && depth > 0:
			fmt.Fprintf(b, "%sif %s:\n", pad, a.expr(2))
			a.block(b, indent+1, depth-1, 1+a.IntN(3))
			if a.IntN(2) == 0 {
				fmt.Fprintf(b, "%selse:\n", pad)
				a.block(b, indent+1, depth-1, 1+a.IntN(2))
			}
		case k == 2 && depth > 0:
			fmt.Fprintf(b, "%swith %s as %s:\n", pad, a.expr(2), a.name())
			a.block(b, indent+1, depth-1, 1+a.IntN(3))
		case k == 3:
			fmt.Fprintf(b, "%sprint(%s)\n", pad, a.args(2))
		case k == 4:
			fmt.Fprintf(b, "%s# %s\n%s%s += %s\n", pad, pick(a, asked), pad, a.name(), a.expr(2))
		case k == 5:
			fmt.Fprintf(b, "%s%s, %s = %s, %s\n", pad, a.name(), a.name(), a.expr(2), a.expr(1))
		case k < 9:
			fmt.Fprintf(b, "%s%s[%s] = %s\n", pad, a.name(), a.literal(), a.expr(3))
		default:
			fmt.Fprintf(b, "%s%s = %s\n", pad, a.name(), a.expr(3))
		}
	}
}

// chunk is a function, a class, or some steps.
func (a *author) chunk() string {
	var b strings.Builder
	switch a.IntN(4) {
	case 0:
		fmt.Fprintf(&b, "class %s(%s):\n", a.fresh("c"), a.name())
		for range 2 + a.IntN(3) {
			fmt.Fprintf(&b, "    def %s(self, %s, %s=%s):\n        \"\"\"Does %s.\"\"\"\n", a.fresh("m"), a.name(), a.name(), a.literal(), pick(a, asked))
			fmt.Fprintf(&b, "        self.a_%d = %s\n", a.IntN(9), a.expr(2))
			a.block(&b, 2, 2, 3+a.IntN(6))
			fmt.Fprintf(&b, "        return self.a_%d\n", a.IntN(9))
		}
	case 1, 2:
		fmt.Fprintf(&b, "def %s(%s, %s=%s):\n", a.fresh("f"), a.name(), a.name(), a.literal())
		a.block(&b, 1, 3, 6+a.IntN(14))
		fmt.Fprintf(&b, "    return %s\n", a.expr(2))
	default:
		a.block(&b, 0, 2, 6+a.IntN(12))
	}
	return b.String()
}

// program returns the chunks of one program.
func (a *author) program() []string {
	var chunks []string
	for range 8 + a.IntN(10) {
		chunks = append(chunks, a.chunk())
	}
	return chunks
}

const imports = "import numpy as np\nimport pandas as pd\nfrom sklearn.model_selection import KFold\n\n"

func join(chunks []string) string { return imports + strings.Join(chunks, "\n") }

var (
	own      = regexp.MustCompile(`\b(v|f|c|m|a|p|x)_(\d+)\b`)
	literals = regexp.MustCompile(`'col_\d+'|\b\d+\.\d+\b`)
)

// rename gives all names of the author's own other names, and other literals.
// Names of parameters of libraries (p_) stay: they are not the author's.
func (a *author) rename(text string) string {
	shift := 100 + a.IntN(1000)
	text = own.ReplaceAllStringFunc(text, func(name string) string {
		if name[0] == 'p' {
			return name
		}
		return fmt.Sprintf("%c%c%d_renamed", 'a'+rune(len(name)%26), name[0], shift+len(name)) + name[2:]
	})
	return literals.ReplaceAllStringFunc(text, func(string) string { return fmt.Sprintf("'other %d'", a.IntN(1000)) })
}

// dress adds comments, empty lines and prints.
func (a *author) dress(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		switch a.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "%s# step %d\n", indent, a.IntN(100))
		case 1:
			b.WriteString("\n")
		}
		b.WriteString(line)
	}
	return b.String()
}

func (a *author) reorder(chunks []string) []string {
	out := append([]string(nil), chunks...)
	a.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// half returns the first chunks, as many as make half the program.
func half(chunks []string) (out []string) {
	left := len(strings.Join(chunks, "")) / 2
	for _, c := range chunks {
		if left <= 0 {
			break
		}
		out, left = append(out, c), left-len(c)
	}
	return out
}

// notebook returns the chunks as cells, of nbformat 3 or 4.
func (a *author) notebook(chunks []string) string {
	var cells []map[string]any
	for i, c := range append([]string{imports}, chunks...) {
		if a.IntN(3) == 0 {
			cells = append(cells, map[string]any{"cell_type": "markdown", "source": []string{"# Step"}})
		}
		if a.IntN(3) == 0 {
			c = pick(a, []string{"%matplotlib inline\n", "%%time\n", "!pip install x\n"}) + c
		}
		var lines []string
		for line := range strings.Lines(c) {
			lines = append(lines, line)
		}
		cells = append(cells, map[string]any{"cell_type": "code", "execution_count": i, "outputs": []any{map[string]any{"text": "x = 1"}}, "source": lines, "language": "python"})
	}
	form := map[string]any{"nbformat": 4, "cells": cells}
	if a.IntN(3) == 0 {
		for _, c := range cells {
			if c["cell_type"] == "code" {
				c["input"] = c["source"]
				delete(c, "source")
			}
		}
		form = map[string]any{"nbformat": 3, "worksheets": []any{map[string]any{"cells": cells}}}
	}
	text, _ := json.Marshal(form)
	return string(text)
}

// planted are the ways to copy a program.
var planted = []struct {
	name string
	// half says that only half of the program is in the copy.
	half bool
	copy func(a *author, chunks []string) map[string]string
}{
	{"unchanged", false, func(_ *author, c []string) map[string]string { return map[string]string{"main.py": join(c)} }},
	{"renamed", false, func(a *author, c []string) map[string]string {
		return map[string]string{"main.py": a.dress(a.rename(join(c)))}
	}},
	{"reordered", false, func(a *author, c []string) map[string]string { return map[string]string{"main.py": join(a.reorder(c))} }},
	{"split", false, func(a *author, c []string) map[string]string {
		third := len(c) / 3
		return map[string]string{"a.py": join(c[:third]), "lib/b.py": join(c[third : 2*third]), "c.py": join(c[2*third:])}
	}},
	{"notebook", false, func(a *author, c []string) map[string]string { return map[string]string{"main.ipynb": a.notebook(c)} }},
	{"half in other code", true, func(a *author, c []string) map[string]string {
		chunks := append(half(c), newAuthor(a.Uint64()).program()...)
		return map[string]string{"main.py": join(a.reorder(chunks))}
	}},
	{"half, renamed, reordered, split and in a notebook", true, func(a *author, c []string) map[string]string {
		copied := half(a.reorder(c))
		for i := range copied {
			copied[i] = a.rename(copied[i])
		}
		chunks := a.reorder(append(copied, newAuthor(a.Uint64()).program()...))
		cut := len(chunks) / 2
		return map[string]string{"run.ipynb": a.notebook(chunks[:cut]), "lib.py": a.dress(join(chunks[cut:]))}
	}},
}
