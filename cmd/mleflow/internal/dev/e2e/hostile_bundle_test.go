package e2e

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
)

// rewrite writes a bundle again with other files, so that every digest in it fits.
func rewrite(t *testing.T, from, to string, edit func(files map[string]string)) {
	t.Helper()
	type layer struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	var m struct {
		SchemaVersion int     `json:"schemaVersion"`
		MediaType     string  `json:"mediaType"`
		ArtifactType  string  `json:"artifactType"`
		Config        layer   `json:"config"`
		Layers        []layer `json:"layers"`
	}
	entries, files, types := map[string]string{}, map[string]string{}, map[string]string{}
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		text, read := io.ReadAll(r)
		if err != nil || read != nil {
			t.Fatal(err, read)
		}
		entries[h.Name] = string(text)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	blob := func(digest string) string { return entries["blobs/sha256/"+strings.TrimPrefix(digest, "sha256:")] }
	index := entries["index.json"]
	_, rest, _ := strings.Cut(index, `"digest": "`)
	was := rest[:len("sha256:")+64]
	must(json.Unmarshal([]byte(blob(was)), &m))
	for _, l := range m.Layers {
		name := l.Annotations["org.opencontainers.image.title"]
		files[name], types[name] = blob(l.Digest), l.MediaType
	}
	pipeline := sum(files[pipelineFile])
	edit(files)
	document := func(v any) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		must(enc.Encode(v))
		return b.String()
	}
	type file struct {
		Path   string `json:"path"`
		Digest string `json:"sha256"`
		Size   int    `json:"size"`
	}
	var listing struct {
		Format int    `json:"format"`
		Run    string `json:"run"`
		Files  []file `json:"files"`
	}
	contents := blob(m.Config.Digest)
	must(json.Unmarshal([]byte(contents), &listing))
	now := sum(files[pipelineFile])
	files["run.json"] = strings.ReplaceAll(files["run.json"], pipeline, now)
	listing.Files = []file{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "provenance.") {
			listing.Files = append(listing.Files, file{name, sum(files[name]), len(files[name])})
		}
	}
	fresh := document(listing)
	files["provenance.json"] = strings.NewReplacer(pipeline, now, sum(contents), sum(fresh)).Replace(files["provenance.json"])
	blobs := map[string]string{sum(fresh): fresh}
	m.Config.Digest, m.Config.Size, m.Layers = "sha256:"+sum(fresh), len(fresh), []layer{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		blobs[sum(text)] = text
		m.Layers = append(m.Layers, layer{types[name], "sha256:" + sum(text), len(text), map[string]string{"org.opencontainers.image.title": name}})
	}
	old := len(blob(was))
	manifest := document(m)
	blobs[sum(manifest)] = manifest
	index = strings.NewReplacer(was, "sha256:"+sum(manifest), fmt.Sprintf(`"size": %d`, old), fmt.Sprintf(`"size": %d`, len(manifest))).Replace(index)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	put := func(name, text string) {
		must(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644, Format: tar.FormatUSTAR}))
		_, err := io.WriteString(w, text)
		must(err)
	}
	put("oci-layout", entries["oci-layout"])
	put("index.json", index)
	put("README.md", entries["README.md"])
	for _, id := range slices.Sorted(maps.Keys(blobs)) {
		put("blobs/sha256/"+id, blobs[id])
	}
	must(w.Close())
	must(os.WriteFile(to, out.Bytes(), 0o600))
}

// pipelineFile is the pipeline in a bundle.
const pipelineFile = "pipeline/all_kinds.hcl"

func sum(content string) string { return digest.Of([]byte(content)).String() }

