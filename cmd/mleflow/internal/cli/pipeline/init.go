package pipeline

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/pipelines"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

//go:embed first.hcl
var firstPipeline []byte

// NewInit returns the command init.
func NewInit(a *app.App) *cobra.Command {
	var o initOptions
	cmd := a.Command("init [FILE]", "Write a first pipeline", app.Takes(0, 1), func(_ *cobra.Command, args []string) error {
		path := "pipeline.hcl"
		if len(args) == 1 {
			path = args[0]
		}
		return runInit(a, path, o)
	})
	cmd.Flags().StringVar(&o.agent, "agent", "", "run the program `PROGRAM`, such as ./agent.py; its first line or suffix says what starts it")
	cmd.Flags().StringVar(&o.model, "model", "", "let the agent ask the model `PROVIDER/NAME`, such as openai/gpt-5.5, through the gateway")
	cmd.Flags().StringVar(&o.from, "from", "", "copy the shipped pipeline `NAME`, such as lite")
	cmd.Flags().StringArrayVarP(&o.ids, "competition", "c", nil, "run on the competition `ID`; repeatable")
	return cmd
}

// shippedPipeline returns the text of a pipeline that is part of the program.
func shippedPipeline(name string) ([]byte, error) {
	text, err := pipelines.Shipped.ReadFile(strings.TrimSuffix(name, ".hcl") + ".hcl")
	if err == nil {
		return text, nil
	}
	return nil, app.Usagef("--from: there is no shipped pipeline %q; there are %s", name, strings.ReplaceAll(strings.Join(ShippedNames(), ", "), ".hcl", ""))
}

// ShippedNames are the files of the pipelines that are part of the program.
func ShippedNames() []string {
	names, err := fs.Glob(pipelines.Shipped, "*.hcl")
	if err != nil {
		panic(err) // the pattern is written here
	}
	return names
}

// initOptions are the flags of init.
type initOptions struct {
	agent, model, from string
	ids                []string
}

func runInit(a *app.App, path string, o initOptions) error {
	text, err := firstPipeline, error(nil)
	if o.from != "" {
		if o.agent != "" || o.model != "" || len(o.ids) > 0 {
			return app.Usagef("--from copies a pipeline as it is; leave --agent, --model and --competition out and edit the copy")
		}
		text, err = shippedPipeline(o.from)
	}
	if o.agent != "" || o.model != "" {
		if _, err := os.Lstat(path); err == nil { // nothing is written beside it
			return app.Usagef("%s exists and is not overwritten; give another name: mleflow init FILE", path)
		}
		text, err = agentPipeline(a, path, o.agent, o.model)
	}
	if err == nil && len(o.ids) > 0 {
		text, err = withCompetitions(a.Library, text, path, o.ids)
	}
	if err != nil {
		return err
	}
	err = wholefile.Create(path, 0o644, wholefile.Bytes(text))
	if errors.Is(err, fs.ErrExist) {
		return app.Usagef("%s exists and is not overwritten; give another name: mleflow init FILE", path)
	}
	if err != nil {
		return fmt.Errorf("write first pipeline: %w", err)
	}
	return a.Show(map[string]string{"path": path}, func() {
		fmt.Fprintf(a.Stdout, "Wrote %[1]s. Next:\n\n  mleflow plan %[1]s        what would run, and why\n  mleflow rehearse %[1]s    try it on tiny synthetic data\n  mleflow apply %[1]s       run it\n", path)
	})
}

// rawVariable says where the data of competitions are that are not to be
// downloaded.
const rawVariable = `# -var raw=DIR takes the data from DIR/<id>, the unpacked download, or DIR/<id>.zip;
# null downloads them.
variable "raw" {
  type    = string
  default = null
}

`

