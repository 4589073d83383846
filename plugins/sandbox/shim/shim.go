package shim

import (
	"bufio"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
)

//go:embed python/bin/* python/mlebench/*.py python/mlebench/competitions/*.py python/mlebench/competitions/*.csv
var embedded embed.FS

// Competition is the package's information about the competition.
type Competition struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Type is "simple" or "code".
	Type   string `json:"type"`
	Metric string `json:"metric"`
	// Sample is the path of the sample submission below the data, or "".
	Sample        string `json:"sample"`
	LowerIsBetter bool   `json:"is_lower_better"`
}

// Task is the package's data in addition to its code.
type Task struct {
	Competition Competition `json:"competition"`
	// IDs are the IDs of all competitions.
	IDs []string `json:"ids"`
	// Sets maps the name of each set to its members.
	Sets map[string][]string `json:"-"`
}

// The folders below the root that Write fills.
const (
	// Python is the folder for PYTHONPATH: the root itself.
	Python = "."
	// Commands is the folder for PATH.
	Commands = "bin"
)

// files returns the files that Write writes, by path.
func (t Task) files() (map[string][]byte, error) {
	list := map[string][]byte{}
	err := fs.WalkDir(embedded, "python", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(path)
		list[strings.TrimPrefix(path, "python/")] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	if list["task.json"], err = json.Marshal(t); err != nil {
		return nil, err
	}
	for name, ids := range t.Sets {
		list["experiments/splits/"+name+".txt"] = []byte(strings.Join(ids, "\n") + "\n")
	}
	return list, nil
}

// Write writes the package, the command and the task to the new folder dir.
func (t Task) Write(dir string) error {
	files, err := t.files()
	if err != nil {
		return fmt.Errorf("write shim: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, mode := filepath.Join(dir, name), fs.FileMode(0o644)
		if strings.HasPrefix(name, Commands+"/") {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write shim: %w", err)
		}
		if err := os.WriteFile(path, files[name], mode); err != nil {
			return fmt.Errorf("write shim: %w", err)
		}
	}
	return nil
}

// Digest identifies the files that Write writes.
func (t Task) Digest() (digest.ContentID, error) {
	files, err := t.files()
	if err != nil {
		return digest.ContentID{}, err
	}
	text, err := json.Marshal(files) // keys are sorted
	return digest.Of(text), err
}

// Kind is the purpose of a call.
type Kind string

// The kinds.
const (
	Grade       Kind = "grade"
	Answers     Kind = "answers"
	Leaderboard Kind = "leaderboard"
	Download    Kind = "download"
)

var kinds = []Kind{Grade, Answers, Leaderboard, Download}

// Record is one call that was refused or withheld, as the agent's side reports it.
type Record struct {
	// Time is when the host received it; At is the time on the sandbox's own clock.
	Time time.Time `json:"time"`
	At   string    `json:"at"`
	Kind Kind      `json:"kind"`
	Call string    `json:"call"`
	// Arguments are the names of the arguments, never their values.
	Arguments []string `json:"arguments,omitempty"`
	// File and Line are the place of the call; Line is 0 for a command.
	File string `json:"file"`
	Line int    `json:"line"`
	// Late means that the record could not be sent and was found in the logs.
	Late bool `json:"late,omitempty"`
}

const (
	// maxBody limits the size of one record.
	maxBody      = 16 << 10
	maxText      = 512
	maxArguments = 16
	// Fallback is the file in the logs for records that could not be sent.
	Fallback = "mlebench_shim.jsonl"
	// fallbackLines limits the number of lines that are read of it.
	fallbackLines = 1000
)

var errRecord = errors.New("not a record of the shim")

// parse parses a record from the agent's side. It trusts nothing in it: unknown fields
// are dropped, and strings are truncated.
func parse(data []byte) (Record, error) {
	var sent struct {
		At, Call, File string
		Kind           Kind
		Arguments      []string
		Line           int
	}
	if err := json.Unmarshal(data, &sent); err != nil || sent.Call == "" || !slices.Contains(kinds, sent.Kind) {
		return Record{}, errRecord
	}
	r := Record{
		Time: time.Now().UTC(), At: cut(sent.At), Kind: sent.Kind, Call: cut(sent.Call), File: cut(sent.File), Line: max(0, sent.Line),
	}
	for _, name := range sent.Arguments[:min(len(sent.Arguments), maxArguments)] {
		r.Arguments = append(r.Arguments, cut(name))
	}
	return r, nil
}

func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "\uFFFD")
}

// Handler receives records over HTTP and passes them to add.
func Handler(add func(Record)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, fmt.Sprintf("a record has %d bytes at most", maxBody), http.StatusRequestEntityTooLarge)
			return
		}
		rec, err := parse(data)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		add(rec)
		w.WriteHeader(http.StatusNoContent)
	})
}

// Late passes the records of a fallback file to add. It skips invalid lines and
// everything beyond the limits.
func Late(file io.Reader, add func(Record)) error {
	lines := bufio.NewScanner(io.LimitReader(file, fallbackLines*maxBody))
	lines.Buffer(make([]byte, 0, maxBody), maxBody)
	for n := 0; n < fallbackLines && lines.Scan(); n++ {
		if rec, err := parse(lines.Bytes()); err == nil {
			rec.Late = true
			add(rec)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("read %s: %w", Fallback, err)
	}
	return nil
}

// Group stands for the records of one call at one place in the agent's code.
type Group struct {
	Kind Kind   `json:"kind"`
	Call string `json:"call"`
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Times is the number of its records in the log.
	Times int `json:"times"`
}

// Place returns the file and, if it is known, the line.
func (g Group) Place() string {
	switch {
	case g.File == "":
		return "not known"
	case g.Line == 0:
		return g.File
	}
	return g.File + ":" + strconv.Itoa(g.Line)
}

// maxGroups limits the size of a Tally, because an agent can invent places.
const maxGroups = 100

// Tally counts records.
type Tally struct {
	groups map[Group]int
	// Others is the number of records beyond the groups of the Tally.
	Others int
}

// Add counts a record.
func (t *Tally) Add(r Record) {
	g := Group{Kind: r.Kind, Call: r.Call, File: r.File, Line: r.Line}
	if _, ok := t.groups[g]; !ok && len(t.groups) == maxGroups {
		t.Others++
		return
	}
	if t.groups == nil {
		t.groups = map[Group]int{}
	}
	t.groups[g]++
}

// Groups returns the groups, the most frequent first.
func (t *Tally) Groups() []Group {
	list := make([]Group, 0, len(t.groups))
	for g, times := range t.groups {
		g.Times = times
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Call, b.Call), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// Tools returns the modules of the package that also preparers and graders import where no
// agent is, by path.
func Tools() map[string][]byte {
	list := map[string][]byte{}
	for _, name := range []string{"mlebench/_tools.py", "mlebench/metrics.py", "mlebench/competitions/utils.py"} {
		list[name], _ = embedded.ReadFile("python/" + name) // it is there
	}
	return list
}