// TestHostileBundles builds one board of an honest bundle and of such as crash, exhaust
// or mislead the process that checks them. The board is written, with the honest
// attempt, and says of each of the others why it counts for nothing.
func TestHostileBundles(t *testing.T) {
	f := newForger(t, honest)
	f.finish()
	f.unchain()
	f.publish()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name+".bundle") }
	rewrite(t, f.bundle, at("honest"), func(map[string]string) {})
	if stdout, stderr, code := f.stranger.run("verify", at("honest"), "--regrade", "--data-dir", f.data); code != 0 {
		t.Fatalf("a bundle that was only written again: exit %d\n%s%s", code, stdout, stderr)
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	pipeline := func(text string) func(map[string]string) {
		return func(files map[string]string) { files[pipelineFile] += text }
	}
	into := func(name, was, now string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[name], was) {
				t.Errorf("%s has no %s", name, was)
			}
			files[name] = strings.Replace(files[name], was, now, 1)
		}
	}
	for name, tt := range map[string]struct {
		edit func(map[string]string)
		says string
	}{
		"brackets":    {pipeline("\nlocals { deep = " + deep + " }\n"), ""},
		"parentheses": {pipeline("\nlocals { deep = " + strings.NewReplacer("[", "(", "]", ")").Replace(deep[:100_000]+"1"+deep[100_000:]) + " }\n"), ""},
		"blocks":      {pipeline(strings.Repeat("a {\n", 100_000) + strings.Repeat("}\n", 100_000)), ""},
		"memory":      {pipeline("\nlocals { huge = setproduct(range(3000), range(3000), range(3000)) }\n"), ""},
		"json":        {into("events.jsonl", "{", `{"x":`+deep+`,`), "events.jsonl: "},
		"plan":        {into("plan.json", "{", `{"x":`+deep+`,`), ""},
		"stranger": {func(files map[string]string) {
			files[pipelineFile] = strings.ReplaceAll(files[pipelineFile], "demo-digits", "no-such-thing")
		}, "no-such-thing"},
		"chain": {into(pipelineFile, "answers     = step.checksum.data.private", "answers     = step.agent-run.solve.submission"), ""},
		"loop":  {into(pipelineFile, "raw         = step.download.raw.tree", "raw         = step.prepare.data.public"), ""},
		"value": {into("records.jsonl", `"outcome":{"value":"finished"}`, `"outcome":{"value":`+deep+`}`), "records.jsonl: "},
	} {
		rewrite(t, f.bundle, at(name), tt.edit)
		if tt.says == "" {
			continue
		}
		// What is known to be wrong is told alone, too.
		if stdout, stderr, code := f.stranger.run("board", "build", at(name), "-o", filepath.Join(dir, "alone"), "--data-dir", f.data); code != 3 || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: exit %d, which does not say %q\n%s%.2000s", name, code, tt.says, stdout, stderr)
		}
	}
	// Files that are no bundles.
	good, err := os.ReadFile(f.bundle)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cut": good[:len(good)/2], "empty": nil, "zeros": make([]byte, 1<<20)} {
		if err := os.WriteFile(at(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	bundles, err := filepath.Glob(filepath.Join(dir, "*.bundle"))
	if err != nil {
		t.Fatal(err)
	}
	f.stranger.env = []string{"MLEFLOW_VERIFY_MEMORY=512MiB"}
	site := filepath.Join(dir, "site")
	stdout, stderr, code := f.stranger.run(slices.Concat([]string{"board", "build", "-o", site, "--data-dir", f.data}, bundles)...)
	t.Logf("exit %d\n%s%s", code, stdout, stderr)
	if code != 3 || !strings.Contains(stdout, fmt.Sprintf("the board of 1 agent from %d bundles: 1 recomputed", len(bundles))) || strings.Contains(stderr, "goroutine ") {
		t.Errorf("exit %d\n%s%.5000s", code, stdout, stderr)
	}
	page, err := os.ReadFile(filepath.Join(site, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bundles {
		name := filepath.Base(path)
		if told := strings.Contains(string(page), "Refused: "+name+".</strong> <bdi>the bundle is refused: "); told != (name != "honest.bundle") {
			t.Errorf("%s: told %v", name, told)
		}
	}
	for _, place := range []string{dir, f.data, f.stranger.cache} {
		if strings.Contains(string(page)+stderr, place) {
			t.Errorf("the board names the folder %s", place)
		}
	}
	// One that takes too long.
	f.stranger.env = nil
	stdout, stderr, code = f.stranger.run("board", "build", "-o", site, at("honest"), "--bundle-timeout", "1ms")
	if code != 3 || !strings.Contains(stderr, "refused honest.bundle: the bundle is refused: it could not be checked: checking it takes more than 1ms") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}