// withCompetitions puts competitions in the place of the one that a first
// pipeline runs, with the folders of those that do not ship with the program.
func withCompetitions(l *app.Library, text []byte, file string, ids []string) ([]byte, error) {
	if _, err := os.Stat(app.OwnCompetitions); err == nil && len(l.OwnFolders()) == 0 {
		l.CompetitionDirs = []string{app.OwnCompetitions}
	}
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	var list, folders []string
	for _, id := range ids {
		def, err := catalog.Get(id)
		if err != nil {
			return nil, app.Wrong(err)
		}
		list = append(list, quoteHCL(id))
		folder, err := folderOf(l, def, file)
		if err != nil {
			return nil, err
		}
		if folder = quoteHCL(folder); folder != `""` && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	const (
		data = "  data        = var.data\n}\n\nstep \"prepare\""
		from = "  from        = var.raw == null ? null : \"${var.raw}/${each.key}\"\n"
	)
	changes := []string{data, from + data, "locals {", rawVariable + "locals {",
		`["demo-digits"]`, "[" + strings.Join(list, ", ") + "]"}
	if len(folders) > 0 {
		const version = `required_version = ">= 0.1"`
		changes = append(changes, version, version+"\n  competitions     = ["+strings.Join(folders, ", ")+"]")
	}
	return []byte(strings.NewReplacer(changes...).Replace(string(text))), nil
}

// folderOf returns the folder that a definition comes from as the pipeline at
// file names it: relative to its own; "" if it ships with the program.
func folderOf(l *app.Library, def *competitions.Definition, file string) (string, error) {
	home := filepath.Dir(absolute(def.FilePath()))
	for _, f := range l.OwnFolders() {
		if at := absolute(f.Path); at != home && at != filepath.Dir(home) {
			continue
		}
		name, err := filepath.Rel(absolute(filepath.Dir(file)), absolute(f.Path))
		if err != nil {
			return "", err
		}
		if name = filepath.ToSlash(name); !strings.HasPrefix(name, "../") {
			name = "./" + name
		}
		return name, nil
	}
	return "", nil
}

// absolute is path from the root on, or path itself where there is no working
// folder.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

//go:embed first_agent.hcl
var firstAgent string

// interpreters start files by their suffix, where no first line says what does.
var interpreters = map[string]string{
	".py": "python3", ".sh": "sh", ".bash": "bash", ".pl": "perl", ".rb": "ruby", ".js": "node", ".jl": "julia", ".r": "Rscript",
}

// agentPipeline returns a pipeline, to be written to file, for the program at
// agent and a model, "" for none. Without a program it writes one.
func agentPipeline(a *app.App, file, agent, model string) ([]byte, error) {
	blocks, err := modelBlocks(model)
	if err != nil {
		return nil, err
	}
	if agent == "" {
		if agent, err = writeModelAgent(a, file); err != nil {
			return nil, err
		}
	}
	name, err := besidePipeline(file, agent)
	if err != nil {
		return nil, err
	}
	base := path.Base(name)
	command, err := startOf(agent, base)
	if err != nil {
		return nil, err
	}
	packages, comment := "", ""
	if strings.HasPrefix(path.Base(command[0]), "python") {
		if command[0], comment, packages, err = startPython(a, file, agent, command[0]); err != nil {
			return nil, err
		}
	}
	for i, word := range command {
		command[i] = quoteHCL(word)
	}
	block := blockName(base)
	return []byte(strings.NewReplacer(append(blocks,
		"FILE", file, "PACKAGES\n", packages, "NAME", block, "COMMAND", "["+strings.Join(command, ", ")+"]"+comment,
		"QUOTED = QUOTED", quoteHCL(base)+" = "+quoteHCL("./"+name), "ENTRY", block+" = agent."+block,
	)...).Replace(firstAgent)), nil
}

// besidePipeline returns the path of the agent relative to the pipeline's folder,
// in which it must be.
func besidePipeline(file, agent string) (string, error) {
	info, err := os.Stat(agent)
	if err != nil {
		return "", app.Usagef("no agent: %v", err)
	}
	if !info.Mode().IsRegular() {
		return "", app.Usagef("%s is not a file; name the program that starts, and add its folder to files of the pipeline", agent)
	}
	name, err := filepath.Rel(absolute(filepath.Dir(file)), absolute(agent))
	if err != nil || !filepath.IsLocal(name) {
		return "", app.Usagef("%s is not below the folder of %s, and only files there are inputs by content; copy it there", agent, file)
	}
	if name = filepath.ToSlash(name); !utf8.ValidString(name) {
		return "", app.Usagef("the name %q is not UTF-8; rename the file", agent)
	}
	return name, nil
}

// startOf returns the command for a program that is under the name base where
// it starts: what its first line says, else what its suffix means, else itself
// if it is executable.
func startOf(agent, base string) ([]string, error) {
	line, err := firstLine(agent)
	if err != nil {
		return nil, err
	}
	if text, found := strings.CutPrefix(line, "#!"); found && strings.TrimSpace(text) != "" {
		words := strings.Fields(text)
		if path.Base(words[0]) == "env" {
			words = slices.DeleteFunc(words[1:], func(w string) bool { return w == "-S" })
		}
		if len(words) > 0 {
			return append(words, base), nil
		}
	}
	if program := interpreters[strings.ToLower(path.Ext(base))]; program != "" {
		return []string{program, base}, nil
	}
	if info, err := os.Stat(agent); err == nil && info.Mode()&0o100 != 0 {
		return []string{"./" + base}, nil
	}
	return nil, app.Usagef("what starts %s? Give it a first line, such as #!/usr/bin/env python3, or a suffix, such as .py, or make it executable", agent)
}

// firstLine returns the first line of a file, of which it reads 4 KiB at most.
func firstLine(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read agent: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read agent: %w", err)
	}
	return strings.TrimSpace(line), nil
}

