package bundle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// outputs adds the content of outputs that may be published: by kind, and public graded
// content of any kind.
func (c *collector) outputs() error {
	submissions := map[string]bool{}
	for at := range graded(c.records) {
		submissions[at[0]], c.names[path.Base(at[1])] = true, true
	}
	for _, r := range c.records {
		for name, v := range r.outputs() {
			if v.Ref.IsZero() {
				continue
			}
			at := "outputs/" + folder(r.Address) + "/" + folder(name)
			rule := c.rules[r.Address]
			submitted := submissions[v.Ref.ID.String()] && rule.open(name) && !isData(rule)
			if !rule.content(name) && !submitted {
				c.omit(r.Address+" "+name, v.Ref.ID.String(), rule.why(name))
				continue
			}
			if slices.Contains(step.ConditionValues(step.TriesConditions(r.Tries), step.SecretIn), name) {
				c.omit(r.Address+" "+name, v.Ref.ID.String(), "a secret was found in it when the attempt ended")
				continue
			}
			if err := c.output(at, v.Ref, submitted || slices.Contains([]string{"submission", "snapshots", "queries"}, name)); err != nil {
				return fmt.Errorf("bundle output %s of %s: %w", name, r.Address, err)
			}
		}
	}
	return nil
}

// output adds the files of an output and the directories that they are in. A
// file of a submission that was graded is taken even if it is one of the
// competition's own: the sample may be submitted.
func (c *collector) output(at string, ref cache.Ref, submitted bool) error {
	if ref.Kind == cache.Blob {
		if why := c.leaks.refuse(c.ctx, ref.ID); why != "" {
			c.omit(at, ref.ID.String(), why)
			return nil
		}
		c.content(at, ref)
		return nil
	}
	refuse := func(e tree.Entry) string { return c.refuse(e, submitted) }
	if loose, err := c.loose(at, ref); err != nil || !loose {
		return cmp.Or(err, c.packed(at, ref, refuse))
	}
	if err := c.directory(ref.ID); err != nil {
		return err
	}
	return tree.Walk(c.ctx, c.src.Cache, ref, func(name string, e tree.Entry) error {
		if e.IsDir() {
			return c.directory(e.ID)
		}
		path := at + "/" + escapePath(name)
		if why := refuse(e); why != "" {
			c.omit(path, e.ID.String(), why)
			return nil
		}
		c.content(path, e.Ref())
		return nil
	})
}

// refuse returns the reason why a file of an output is omitted; "" if it is taken.
func (c *collector) refuse(e tree.Entry, submitted bool) string {
	switch {
	case c.answers[e.ID]:
		return "it is one of the answer files"
	case c.data[e.ID] && !(submitted && c.names[e.Name]):
		return "it is one of the competition's data files"
	case e.Size > maxBlob-block:
		return tooLarge
	}
	return c.leaks.refuse(c.ctx, e.ID)
}

// tooLarge returns the reason why a file of this size is omitted.
const tooLarge = "it is too large for one file of a bundle"

// directory adds the encoding of a directory.
func (c *collector) directory(id digest.ContentID) error {
	if c.trees[id] {
		return nil
	}
	c.trees[id] = true
	size, err := c.src.Cache.Has(c.ctx, id)
	if err != nil {
		return err
	}
	c.content("trees/"+id.String(), cache.Ref{ID: id, Size: size})
	return nil
}

// content adds an object of the cache.
func (c *collector) content(path string, ref cache.Ref) {
	if ref.Size > maxBlob-block {
		c.omit(path, ref.ID.String(), tooLarge)
		return
	}
	c.items[path] = item{File{path, ref.ID, ref.Size}, func() (io.ReadCloser, error) { return c.src.Cache.Open(c.ctx, ref.ID) }}
}

// isData reports whether a step makes data rather than a submission.
func isData(r rule) bool {
	return slices.Contains([]string{conditions.ChecksumKind, conditions.DownloadKind, conditions.PrepareKind, conditions.HoldoutKind}, r.kind.Name)
}

