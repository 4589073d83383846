package lockfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/lockfile"
)

func at(kind, key string) addr.Instance {
	s := addr.Step{Kind: kind, Name: "a"}
	if key == "" {
		return addr.Single(s)
	}
	return addr.Keyed(s, key)
}

func sample() *lockfile.File {
	h := digest.NewHasher("download", "2")
	h.String("competition", "toy")
	h.String("source MD5", "11")
	h.String("source MD5", "22")
	h.String("label ${not} a \"template\" %{x}", "line\nbreak ${x}")
	outputs := cache.Outputs{
		"tree":  {Ref: cache.Ref{Kind: cache.Tree, ID: digest.Of([]byte("t")), Size: 3, Files: 1}},
		"files": {JSON: []byte(`[{"name":"x"}]`)},
	}
	return lockfile.New("0.2.0", "toy.hcl", []lockfile.Step{
		{Addr: at("grade", "x/1"), Inputs: map[string]string{"submission": lockfile.Vary("step.agent-run.a")}},
		{Addr: at("download", ""), Action: h.Sum(), Inputs: lockfile.Inputs(h.Fields()), Outputs: lockfile.Outputs(outputs)},
		{Addr: at("grade", "\"quoted\" ${key}"), Inputs: map[string]string{}},
	})
}

func parse(t *testing.T, text []byte) *lockfile.File {
	t.Helper()
	f, diags := lockfile.Parse("toy.lock.hcl", text)
	if diags.HasErrors() {
		t.Fatalf("%v in:\n%s", diags, text)
	}
	return f
}

// TestRoundTrip writes, reads and writes again.
func TestRoundTrip(t *testing.T) {
	want := sample()
	text := want.Encode()
	got := parse(t, text)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s\n%s", diff, text)
	}
	if diff := cmp.Diff(string(text), string(got.Encode())); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
	for _, line := range []string{`"source MD5 (2)"`, `step "download" "a" {`, `step "grade" "a" "x/1" {`, `mleflow  = "0.2.0"`} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%s is not in:\n%s", line, text)
		}
	}
}

func TestCompare(t *testing.T) {
	change := func(edit func(*lockfile.File)) *lockfile.File {
		f := parse(t, sample().Encode())
		edit(f)
		return f
	}
	tests := []struct {
		name string
		edit func(*lockfile.File)
		want string
	}{
		{"same", func(*lockfile.File) {}, ""},
		{"version", func(f *lockfile.File) { f.Version = "0.3.0" }, `mleflow: version is 0.3.0; the lock has 0.2.0`},
		{"input", func(f *lockfile.File) { f.Steps[0].Inputs["competition"] = "joy" }, `step.download.a: competition is joy; the lock has toy`},
		{"new input", func(f *lockfile.File) { f.Steps[0].Inputs["more"] = "1" }, `step.download.a: more is 1; it is not in the lock`},
		{"input gone", func(f *lockfile.File) { delete(f.Steps[0].Inputs, "competition") }, `step.download.a: competition is missing; the lock has toy`},
		{"output", func(f *lockfile.File) { f.Steps[0].Outputs["files"] = "[]" }, `step.download.a: output files is []; the lock has [{"name":"x"}]`},
		{"no outputs known", func(f *lockfile.File) { f.Steps[0].Outputs = nil }, ""},
		{"varies", func(f *lockfile.File) { f.Steps[2].Inputs["submission"] = "abc" }, ""},
		{"varying input gone", func(f *lockfile.File) { delete(f.Steps[2].Inputs, "submission") }, `step.grade.a["x/1"]: submission is missing; the lock has varies: step.agent-run.a`},
		{"step gone", func(f *lockfile.File) { f.Steps = f.Steps[:2] }, `step.grade.a["x/1"] is in the lock and not in the pipeline`},
		{"new step", func(f *lockfile.File) { f.Steps = append(f.Steps, lockfile.Step{Addr: at("zoo", "")}) }, `step.zoo.a is in the pipeline and not in the lock`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var lines []string
			for _, d := range lockfile.Compare(sample(), change(tt.edit)) {
				lines = append(lines, d.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUpdate replaces the selected entries and leaves the others' bytes alone.
func TestUpdate(t *testing.T) {
	old := sample()
	newer := parse(t, sample().Encode())
	newer.Steps[0].Inputs["competition"] = "joy"
	newer.Steps[1].Inputs["other"] = "1"
	newer.Steps = newer.Steps[:2]
	got := old.Update(newer, func(a addr.Instance) bool { return a.Step.Kind == "download" })
	var lines []string
	for _, d := range lockfile.Compare(old, got) {
		lines = append(lines, d.String())
	}
	if diff := cmp.Diff([]string{"step.download.a: competition is joy; the lock has toy"}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = old.Update(newer, func(a addr.Instance) bool { return a.Key == "x/1" })
	if _, found := got.Find(at("grade", "x/1")); found || len(got.Steps) != 2 {
		t.Errorf("a step that is gone is still locked: %+v", got.Steps)
	}
}

func TestRefuses(t *testing.T) {
	head := "lock {\n format = 1\n mleflow = \"1\"\n pipeline = \"p\"\n}\n"
	tests := []struct{ name, text, want string }{
		{"syntax", "lock {", "Unclosed"},
		{"empty", "", "one lock block"},
		{"two heads", head + head, "one lock block"},
		{"format", strings.Replace(head, "format = 1", "format = 2", 1), "Unknown format"},
		{"no version", strings.Replace(head, "mleflow = \"1\"\n", "", 1), "mleflow"},
		{"argument", head + "x = 1\n", "no arguments"},
		{"block", head + "agent \"x\" {}\n", "no \"agent\""},
		{"labels", head + "step \"x\" {\n inputs = {}\n}\n", "labels"},
		{"no inputs", head + "step \"x\" \"y\" {}\n", "inputs"},
		{"unknown argument", head + "step \"x\" \"y\" {\n inputs = {}\n more = 1\n}\n", "more"},
		{"action", head + "step \"x\" \"y\" {\n inputs = {}\n action = \"12\"\n}\n", "Wrong action"},
		{"twice", head + strings.Repeat("step \"x\" \"y\" {\n inputs = {}\n}\n", 2), "second time"},
		{"reference", head + "step \"x\" \"y\" {\n inputs = { a = b }\n}\n", "Variables not allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, diags := lockfile.Parse("x.lock.hcl", []byte(tt.text))
			if !diags.HasErrors() || !strings.Contains(diags.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", diags, tt.want)
			}
		})
	}
	if _, diags := lockfile.Read(t.TempDir() + "/none.lock.hcl"); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "mleflow lock") {
		t.Errorf("missing file: %v", diags)
	}
}