var identifier = pattern.New(`^[A-Za-z][A-Za-z0-9_-]*$`)

// blockName names the agent after its file, unless the pipeline has that name or
// it says nothing.
func blockName(base string) string {
	name := strings.TrimSuffix(base, path.Ext(base))
	if !identifier.Regexp().MatchString(name) || slices.Contains([]string{"agent", "main", "start", "run", "dummy", "baseline"}, name) {
		return "mine"
	}
	return name
}

// quoteHCL writes a string of the language.
func quoteHCL(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}

//go:embed first_model.hcl
var firstModel string

//go:embed first_model.py
var modelAgent []byte

// modelBlocks returns what stands for the parts of a first pipeline that concern a
// model, PROVIDER/NAME; "" is none.
func modelBlocks(named string) ([]string, error) {
	if named == "" {
		return []string{"MODELBLOCK\n", "", "MODELS\n", "", "REPORTS", "  reports = values(step.grade.score)[*].report"}, nil
	}
	provider, name, _ := strings.Cut(named, "/")
	if dialect.Named(provider) == nil || name == "" {
		known := lists.Of(dialect.All(), func(d dialect.Dialect) string { return d.Name() + "/NAME" })
		return nil, app.Usagef("--model: %q is none of %s; servers with the protocol of OpenAI, such as vLLM, are openai/NAME with -var base_url=ADDRESS", named, strings.Join(known, ", "))
	}
	budget, price := "    cost     = \"1 USD\"\n    requests = 20", ""
	if _, ok := gateway.PriceOf(&gateway.Model{Provider: provider}, name); !ok {
		budget = "    requests = 20 # once the price below is right, also: cost = \"1 USD\""
		price = "  price " + quoteHCL(name) + " { # of a million tokens; mleflow has none of this model\n    input  = \"0 USD\"\n    output = \"0 USD\"\n  }\n"
	}
	block := strings.NewReplacer("MODEL", quoteHCL(name), "PROVIDER", provider, "KEYVAR", strings.ToUpper(provider)+"_API_KEY", "BUDGET", budget, "PRICE", price).Replace(firstModel)
	return []string{
		"MODELBLOCK\n", block, "MODELS\n", "  models  = [model.main]\n  env     = { MODEL = var.model }\n",
		"REPORTS", "  reports  = values(step.grade.score)[*].report\n  attempts = values(step.agent-run.solve) # adds time, tokens and cost",
	}, nil
}

// writeModelAgent writes a program that asks a model beside a pipeline and returns
// its name.
func writeModelAgent(a *app.App, file string) (string, error) {
	path := filepath.Join(filepath.Dir(file), "agent.py")
	err := wholefile.Create(path, 0o644, wholefile.Bytes(modelAgent))
	if errors.Is(err, fs.ErrExist) {
		return "", app.Usagef("%s exists and is not overwritten; to run it with the model, add --agent %s", path, path)
	}
	if err != nil {
		return "", fmt.Errorf("write agent: %w", err)
	}
	fmt.Fprintf(a.Stderr, "Wrote %s, which asks the model.\n", path)
	return path, nil
}

