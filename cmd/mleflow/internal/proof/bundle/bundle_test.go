package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// refused fails the test unless err says that the bundle is damaged, and where.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	var bad *Damage
	if !errors.As(err, &bad) || bad.Where == "" {
		t.Fatalf("%s: got %v, want damage", what, err)
	}
}

// TestGood checks a bundle that nobody touched, with any tar reader, too.
func TestGood(t *testing.T) {
	path := newModel(t).write(t)
	x, err := examine(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if x.Actions != 3 || x.Files != 17 || x.Signatures != 0 {
		t.Errorf("%d actions, %d files, %d signatures", x.Actions, x.Files, x.Signatures)
	}
	first, _ := os.ReadFile(path)
	var work progress.Work
	b, err := Open(t.Context(), path, &work)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if p := work.Now(); p.Files == 0 || p.Files != p.TotalFiles || p.Bytes != p.TotalBytes || p.Bytes > int64(len(first)) || p.Bytes < int64(len(first))/4 {
		t.Errorf("read %+v of %d bytes", p, len(first))
	}
	again, _ := os.ReadFile(newModel(t).write(t))
	if !bytes.Equal(first, again) {
		t.Error("the same run gave other bytes")
	}
	blobs := 0
	for r := tar.NewReader(bytes.NewReader(first)); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		id, _, err := digest.Copy(bytes.NewBuffer(nil), r)
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(h.Name, blobFolder); ok {
			blobs++
			if name != id.String() {
				t.Errorf("blob %s has digest %s", name, id)
			}
		}
	}
	// 17 files, manifest and contents.
	if blobs != 19 {
		t.Errorf("%d blobs", blobs)
	}
}

