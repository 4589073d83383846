package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mleflow/mleflow"

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// path is the import path below the module.
func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// listed returns the packages of the module, without their tests.
func listed(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../../../../.."
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(&out); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// layer is a folder of packages.
type layer struct {
	folder  string
	allowed []string
	why     string
}

// layers says for the packages below a folder what else of the module they may
// depend on, directly or not. The first folder that fits decides.
var layers = []layer{
	{"cache/digest", nil, "digest is a leaf"},
	{"cache/leaf", nil, "a leaf knows nothing of the module"},
	{"cache", []string{"cache"}, "the cache knows content and actions only"},
	{"engine/step", []string{"cache", "engine/step"}, "the contract of steps knows the cache only"},
	{"engine", []string{"cache", "engine"}, "the engine knows no step kind, plugin or competition by name"},
	{"plugins", []string{"cache", "plugins"}, "plugins import the cache, its leaves, and their own contracts"},
	{"competitions", []string{"cache", "competitions", "plugins", "engine/bounded", "engine/diag", "engine/step"}, "competitions import plugin contracts, bounded HCL and diagnostics"},
	{"steps", []string{"cache", "competitions", "plugins", "steps", "engine/bounded", "engine/diag", "engine/step"}, "steps import engine/step, plugins and competitions"},
	{"pipelines", nil, "pipelines hold HCL"},
	{"cmd", []string{""}, "cmd wires everything"},
}

func below(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range listed(t) {
		at := slices.IndexFunc(layers, func(l layer) bool { return below(p.path(), l.folder) })
		if at < 0 {
			t.Errorf("package %s is in no known folder", p.ImportPath)
			continue
		}
		for _, dep := range p.Deps {
			inside, ok := strings.CutPrefix(dep, module+"/")
			if ok && !slices.ContainsFunc(layers[at].allowed, func(folder string) bool { return below(inside, folder) }) {
				t.Errorf("%s depends on %s: %s", p.path(), inside, layers[at].why)
			}
		}
	}
}

// TestLeaves keeps everything but the standard library out of the leaves.
func TestLeaves(t *testing.T) {
	leaves := []string{"cache/digest", "cache/leaf/checkout", "cache/leaf/crash", "cache/leaf/flock", "cache/leaf/lists", "cache/leaf/named", "cache/leaf/parallel", "cache/leaf/pattern", "cache/leaf/plain", "cache/leaf/progress", "cache/leaf/retry", "cache/leaf/secret", "cache/leaf/spill", "cache/leaf/wholefile"}
	for _, p := range listed(t) {
		if !slices.Contains(leaves, p.path()) {
			continue
		}
		leaves = slices.DeleteFunc(leaves, func(leaf string) bool { return leaf == p.path() })
		for _, dep := range p.Deps {
			if strings.Contains(strings.SplitN(dep, "/", 2)[0], ".") {
				t.Errorf("%s depends on %s", p.path(), dep)
			}
		}
	}
	if len(leaves) > 0 {
		t.Errorf("no such packages: %v", leaves)
	}
}

// TestEarly keeps out of the supervisor of commands and of the first process of a sandbox
// what Go would initialise late, and with it much of the program before: see their package
// comments.
func TestEarly(t *testing.T) {
	earliest := strings.Fields("cmp context errors io io/fs iter math/bits os os/signal path runtime slices strconv sync syscall time unicode/utf8 unsafe")
	early := append(strings.Fields("bytes encoding/base64 fmt maps math reflect unicode"), earliest...)
	own := "plugins/sandbox/executor/"
	allowed := map[string][]string{own + "process/supervise": earliest, own + "guest": early, own + "sandbox/first": early}
	for _, p := range listed(t) {
		list, ok := allowed[p.path()]
		if !ok {
			continue
		}
		delete(allowed, p.path())
		for _, dep := range p.Deps {
			if !strings.Contains(dep, "internal/") && !below(dep, "runtime") && !below(dep, "sync") && !slices.Contains(list, dep) && !below(dep, module+"/"+own+"guest") && !below(dep, module+"/"+own+"process/supervise") {
				t.Errorf("%s depends on %s, which is initialised late", p.path(), dep)
			}
		}
	}
	if len(allowed) > 0 {
		t.Errorf("no such packages: %v", allowed)
	}
}

// homes says which folders may import a third-party library directly.
var homes = []struct {
	library string
	folders []string
}{
	{"github.com/dominikbraun/graph", []string{"engine/dag"}},
	{"github.com/apache/arrow", []string{"plugins/data/table"}},
	{"github.com/klauspost/compress", []string{"plugins/transfer/archive", "cache"}},
	{"github.com/containerd", []string{"plugins/sandbox/executor"}},
	{"github.com/distribution/reference", []string{"plugins/sandbox/executor/docker"}},
	{"github.com/moby/moby", []string{"plugins/sandbox/executor/docker"}},
	{"github.com/google/go-containerregistry", []string{"plugins/sandbox/executor/image", "plugins/sandbox/executor/containerd", "plugins/sandbox/executor/docker", "plugins/sandbox/executor/sandbox"}},
	{"github.com/elastic/go-seccomp-bpf", []string{"plugins/sandbox/executor/sandbox"}},
	{"golang.org/x/net", []string{"plugins/sandbox/executor/sandbox"}},
	{"github.com/opencontainers", []string{"plugins/sandbox/executor"}},
	{"tags.cncf.io", []string{"plugins/sandbox/executor"}},
	{"github.com/BurntSushi/toml", []string{"plugins/sandbox/pyenv", "cmd/mleflow/internal/dev/release"}},
	{"github.com/minio", []string{"cache/remote"}},
	{"gopkg.in/ini.v1", []string{"cache/remote"}},
	{"github.com/spf13", []string{"cmd"}},
	{"github.com/modelcontextprotocol", []string{"cmd/mleflow/internal/mcp", "cmd/mleflow/internal/cli"}},
	{"github.com/charmbracelet", []string{"cmd/mleflow/internal/view"}},
	{"github.com/hashicorp/go-version", []string{"engine/config"}},
	{"github.com/bmatcuk/doublestar", []string{"engine/local"}},
	{"github.com/dustin/go-humanize", []string{"engine/step", "plugins/data/compare", "competitions/pins", "cmd/mleflow/internal/view"}},
	{"github.com/agext/levenshtein", []string{"engine/diag"}},
	{"github.com/rogpeppe/go-internal", []string{"cmd"}},
	{"github.com/santhosh-tekuri/jsonschema", []string{"cmd"}},
	{"golang.org/x/term", []string{"cmd/mleflow/internal/view"}},
	{"golang.org/x/text", []string{"cmd/mleflow/internal/web/site"}},
	{"k8s.io", []string{"plugins/cluster/kubernetes"}},
	{"sigs.k8s.io/yaml", []string{"engine/sched"}},
	{"go.yaml.in/yaml/v3", []string{"engine/config", "competitions/importer"}},
	{"go.opentelemetry.io", []string{"cmd/mleflow/internal/telemetry"}},
	{"github.com/nicholas-fedor/shoutrrr", []string{"cmd/mleflow/internal/notify"}},
	{"github.com/go-logr", []string{"cmd/mleflow/internal/telemetry"}},
	{"github.com/hashicorp/hcl", []string{"engine", "competitions", "cmd", "steps"}},
	{"github.com/zclconf/go-cty", []string{"engine", "competitions", "cmd", "steps"}},
}

func TestLibrariesStayAtHome(t *testing.T) {
	for _, p := range listed(t) {
		for _, imported := range p.Imports {
			for _, h := range homes {
				if strings.HasPrefix(imported, h.library) && !slices.ContainsFunc(h.folders, func(f string) bool { return below(p.path(), f) }) {
					t.Errorf("%s imports %s, whose home is %s", p.path(), imported, strings.Join(h.folders, ", "))
				}
			}
		}
	}
}

// banned are modules that are too heavy for what they would do here, with what
// does it instead.
var banned = []struct{ module, instead string }{
	{"gocloud.dev", "cache/remote"},
	{"cloud.google.com/", "the protocol of S3, cache/remote"},
	{"google.golang.org/api", "the protocol of S3, cache/remote"},
	{"github.com/Azure/", "a gateway that speaks S3, or a folder"},
	{"github.com/AzureAD/", "a gateway that speaks S3, or a folder"},
	{"github.com/aws/", "minio-go in cache/remote"},
	{"gonum.org/v1/plot", "SVG, as cmd/mleflow/internal/web/page writes it"},
}

// TestHeavyPackagesStayOut keeps out of the program what its libraries would
// bring if they were imported at the wrong place.
func TestHeavyPackagesStayOut(t *testing.T) {
	heavy := map[string]string{
		"github.com/apache/arrow/go/v17/arrow/compute":   "read and write Parquet by parquet/file, not pqarrow",
		"github.com/apache/arrow/go/v17/parquet/pqarrow": "read and write Parquet by parquet/file",
	}
	for _, p := range listed(t) {
		if p.path() != "cmd/mleflow" {
			continue
		}
		for _, dep := range p.Deps {
			if why, ok := heavy[dep]; ok {
				t.Errorf("the program depends on %s: %s", dep, why)
			}
		}
	}
}

// TestHeavyModulesStayOut keeps go.mod without the clients of single clouds.
func TestHeavyModulesStayOut(t *testing.T) {
	text, err := os.ReadFile("../../../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		for _, b := range banned {
			if required := strings.TrimPrefix(strings.TrimSpace(line), "require "); strings.HasPrefix(required, b.module) {
				t.Errorf("go.mod requires %s; use %s", required, b.instead)
			}
		}
	}
}