// maxSource bounds how much of an agent is read for its imports.
const maxSource = 4 << 20

// imported finds the modules that a line of Python imports.
var imported = pattern.New(`(?m)^[ \t]*(?:import[ \t]+([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)|from[ \t]+([\w.]+)[ \t]+import\b)`)

// pythonModules are the modules of Python itself, 3.9 to 3.14, and mlebench.
//
//go:embed python_modules.txt
var pythonModules string

// packagesOf returns the packages that a program in Python imports, sorted: neither
// modules of Python itself nor files beside it.
func packagesOf(agent string) ([]string, error) {
	f, err := os.Open(agent)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxSource)) // what cannot be read imports nothing
	var names []string
	standard := strings.Fields(pythonModules)
	for _, m := range imported.Regexp().FindAllStringSubmatch(string(text), -1) {
		for module := range strings.SplitSeq(m[1]+m[2], ",") {
			module, _, _ = strings.Cut(strings.TrimSpace(module), " ")
			top, _, _ := strings.Cut(module, ".")
			if top == "" || slices.Contains(standard, top) || isLocal(filepath.Dir(agent), top) {
				continue
			}
			names = append(names, rehearse.Distribution(top))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func isLocal(dir, module string) bool {
	return slices.ContainsFunc([]string{module, module + ".py"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// systemPythons are the Pythons that an agent without packages starts with: those that a
// sandbox without an image shows, in the order in which pyenv.Find looks for them.
var systemPythons = []string{"/usr/bin/python3", "/usr/local/bin/python3"}

// startPython returns the program that starts an agent in Python, a comment beside it, and
// the line of its block for the packages that it imports. Without packages the program
// is the system's Python, so that the attempts run isolated and are compared with those
// of the other agents. It looks at files and runs nothing.
func startPython(a *app.App, file, agent, program string) (start, comment, block string, err error) {
	packages, err := packagesOf(agent)
	if err != nil {
		return "", "", "", err
	}
	if len(packages) > 0 {
		if filepath.IsAbs(program) {
			program = "python3" // that of the block, which is first in PATH
		}
		block, err = pythonBlock(a, file, agent, packages)
		return program, "", block, err
	}
	if program != "python" && program != "python3" {
		return program, "", "", nil
	}
	for _, python := range systemPythons {
		real, err := filepath.EvalSymlinks(python)
		if err == nil && strings.HasPrefix(real, "/usr/") {
			fmt.Fprintf(a.Stderr, "%s imports only modules of Python itself: it starts with %s, the Python that a sandbox shows, whatever python3 is in your PATH.\n", agent, python)
			return python, " # a sandbox without an image shows this Python", "", nil
		}
	}
	return program, "", "", nil
}

// pythonBlock returns the line of an agent block for the packages that a program imports,
// and writes a requirements.txt beside the pipeline unless there is one.
func pythonBlock(a *app.App, file, agent string, packages []string) (string, error) {
	const requirements = "requirements.txt"
	path := filepath.Join(filepath.Dir(file), requirements)
	text := "# Pin the versions, as in numpy==2.3.1, or keep requirements.lock, which the first apply writes.\n" + strings.Join(packages, "\n") + "\n"
	err := wholefile.Create(path, 0o644, wholefile.Bytes([]byte(text)))
	switch {
	case errors.Is(err, fs.ErrExist):
		fmt.Fprintf(a.Stderr, "%s imports %s: the pipeline installs what %s names.\n", agent, strings.Join(packages, ", "), path)
	case err != nil:
		return "", fmt.Errorf("write %s: %w", path, err)
	default:
		fmt.Fprintf(a.Stderr, "Wrote %s with the packages that %s imports: %s. They are installed for its attempts alone, with the system's Python; pin their versions.\n", path, agent, strings.Join(packages, ", "))
	}
	return "  python { requirements = \"" + requirements + "\" } # installed once, then locked in requirements.lock\n", nil
}
