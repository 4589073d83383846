package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/step"
	builder "github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/steps/image"
	"github.com/mleflow/mleflow/steps/steptest"
)

// machine stands for a container runtime: a command's layer is one file with
// what the command was given.
type machine struct {
	runs []builder.Run
	fail error
}

func (m *machine) ResolveImage(name string) (string, error) {
	_, digest, ok := strings.Cut(name, "@")
	if !ok {
		return "", fmt.Errorf("%s is not pinned", name)
	}
	return digest, nil
}

func (m *machine) ExportImage(context.Context, string, io.Writer) error { return m.fail }

func (m *machine) BuildLayer(_ context.Context, run builder.Run, logs, layer io.Writer) error {
	m.runs = append(m.runs, run)
	fmt.Fprintln(logs, "ran")
	out := tar.NewWriter(layer)
	text := strings.Join(run.Command, " ")
	if err := out.WriteHeader(&tar.Header{Name: fmt.Sprintf("made-%d", len(m.runs)), Mode: 0o644, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return m.fail
}

func texts(words ...string) cty.Value {
	list := make([]cty.Value, len(words))
	for i, w := range words {
		list[i] = cty.StringVal(w)
	}
	return cty.ListVal(list)
}

func mapping(pairs ...string) cty.Value {
	m := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = cty.StringVal(pairs[i+1])
	}
	return cty.MapVal(m)
}

// rootTar is a root file system in a tar.
func rootTar(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, f := range files {
		if err := out.WriteHeader(&tar.Header{Name: "./" + f, Mode: 0o755, Size: int64(len(f))}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(out, f)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// layers are the files of an image's layers: "path mode content".
func layers(t *testing.T, b *steptest.Bench, ref cache.Ref) (files []string) {
	t.Helper()
	in := tar.NewReader(strings.NewReader(b.Text(t, ref)))
	for {
		_, err := in.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(files)
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		layer := tar.NewReader(bytes.NewReader(data))
		for {
			f, err := layer.Next()
			if err != nil {
				break // the end, or a file that is not a layer
			}
			text, _ := io.ReadAll(layer)
			if f.Typeflag == tar.TypeReg {
				files = append(files, fmt.Sprintf("%s %o %s", filepath.Clean(f.Name), f.Mode, text))
			}
		}
	}
}

func TestBuild(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "")
	m := &machine{}
	b := steptest.New(image.Kind(image.Deps{Machine: m}))
	host := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(host, []byte("tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	values := map[string]cty.Value{
		"base_content": b.Blob(t, rootTar(t, "bin/sh")),
		"files":        mapping("/usr/bin/tool", host),
		"texts":        mapping("/start.sh", "#!/bin/sh\n", "/note", "words"),
		"contents":     cty.MapVal(map[string]cty.Value{"/opt/tree": b.Tree(t, map[string]string{"a": "A"}), "/opt/blob": b.Blob(t, "B")}),
		"run":          cty.ListVal([]cty.Value{texts("first", "1"), texts("second")}),
		"env":          mapping("A", "1"),
	}
	out, err := b.Run(t, values)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	want := []string{
		"bin/sh 755 bin/sh", "made-1 644 first 1", "made-2 644 second", "note 644 words", "opt/blob 644 B", "opt/tree/a 644 A",
		"start.sh 755 #!/bin/sh\n", "usr/bin/tool 755 tool",
	}
	if diff := cmp.Diff(want, layers(t, b, out["image"].Ref)); diff != "" {
		t.Errorf("files of the image (-want +got):\n%s", diff)
	}
	ends := map[string]step.Progress{}
	for _, p := range b.Ends(t) {
		ends[p.What] = p
	}
	size := out["image"].Ref.Size
	for _, what := range []string{"reading the image", "hashing the layer", "adding files", "running first 1", "running second", "writing the image", "storing the image"} {
		if p := ends[what]; p.Done == 0 || p.Total == 0 && !strings.HasPrefix(what, "running") {
			t.Errorf("progress of %s: %+v", what, p)
		}
	}
	// The archive is the blobs and a header each.
	if p := ends["storing the image"]; p.Done > size || p.Done < size/4 {
		t.Errorf("%+v of an archive of %d bytes", p, size)
	}
	if p := ends["adding files"]; p.Done != 9 || p.Bytes != int64(len("tool"+"A"+"B")) {
		t.Errorf("added %+v", p)
	}
	for _, run := range m.runs {
		if run.Network || len(run.Mounts)+len(run.Services)+len(run.Env) > 0 || run.Limits.CPUs != 1 {
			t.Errorf("a command was given %+v", run)
		}
	}
	again, err := b.Run(t, values)
	if err != nil || again["image"].Ref.ID == out["image"].Ref.ID {
		t.Errorf("the machine wrote something else, and the image is the same (%v)", err)
	}
	next, err := b.Run(t, map[string]cty.Value{
		"base_content": step.NewArtifact(&step.Artifact{From: "step.image.x", Output: "image", Ref: out["image"].Ref}), "texts": mapping("/more", "more"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{want[0], want[1], want[2], "more 644 more"}, want[3:]...), layers(t, b, next["image"].Ref)); diff != "" {
		t.Errorf("an image on an image (-want +got):\n%s", diff)
	}
}

// TestSameBytes sees that an image without commands is the same wherever it is
// made, and needs no machine.
func TestSameBytes(t *testing.T) {
	var refs []string
	for _, mode := range []os.FileMode{0o644, 0o600} {
		b := steptest.New(image.Kind(image.Deps{}))
		host := t.TempDir()
		if err := os.WriteFile(filepath.Join(host, "f"), []byte("f"), mode); err != nil {
			t.Fatal(err)
		}
		out, err := b.Run(t, map[string]cty.Value{"base_content": b.Blob(t, rootTar(t, "x", "y")), "files": mapping("/opt", host)})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, out["image"].Ref.ID.String()+string(out["digest"].JSON))
	}
	if refs[0] != refs[1] {
		t.Errorf("got %s", refs)
	}
}

func TestKey(t *testing.T) {
	host := filepath.Join(t.TempDir(), "f")
	write := func(text string) {
		if err := os.WriteFile(host, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	b := steptest.New(image.Kind(image.Deps{Machine: &machine{}}))
	base := func() map[string]cty.Value {
		return map[string]cty.Value{
			"base": cty.StringVal("debian@sha256:" + strings.Repeat("a", 64)), "files": mapping("/f", host), "run": cty.ListVal([]cty.Value{texts("true")}),
		}
	}
	seen := map[string]string{}
	look := func(what string, values map[string]cty.Value, same bool) {
		args := b.Args(t, values)
		s, err := b.Kind.New(args)
		if err != nil {
			t.Fatal(err)
		}
		h, err := step.Key(b.Kind, args, s)
		if err != nil {
			t.Fatal(err)
		}
		key := h.Sum().String()
		if other, found := seen[key]; found != same {
			t.Errorf("%s: key of %q", what, other)
		}
		seen[key] = what
	}
	look("first", base(), false)
	if err := os.Chtimes(host, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	look("touched", base(), true)
	write("two")
	look("file", base(), false)
	for name, v := range map[string]cty.Value{
		"base": cty.StringVal("debian@sha256:" + strings.Repeat("b", 64)), "run": cty.ListVal([]cty.Value{texts("false")}),
		"texts": mapping("/x", "x"), "env": mapping("A", "1"), "user": cty.StringVal("7:7"), "workdir": cty.StringVal("/x"),
	} {
		values := base()
		values[name] = v
		look(name, values, false)
	}
}

func TestNetwork(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "bundle.crt")
	if err := os.WriteFile(bundle, []byte("certificates"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", bundle)
	for name, tt := range map[string]struct {
		network        map[string]cty.Value
		open, services bool
		mounts         int
	}{
		"none":  {nil, false, false, 0},
		"open":  {map[string]cty.Value{"open": cty.True}, true, false, 1},
		"allow": {map[string]cty.Value{"allow": texts("example.org:443")}, false, true, 1},
	} {
		m := &machine{}
		b := steptest.New(image.Kind(image.Deps{Machine: m}))
		values := map[string]cty.Value{"base_content": b.Blob(t, rootTar(t, "x")), "run": cty.ListVal([]cty.Value{texts("true")})}
		if tt.network != nil {
			values["network"] = cty.ObjectVal(tt.network)
		}
		out, err := b.Run(t, values)
		if err != nil {
			t.Fatal(err)
		}
		run := m.runs[0]
		if run.Network != tt.open || len(run.Services) > 0 != tt.services || len(run.Mounts) != tt.mounts ||
			tt.services && run.Services[0].Env["HTTPS_PROXY"] == "" || (run.Env["PIP_CERT"] != "") != (tt.mounts > 0) {
			t.Errorf("%s: %+v", name, run)
		}
		if strings.Contains(b.Text(t, out["image"].Ref), "mleflow-certificates") {
			t.Errorf("%s: the image has what only its commands are given", name)
		}
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "data", "leaf", "prepared", "private")
	cached := filepath.Join(dir, "cache", "objects")
	for _, d := range []string{secret, cached} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	answers := filepath.Join(secret, "test.csv")
	link := filepath.Join(dir, "innocent")
	if err := os.WriteFile(answers, []byte("answers"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(answers, link); err != nil {
		t.Fatal(err)
	}
	m := &machine{}
	b := steptest.New(image.Kind(image.Deps{Machine: m, Private: []string{filepath.Join(dir, "cache")}}))
	commands := cty.ListVal([]cty.Value{texts("true")})
	for name, tt := range map[string]struct {
		values map[string]cty.Value
		want   string
	}{
		"answers":            {map[string]cty.Value{"files": mapping("/a", answers)}, "private files"},
		"link to answers":    {map[string]cty.Value{"files": mapping("/a", link)}, "private files"},
		"folder of answers":  {map[string]cty.Value{"files": mapping("/a", filepath.Join(dir, "data"))}, "private files"},
		"base of answers":    {map[string]cty.Value{"base": cty.StringVal(answers)}, "private files"},
		"cache":              {map[string]cty.Value{"files": mapping("/a", cached)}, "private files"},
		"folder of cache":    {map[string]cty.Value{"files": mapping("/a", dir)}, "private files"},
		"two bases":          {map[string]cty.Value{"base": cty.StringVal("/x"), "base_content": b.Blob(t, "x")}, "not both"},
		"commands on naught": {map[string]cty.Value{"run": commands}, "needs a base"},
		"empty command":      {map[string]cty.Value{"base": cty.StringVal("/x"), "run": cty.ListVal([]cty.Value{cty.ListValEmpty(cty.String)})}, "a command is empty"},
		"relative place":     {map[string]cty.Value{"texts": mapping("x", "x")}, "absolute"},
		"place twice":        {map[string]cty.Value{"texts": mapping("/x", "x"), "files": mapping("/x/", "/etc/hosts")}, "is also given by"},
		"idle network":       {map[string]cty.Value{"network": cty.ObjectVal(map[string]cty.Value{"open": cty.True})}, "no commands"},
		"both networks":      {map[string]cty.Value{"base": cty.StringVal("/x"), "run": commands, "network": cty.ObjectVal(map[string]cty.Value{"open": cty.True, "allow": texts("a:1")})}, "open allows everything"},
		"no image":           {map[string]cty.Value{"base_content": b.Blob(t, "this is no archive")}, "neither an OCI"},
		"missing file":       {map[string]cty.Value{"files": mapping("/x", "/does/not/exist")}, "no such file"},
	} {
		if _, err := b.Run(t, tt.values); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if len(m.runs) > 0 {
		t.Errorf("commands ran: %+v", m.runs)
	}
}