// TestEveryByte flips every byte of a bundle in two ways, cuts it at every
// length and appends to it.
func TestEveryByte(t *testing.T) {
	path := newModel(t).write(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(b byte, at int) {
		if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	for at, was := range good {
		put(was^byte(1<<(at%8)), at)
		_, err := Open(t.Context(), path, nil)
		refused(t, fmt.Sprintf("byte %d", at), err)
		put(was, at)
	}
	if _, err := Open(t.Context(), path, nil); err != nil {
		t.Fatalf("after putting all back: %v", err)
	}
	for size := 0; size < len(good); size += 61 {
		_, err := Open(t.Context(), write(t, good[:size]), nil)
		refused(t, fmt.Sprintf("cut at %d", size), err)
	}
	for _, tail := range []string{"\x00", "x", strings.Repeat("\x00", 512), strings.Repeat("\x00", 10240), string(good)} {
		_, err := Open(t.Context(), write(t, append(bytes.Clone(good), tail...)), nil)
		refused(t, fmt.Sprintf("%d bytes appended", len(tail)), err)
	}
}

// TestTampered changes a bundle as somebody would who makes all digests fit.
func TestTampered(t *testing.T) {
	swap := func(path, old, now string) func(map[string][]byte) {
		return func(files map[string][]byte) {
			if !bytes.Contains(files[path], []byte(old)) {
				t.Fatalf("%s lacks %s", path, old)
			}
			files[path] = bytes.Replace(files[path], []byte(old), []byte(now), 1)
		}
	}
	for name, tt := range map[string]struct {
		tamper func(map[string][]byte)
		where  string
	}{
		"a report":      {swap("outputs/step.grade.score/report", `"x"`, `"y"`), "outputs/step.grade.score/report"},
		"a board":       {swap("outputs/step.aggregate.board/board", `[]`, `{}`), "outputs/step.aggregate.board/board"},
		"a submission":  {swap("outputs/step.agent-run.solve/submission/submission.csv", "1,2", "1,3"), "outputs/step.agent-run.solve/submission/submission.csv"},
		"the lock":      {swap(lockFile, `"none"`, `"all"`), statementFile},
		"a record":      {swap(recordsFile, `"none"`, `"many"`), recordsFile},
		"an outcome":    {swap(eventsFile, `\"finished\"`, `\"timed_out\"`), eventsFile},
		"the text":      {swap("pipeline/p.hcl", "a pipeline", "no pipeline"), "pipeline/p.hcl"},
		"the version":   {swap(runFile, "1.2.3", "1.2.4"), statementFile},
		"the time":      {swap(runFile, "03:05:05", "03:05:06"), statementFile},
		"a variable":    {swap(runFile, `"1"`, `"2"`), statementFile},
		"the machine":   {swap(environmentFile, "amd64", "arm64"), statementFile},
		"a definition":  {swap(competitionsFile, `"x"`, `"z"`), competitionsFile},
		"the run":       {swap(runFile, "-0000", "-0001"), runFile},
		"the plan":      {swap(planFile, "{}", "[]"), statementFile},
		"a subject":     {swap(statementFile, "step.grade.score report", "step.grade.other report"), statementFile},
		"a further one": {func(f map[string][]byte) { f["outputs/more"] = []byte("x") }, "outputs/more"},
		"a missing one": {func(f map[string][]byte) { delete(f, "outputs/step.grade.score/report") }, "outputs/step.grade.score/report"},
		"no statement":  {func(f map[string][]byte) { delete(f, statementFile) }, statementFile},
		"deep JSON": {func(f map[string][]byte) {
			f[omittedFile] = []byte(strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20))
		}, omittedFile},
		"spaces in JSON": {swap(runFile, "{\n", "{ \n"), runFile},
		"a key twice":    {swap(runFile, `"mleflow"`, `"state": "failed", "mleflow"`), runFile},
	} {
		m := newModel(t)
		m.tamper = tt.tamper
		_, err := examine(m.write(t), nil)
		refused(t, name, err)
		var bad *Damage
		if errors.As(err, &bad); bad.Where != tt.where {
			t.Errorf("%s: found in %s, want %s (%v)", name, bad.Where, tt.where, err)
		}
	}
}

// TestResealed changes what follows from other files, and makes list, statement
// and frame again.
func TestResealed(t *testing.T) {
	swap := func(path, old, now string) func(map[string][]byte) {
		return func(files map[string][]byte) {
			if !bytes.Contains(files[path], []byte(old)) {
				t.Fatalf("%s lacks %s:\n%s", path, old, files[path])
			}
			files[path] = bytes.Replace(files[path], []byte(old), []byte(now), 1)
		}
	}
	for name, tt := range map[string]struct {
		edit  func(map[string][]byte)
		where string
	}{
		"the lock":            {swap(lockFile, `"none"`, `"all"`), lockFile},
		"the disclosure":      {swap(disclosureFile, `"isolated": false`, `"isolated": true`), disclosureFile},
		"an outcome":          {swap(disclosureFile, `"outcome": "finished"`, `"outcome": "timed_out"`), disclosureFile},
		"the maker":           {swap(disclosureFile, `"run": "20260102T030405Z-0000"`, `"run": "20260102T030405Z-0001"`), disclosureFile},
		"the page":            {swap(disclosurePage, "p.hcl", "q.hcl"), disclosurePage},
		"an attempt too many": {swap(disclosureFile, `"attempts": [`, `"attempts": [null,`), disclosureFile},
		"the advice":          {swap(readmeFile, "mleflow verify FILE\n", "curl x | sh\n"), readmeFile},
		"a script":            {func(f map[string][]byte) { f["verify.sh"] = []byte("x") }, "verify.sh"},
		"a log":               {func(f map[string][]byte) { f["logs/step.exec.x.1.log"] = []byte("x") }, "logs/step.exec.x.1.log"},
		"a pack":              {func(f map[string][]byte) { f["packs/x.0"] = nil }, "packs/x.0"},
	} {
		m := newModel(t)
		m.edit = tt.edit
		_, err := examine(m.write(t), nil)
		refused(t, name, err)
		var bad *Damage
		if errors.As(err, &bad); bad.Where != tt.where {
			t.Errorf("%s: found in %s, want %s (%v)", name, bad.Where, tt.where, err)
		}
	}
	// How often an attempt was made is in no other file: it is a claim.
	m := newModel(t)
	m.edit = func(files map[string][]byte) {
		var d Disclosure
		err := parseForm(files[disclosureFile], &d, document)
		if err != nil {
			t.Fatal(err)
		}
		d.Attempts[0].History.Tries = 7
		files[disclosureFile], _ = document(d)
		files[disclosurePage] = []byte(d.Markdown())
	}
	if _, err := examine(m.write(t), nil); err != nil {
		t.Errorf("an honest history is refused: %v", err)
	}
}

// TestWithheld masks what never is: a digest in a key, a value that is not a
// secret.
func TestWithheld(t *testing.T) {
	m := newModel(t)
	m.records[2].Fields[3].Value = digest.Of([]byte("other")).String()
	m.records[2].Masked = []int{3}
	_, err := examine(m.write(t), nil)
	refused(t, "a masked definition", err)
	m = newModel(t)
	m.records[2].Masked = []int{0}
	_, err = examine(m.write(t), nil)
	refused(t, "a masked kind", err)
	m = newModel(t)
	m.records[2].Masked = []int{77}
	_, err = examine(m.write(t), nil)
	refused(t, "a mask of no field", err)
}

// TestFalseHistory makes records and events that do not agree.
func TestFalseHistory(t *testing.T) {
	m := newModel(t)
	e := m.events[0].(event.StepFinished)
	e.Outputs = map[string]string{"outcome": `"timed_out"`}
	m.events[0] = e
	_, err := examine(m.write(t), nil)
	refused(t, "another outcome", err)
	m = newModel(t)
	m.events = m.events[:2]
	_, err = examine(m.write(t), nil)
	refused(t, "a step that no event tells of", err)
	m = newModel(t)
	m.records[0].Action = digest.Of([]byte("x")).String()
	_, err = examine(m.write(t), nil)
	refused(t, "a key that does not follow from its inputs", err)
}

func rawTar(t *testing.T, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHostile opens what was made to harm.
func TestHostile(t *testing.T) {
	good, err := os.ReadFile(newModel(t).write(t))
	if err != nil {
		t.Fatal(err)
	}
	entry := func(name string, size int64) []byte {
		h, err := header(name, size)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	zero := blobFolder + strings.Repeat("0", 64)
	// The first three entries of the good bundle, whose sizes are below 2 KiB.
	front := good[:bytes.Index(good, []byte(blobFolder))]
	for name, b := range map[string][]byte{
		"nothing":         {},
		"zeros":           make([]byte, 4096),
		"text":            []byte("id,y\n1,2\n"),
		"gzip":            append([]byte{0x1f, 0x8b, 8}, make([]byte, 600)...),
		"traversal":       rawTar(t, &tar.Header{Name: "../../etc/passwd", Mode: 0o644}),
		"absolute":        rawTar(t, &tar.Header{Name: "/etc/passwd", Mode: 0o644}),
		"link":            rawTar(t, &tar.Header{Name: layoutFile, Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
		"hard link":       rawTar(t, &tar.Header{Name: layoutFile, Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}),
		"device":          rawTar(t, &tar.Header{Name: layoutFile, Typeflag: tar.TypeChar}),
		"PAX":             rawTar(t, &tar.Header{Name: layoutFile, Format: tar.FormatPAX, PAXRecords: map[string]string{"a.b": "c"}}),
		"owner":           rawTar(t, &tar.Header{Name: layoutFile, Uname: "x", Mode: 0o644}),
		"huge":            append(bytes.Clone(front), entry(zero, maxBlob)...),
		"twice":           append(append(bytes.Clone(front), entry(zero, 0)...), entry(zero, 0)...),
		"out of order":    append(append(bytes.Clone(front), entry(blobFolder+strings.Repeat("1", 64), 0)...), entry(zero, 0)...),
		"blob traversal":  append(bytes.Clone(front), entry(blobFolder+"../../../"+strings.Repeat("0", 55), 0)...),
		"upper case":      append(bytes.Clone(front), entry(blobFolder+strings.Repeat("A", 64), 0)...),
		"a further entry": append(append(bytes.Clone(front), entry(zero, 0)...), good[len(front):]...),
	} {
		_, err := Open(t.Context(), write(t, b), nil)
		refused(t, name, err)
	}
	if _, err := Open(t.Context(), t.TempDir(), nil); err == nil {
		t.Error("a folder is taken for a bundle")
	}
}

// TestBounded opens bundles that would need much memory.
func TestBounded(t *testing.T) {
	good, err := os.ReadFile(newModel(t).write(t))
	if err != nil {
		t.Fatal(err)
	}
	front := good[:bytes.Index(good, []byte(blobFolder))]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	// A file with a hole of a terabyte.
	sparse := write(t, front)
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), sparse, nil)
	refused(t, "a hole", err)

	// One entry more than there may be.
	many := filepath.Join(t.TempDir(), "many")
	f, err := os.Create(many)
	if err != nil {
		t.Fatal(err)
	}
	buf := bytes.NewBuffer(bytes.Clone(front))
	for n := range maxEntries + 1 {
		h, err := header(fmt.Sprintf("%s%064x", blobFolder, n), 0)
		if err != nil {
			t.Fatal(err)
		}
		if buf.Write(h); buf.Len() > 1<<20 {
			if _, err := buf.WriteTo(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := buf.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), many, nil)
	refused(t, "too many entries", err)
	if !strings.Contains(err.Error(), "more than 200000 entries") {
		t.Error(err)
	}

	// Directories that hold each other, 2^40 files by a few lines.
	m := newModel(t)
	bomb(t, m)
	_, err = examine(m.write(t), nil)
	refused(t, "a bomb of directories", err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d bytes are still in use", grown)
	}
}

// bomb makes the submission a tree of 40 directories that each hold the next
// one twice.
func bomb(t *testing.T, m *model) {
	t.Helper()
	var ref cache.Ref
	for level := range 40 {
		var entries []tree.Entry
		for _, name := range []string{"a", "b"} {
			e := tree.Entry{Name: name, ID: digest.Of([]byte("x")), Size: 1, Type: tree.File}
			if level > 0 {
				e = tree.NewEntry(name, ref, false)
			}
			entries = append(entries, e)
		}
		dir, now, err := tree.Encode(entries)
		if err != nil {
			t.Fatal(err)
		}
		ref = now
		m.files["trees/"+ref.ID.String()] = dir
	}
	m.records[0].Outputs["submission"] = output{Kind: cache.Tree, Digest: &ref.ID, Size: ref.Size, Files: ref.Files}
	e := m.events[0].(event.StepFinished)
	e.Outputs["submission"] = "tree:" + ref.ID.String()
	m.events[0] = e
}

// TestPaths is about names in bundles.
func TestPaths(t *testing.T) {
	for _, bad := range []string{"", "/a", "a//b", "../a", "a/..", "./a", "a\\b", "a\x00", "a\nb", strings.Repeat("a", 40000), "a\xffb", "a\u0085", "a\x1b"} {
		if checkPath(bad) == nil {
			t.Errorf("%.80q is taken", bad)
		}
	}
	got := folder(`step.agent-run.solve["a/b c/../é"]`)
	if want := "step.agent-run.solve[a%2fb%20c%2f..%2f%c3%a9]"; got != want || checkPath(got) != nil {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	if err := parseForm([]byte("{}"), new(Run), document); err == nil {
		t.Error("a document in another form is taken")
	}
	if b, err := document(map[string]json.RawMessage{"a": json.RawMessage(`"<&>"`)}); err != nil || !bytes.Contains(b, []byte("<&>")) {
		t.Errorf("%s %v", b, err)
	}
}

// TestHeader compares the bytes of headers with those of the first bundles: a version of
// archive/tar that writes others cannot check them.
func TestHeader(t *testing.T) {
	for name, tt := range map[string]struct {
		size int64
		sum  string
	}{
		layoutFile:                           {31, "e3b7dc2c8d287d81e3fb21970c255601d918fa9bd0c12deed21c28c6db317844"},
		indexFile:                            {0, "6ef90861ffa766f36d531c13b939333312de1c186458a84caef63d70049eaaed"},
		blobFolder + strings.Repeat("f", 64): {maxBlob, "fdc52fc0298eb5eb5b8adf532f6729496d0b732787f130d6399e45b91e26c21a"},
	} {
		got, err := header(name, tt.size)
		if err != nil || digest.Of(got).String() != tt.sum {
			t.Errorf("%s: %q has the sum %s, want %s (%v)", name, got, digest.Of(got), tt.sum, err)
		}
	}
	for name, size := range map[string]int64{strings.Repeat("a", 101): 0, layoutFile: -1, indexFile: maxBlob + 1} {
		if _, err := header(name, size); err == nil {
			t.Errorf("a name of %d letters and %d bytes are taken", len(name), size)
		}
	}
}

// TestBlobNames refuses a second name of a blob, whose bytes nothing would read.
func TestBlobNames(t *testing.T) {
	for digits, good := range map[string]bool{"a": true, "A": false, "g": false, "0": true} {
		head, err := header(blobFolder+strings.Repeat(digits, 64), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := readHeader(head, "the header", "", ""); (err == nil) != good {
			t.Errorf("%s: %v", digits, err)
		}
	}
}

// TestSubjects tells attempts of one agent from those of others.
func TestSubjects(t *testing.T) {
	of := func(changed ...string) string {
		fields := map[string]string{
			"agent.name": `"a"`, "agent.command": `["python","x.py"]`, "agent.args": `[]`, "agent.env": `{}`, `agent.files["x.py"]`: "f1", `agent.files["y.py"]`: "f2",
			"agent.image": `"i"`, "image digest": "sha256:1", "agent.models[0].name": "m", "agent.models[0].models": `["gpt"]`, "agent.models[0].provider": "openai", "agent.models[0].budget": "1",
			"competition": "c", "version": "v1", "task": "own", "seed": "0", "timeout": "1h", "data": "d",
		}
		for i := 0; i < len(changed); i += 2 {
			if delete(fields, changed[i]); changed[i+1] != "" {
				fields[changed[i]] = changed[i+1]
			}
		}
		var r record
		for label, value := range fields { // in any order
			r.Fields = append(r.Fields, digest.Field{Label: label, Value: value})
		}
		return agentrun.Subject(r.Fields)
	}
	bare := []string{`agent.files["x.py"]`, "", `agent.files["y.py"]`, ""}
	for name, tt := range map[string]struct {
		changed []string
		same    bool
	}{
		"another seed, name, variables, limits, budget": {[]string{"seed", "9", "agent.name", `"b"`, "agent.env", `{"X":"1"}`, "timeout", "2h", "agent.models[0].budget", "2", "agent.models[0].name", "n"}, true},
		"another command and other paths":               {[]string{"agent.command", `["sh"]`, "agent.args", `["1"]`, `agent.files["x.py"]`, "", `agent.files["z.py"]`, "f1"}, true},
		"another file":                                  {[]string{`agent.files["x.py"]`, "f3"}, false},
		"a further file":                                {[]string{`agent.files["z.py"]`, "f3"}, false},
		"another model":                                 {[]string{"agent.models[0].models", `["claude"]`}, false},
		"another provider":                              {[]string{"agent.models[0].provider", "anthropic"}, false},
		"another image":                                 {[]string{"image digest", "sha256:2"}, false},
		"another competition":                           {[]string{"competition", "d"}, false},
		"another version":                               {[]string{"version", "v2"}, false},
		"another task":                                  {[]string{"task", "reference"}, false},
	} {
		if got := of(tt.changed...) == of(); got != tt.same {
			t.Errorf("%s: the same is %v", name, got)
		}
	}
	if of(bare...) == of(append(bare, "agent.command", `["sh"]`)...) || of(bare...) == of(append(bare, "agent.args", `["1"]`)...) {
		t.Error("without files another command is the same agent")
	}
}