// why returns the reason why an output is omitted.
func (r rule) why(output string) string {
	if r.kind == nil || r.kind.Output(output) == nil {
		return "the pipeline has no such step"
	}
	if secrecy := r.kind.Output(output).Secrecy; secrecy == step.Private || secrecy == step.Inherit && r.private {
		return "it is private, or made from private data"
	}
	if isData(r) {
		return "it is data, not a result"
	}
	return "only submissions, grading reports, findings and leaderboards are included"
}

// escapePath turns a path of a tree into one of a bundle. Names of files are bytes; paths
// in a bundle are UTF-8 without control characters. All other bytes and the percent sign
// are written as %XX. Different paths stay different.
func escapePath(path string) string { return escapeBytes(strings.ReplaceAll(path, "%", "%25")) }

// escapeBytes writes as %XX every byte that cannot be in a path of a bundle.
func escapeBytes(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		if r != '\\' && !unicode.IsControl(r) && (r != utf8.RuneError || n > 1) {
			b.WriteString(path[i : i+n])
		} else {
			for _, c := range []byte(path[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		i += n
	}
	return b.String()
}

var errLeak = errors.New("it contains the value of a secret")

// leaks searches the files of agents for secrets.
type leaks struct {
	secrets *secret.Set
	store   cache.Store
	// why are the reasons to omit the files that were searched.
	why map[digest.ContentID]string
}

// refuse returns the reason why a file is omitted: "" if no secret is in it.
func (l *leaks) refuse(ctx context.Context, id digest.ContentID) string {
	why, known := l.why[id]
	if known || l.secrets.Empty() {
		return why
	}
	open := func() (io.ReadCloser, error) { return l.store.Open(ctx, id) }
	switch err := archive.Search(open, l.secrets); {
	case errors.Is(err, secret.ErrFound):
		why = errLeak.Error()
	case err != nil:
		why = fmt.Sprintf("it cannot be searched for secrets: %v", err)
	}
	l.why[id] = why
	return why
}

// withheld stands for a value or text that may reveal private data.
const withheld = "(withheld: made from private data)"

// published are the private outputs that are published all the same, by kind: scores and
// the findings of rules are the purpose of a run, and the kinds are ours.
var published = map[string][]string{
	conditions.GradeKind:     {"report"},
	conditions.AggregateKind: {"board", "files"},
	conditions.CheckKind:     {"findings", "notes", "warnings"},
}

// speaking are the kinds that consume private data but whose values and texts reveal
// none.
var speaking = []string{conditions.AggregateKind, conditions.DownloadKind, conditions.GradeKind, conditions.PrepareKind}

// quiet are the kinds whose logs are omitted: they describe faults of private data row by
// row.
var quiet = []string{conditions.DownloadKind, conditions.PrepareKind, conditions.HoldoutKind}

// rule decides which parts of an instance may be published.
type rule struct {
	kind *step.Kind
	// private reports whether it consumes private data.
	private bool
	// tainted reports whether its arguments may be withheld values.
	tainted bool
	// diskBytes is its reserved disk space, which is in no key.
	diskBytes int64
}

// rules are the rules of a pipeline's instances by address.
func rules(g *config.Graph) map[string]rule {
	all := make(map[string]rule, len(g.Instances))
	for _, inst := range g.Instances {
		r := rule{kind: inst.Step.Kind, private: inst.Private, diskBytes: inst.Limits.DiskBytes}
		for _, d := range inst.Deps {
			r.tainted = r.tainted || inst.Dynamic && !all[g.Instances[d].Addr.String()].tells()
		}
		all[inst.Addr.String()] = r
	}
	return all
}

// tells reports whether the instance's small values may be published.
func (r rule) tells() bool {
	return r.kind != nil && (!r.private || slices.Contains(speaking, r.kind.Name))
}

// logs reports whether its log may be published.
func (r rule) logs() bool { return r.tells() && !slices.Contains(quiet, r.kind.Name) }

// content reports whether the content of an output may be published.
func (r rule) content(output string) bool {
	return r.result(output) || r.kind != nil && r.kind.Name == conditions.AttemptKind && r.kind.Untrusted && r.open(output)
}

// open reports whether an output is public: its kind does not declare it private, and the
// step consumed nothing private.
func (r rule) open(output string) bool {
	if r.kind == nil || r.private {
		return false
	}
	out := r.kind.Output(output)
	return out != nil && out.Secrecy != step.Private
}

// value returns a small value in its public form.
func (r rule) value(output string, v cache.Value) cache.Value {
	if v.Ref.IsZero() && !(r.tells() && r.kind.Output(output) != nil && r.kind.Output(output).Secrecy != step.Private || r.result(output)) {
		return cache.Value{JSON: []byte(`"` + withheld + `"`)}
	}
	return v
}

func (r rule) result(output string) bool {
	return r.kind != nil && slices.Contains(published[r.kind.Name], output)
}

// fields returns the fields of a key in their public form.
func (r rule) fields(fields []digest.Field) []digest.Field {
	if !r.tainted {
		return fields
	}
	out := slices.Clone(fields)
	for i, f := range out {
		if _, err := digest.ParseContentID(f.Value); err != nil && !strings.HasPrefix(f.Label, "kind") && !step.IsCondition(f.Label) {
			out[i].Value = withheld
		}
	}
	return out
}

// masker hides the machine's names and folders in texts that mleflow wrote.
type masker struct {
	folders *strings.Replacer
	host    *regexp.Regexp
}

// homes matches home folders, except those of an agent's container.
var homes = pattern.New(`(?:/home|/Users)/[^/\s"':,;\\]+`)

// agentHomes are the home folders that every agent sees.
var agentHomes = []string{"/home/agent", "/home/code", "/home/data", "/home/instructions.txt", "/home/logs", "/home/submission", "/home/validate_submission.sh"}

// Folders are the folders of this machine that bundles hide, by their names there.
func Folders(cacheDir string) map[string]string {
	home, _ := os.UserHomeDir() // none is hidden
	return map[string]string{"CACHE": cacheDir, "~": home, "TMP": os.TempDir()}
}

// Hides reports whether a bundle of a pipeline would not show a text as it is.
func Hides(text, pipeline, cacheDir string) bool {
	folders := Folders(cacheDir)
	folders["PIPELINE"] = filepath.Dir(pipeline)
	host, _ := os.Hostname()
	return newMasker(folders, host).text(text) != text
}

// newMasker hides folders, each by its name, and the host.
func newMasker(folders map[string]string, host string) *masker {
	var pairs [][]string // a folder and its name
	for name, dir := range folders {
		if dir = filepath.Clean(dir); len(dir) < 2 || !filepath.IsAbs(dir) {
			continue
		}
		pairs = append(pairs, []string{dir, name})
		if quoted, err := json.Marshal(dir); err == nil && string(quoted[1:len(quoted)-1]) != dir {
			pairs = append(pairs, []string{string(quoted[1 : len(quoted)-1]), name})
		}
	}
	// The first match is taken, so longer ones come first.
	slices.SortFunc(pairs, func(a, b []string) int { return cmp.Or(len(b[0])-len(a[0]), slices.Compare(a, b)) })
	m := &masker{folders: strings.NewReplacer(slices.Concat(pairs...)...)}
	// Shorter names may be ordinary words.
	if len(host) >= 4 && host != "localhost" {
		m.host = regexp.MustCompile(`\b` + regexp.QuoteMeta(host) + `\b`)
	}
	return m
}

func (m *masker) text(s string) string {
	s = m.folders.Replace(s)
	s = homes.Regexp().ReplaceAllStringFunc(s, func(dir string) string {
		if slices.Contains(agentHomes, dir) {
			return dir
		}
		return "~"
	})
	if m.host != nil {
		s = m.host.ReplaceAllString(s, "HOST")
	}
	return s
}

func (m *masker) bytes(b []byte) []byte { return []byte(m.text(string(b))) }

// argument masks an argument of the command line. The last element of a path stays.
func (m *masker) argument(s string) string {
	flag, value, assigned := strings.Cut(s, "=")
	if assigned && !strings.Contains(flag, "/") && filepath.IsAbs(value) {
		return flag + "=" + path.Base(filepath.ToSlash(value))
	}
	if filepath.IsAbs(s) {
		return path.Base(filepath.ToSlash(s))
	}
	return m.text(s)
}
