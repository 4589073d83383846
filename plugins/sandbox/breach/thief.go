package breach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ThiefCommand is the hidden sub-command that tries the probes in place of an agent. With
// an argument it only waits, as a process to be found.
const ThiefCommand = "try-probes"

// TargetsVariable holds the Targets of a thief, as JSON.
const TargetsVariable = "MLEFLOW_TARGETS"

// FindingsFile is the file in LOGS_DIR to which a thief writes its findings.
const FindingsFile = "attack.json"

// The kinds of files that a thief looks for.
const (
	Answers = "answers" // of the competition, and its other private data
	Attempt = "attempt" // of another attempt
	Cached  = "cache"   // in the cache
	Shared  = "shared"  // in folders that all users of a machine share
)

// Result is how a probe ended.
type Result string

// The results of probes.
const (
	Reached  Result = "reached"
	Held     Result = "held"
	NotTried Result = "not tried"
)

// Finding is the result of a probe.
type Finding struct {
	Probe  string `json:"probe"`
	Tried  string `json:"tried"`
	Result Result `json:"result"`
	// Reached is what was reached, the first few. HeldBy says what held the rest, or why
	// nothing was tried.
	Reached []string `json:"reached,omitempty"`
	HeldBy  string   `json:"held_by,omitempty"`
	// Fix says what to do where something was reached.
	Fix string `json:"fix,omitempty"`
}

// mostReached is how many things a finding names.
const mostReached = 5

// probe is one thing that a thief tries. It changes nothing on the machine.
type probe struct {
	name, tried, fix string
	run              func(*thief) []try
}

// try is something that was tried; without an error it was reached.
type try struct {
	what string
	err  error
}

// skipped is why something was not tried.
type skipped string

func (s skipped) Error() string { return string(s) }

// thief is a program in an attempt's sandbox.
type thief struct {
	*Targets
	// data, code, submission and agent are the attempt's folders.
	data, code, submission, agent string
}

// Thief tries all probes, in place of an agent, and writes the findings to LOGS_DIR.
func Thief(args []string) error {
	if len(args) > 0 {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		time.Sleep(2 * time.Minute)
		return nil
	}
	var t Targets
	if err := json.Unmarshal([]byte(os.Getenv(TargetsVariable)), &t); err != nil {
		return fmt.Errorf("read what is to be tried from %s: %w", TargetsVariable, err)
	}
	text, err := json.Marshal(t.Steal())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(os.Getenv("LOGS_DIR"), FindingsFile), text, 0o600)
}

// Steal tries all probes from where it is called.
func (t *Targets) Steal() []Finding {
	return t.steal(slices.Concat(fileProbes, networkProbes, systemProbes()))
}

// System tries the probes that need no targets.
func System() []Finding { return (&Targets{}).steal(systemProbes()) }

func (t *Targets) steal(probes []probe) (list []Finding) {
	th := &thief{Targets: t, data: os.Getenv("DATA_DIR"), code: os.Getenv("CODE_DIR"), submission: os.Getenv("SUBMISSION_DIR"), agent: os.Getenv("AGENT_DIR")}
	for _, p := range probes {
		list = append(list, p.finding(p.run(th)))
	}
	return list
}

func (p probe) finding(tries []try) Finding {
	f := Finding{Probe: p.name, Tried: p.tried, Result: NotTried}
	var by []string
	for _, t := range tries {
		var not skipped
		switch {
		case t.err == nil:
			f.Result, f.Fix = Reached, p.fix
			if !slices.Contains(f.Reached, t.what) && len(f.Reached) < mostReached {
				f.Reached = append(f.Reached, t.what)
			}
		case f.Result == NotTried && !errors.As(t.err, &not):
			f.Result = Held
			fallthrough
		default:
			if how := mechanism(t.err); !slices.Contains(by, how) {
				by = append(by, how)
			}
		}
	}
	f.HeldBy = strings.Join(by, "; ")
	return f
}

// mechanism says by what an error kept the thief from something.
func mechanism(err error) string {
	for _, m := range []struct {
		err error
		how string
	}{
		{fs.ErrNotExist, "it is not visible there"},
		{syscall.ENOTDIR, "it is not visible there"},
		{syscall.EACCES, "no permission"},
		{syscall.EPERM, "the kernel refuses it: no capability, or seccomp"},
		{syscall.EROFS, "the mount is read-only"},
		{syscall.ENOSYS, "the system call is blocked"},
		{syscall.EAFNOSUPPORT, "there is no such network"},
		{syscall.ENETUNREACH, "there is no such network"},
		{syscall.EADDRNOTAVAIL, "there is no such network"},
		{syscall.EHOSTUNREACH, "there is no such network"},
		{syscall.ECONNREFUSED, "nothing listens there"},
		{syscall.ESRCH, "the process is not visible"},
		{syscall.EXDEV, "it is on another file system"},
		{os.ErrDeadlineExceeded, "nothing answers"},
	} {
		if errors.Is(err, m.err) {
			return m.how
		}
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return "nothing answers"
	}
	return err.Error()
}

// errOther means that the sandbox has its own file of that name.
var errOther = errors.New("another file is there")

// has returns nil if a file has the content of a target.
func (t *Targets) has(path string, f File) error {
	content, err := readStart(path)
	if err == nil && t.hash(content) != f.Hash {
		err = errOther
	}
	return err
}

// of returns the files of a kind.
func (t *Targets) of(kind string) []File {
	return slices.DeleteFunc(slices.Clone(t.Files), func(f File) bool { return f.Kind != kind })
}

// byPath opens the files of a kind by their paths, here and below the roots of processes.
func byPath(kind string) func(*thief) []try {
	return func(t *thief) (tries []try) {
		for _, f := range t.of(kind) {
			path := string(f.Path)
			err := t.has(path, f)
			for _, root := range inProcesses("root") {
				if err != nil && t.has(filepath.Join(root, path), f) == nil {
					path, err = filepath.Join(root, path), nil
				}
			}
			tries = append(tries, try{path, err})
		}
		for _, dir := range t.Folders[kind] {
			entries, err := os.ReadDir(dir)
			if err == nil && len(entries) == 0 {
				err = errOther
			}
			tries = append(tries, try{"the names in " + dir, err})
		}
		return tries
	}
}

const (
	isolate = "the runtime does not isolate, or shows a folder of the machine: use runtime = \"sandbox\" or \"containerd\" (mleflow doctor says what is missing)"
	unmount = "private data are mounted or copied to where agents see them: look at the image, at what is below /usr, and at other copies of the data; or use an isolating runtime"
	masks   = "run agents as another user, or in runtime = \"sandbox\" or \"containerd\", which have process numbers of their own"
)

var fileProbes = []probe{
	{"answers", "open the answers by their paths, and through /proc/*/root", isolate, byPath(Answers)},
	{"answers elsewhere", "compare every file with the answers, for at most 5 s", unmount, (*thief).elsewhere},
	{"bind mounts", "look for private files below each mount point, by each part of their paths", unmount, (*thief).mounted},
	{"other attempts", "open files of another attempt", isolate, byPath(Attempt)},
	{"cache", "list the cache and open a file in it", isolate, byPath(Cached)},
	{"shared folders", "open files in /tmp and /dev/shm that are not its own", "give agents folders of their own: runtime = \"sandbox\" or \"containerd\"", byPath(Shared)},
	{"own data", "open its data for writing, create a file there, and link them elsewhere", "the data can be changed: mleflow sees that afterwards, and the attempt fails; use a runtime that mounts them read-only", (*thief).changeData},
	{"links out", "leave links to the answers among its results", isolate, (*thief).links},
	{"own environment", "look for secrets among its variables", "remove the variable from the agent's env and secrets, and from the image", (*thief).ownEnvironment},
	{"environment of others", "read the variables of other processes in /proc", masks, (*thief).environments},
	{"processes", "find the machine's processes in /proc", masks, (*thief).processes},
}

// elsewhere looks for the content of private files under any name.
func (t *thief) elsewhere() []try {
	sizes := map[int64][]File{}
	for _, f := range t.of(Answers) {
		if f.Size > 0 {
			sizes[f.Size] = append(sizes[f.Size], f)
		}
	}
	if len(sizes) == 0 {
		return []try{{"", skipped("there are no answers to compare with")}}
	}
	var found []try
	looked, until := 0, time.Now().Add(5*time.Second)
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		switch {
		case time.Now().After(until) || len(found) == mostReached:
			return fs.SkipAll
		case err != nil || path == "/proc" || path == "/sys":
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !e.Type().IsRegular():
			return nil
		}
		looked++
		if info, err := e.Info(); err == nil {
			for _, f := range sizes[info.Size()] {
				if t.has(path, f) == nil {
					found = append(found, try{path, nil})
				}
			}
		}
		return nil
	})
	if len(found) > 0 {
		return found
	}
	if time.Now().After(until) {
		return []try{{"", fmt.Errorf("none of the first %d files has their content; there was no time for more", looked)}}
	}
	return []try{{"", fmt.Errorf("none of the %d files that it sees has their content", looked)}}
}

// mounted looks below each mount point for each end of the path of a private file, since a
// bind mount shows a folder under another name.
func (t *thief) mounted() (tries []try) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []try{{"", err}}
	}
	private := slices.Concat(t.of(Answers), t.of(Attempt), t.of(Cached))
	points := 0
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 5 || strings.HasPrefix(f[4], "/proc/") || strings.HasPrefix(f[4], "/sys/") || f[4] == "/" {
			continue
		}
		points++
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(f[4])
		for _, file := range private {
			if t.has(point, file) == nil {
				tries = append(tries, try{point, nil})
			}
			for parts := strings.Split(strings.Trim(string(file.Path), "/"), "/"); len(parts) > 0; parts = parts[1:] {
				if path := filepath.Join(point, filepath.Join(parts...)); path != string(file.Path) && t.has(path, file) == nil {
					tries = append(tries, try{path, nil})
				}
			}
		}
	}
	return append(tries, try{"", fmt.Errorf("none of %d mounts has them", points)})
}

// changeData tries whether the data can be changed, and changes nothing.
func (t *thief) changeData() (tries []try) {
	add := func(what string, err error) { tries = append(tries, try{what, err}) }
	var file string
	_ = filepath.WalkDir(t.data, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != "description.md" {
			file = path
			return fs.SkipAll
		}
		return nil
	})
	if file == "" {
		return []try{{"", skipped("there are no data")}}
	}
	writes := func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	add("write to "+file, writes(file))
	made := filepath.Join(t.data, "made-by-the-attack")
	err := os.WriteFile(made, nil, 0o600)
	add("create a file next to it", err)
	if err == nil {
		_ = os.Remove(made)
	}
	linked := filepath.Join(t.code, "linked")
	if err = os.Link(file, linked); err == nil {
		err = writes(linked)
		_ = os.Remove(linked)
	}
	add("write to a link to it", err)
	return tries
}

// links leaves links for the harvest, which must not follow them.
func (t *thief) links() (tries []try) {
	for i, f := range t.of(Answers) {
		name := fmt.Sprintf("link-%d", i)
		for _, dir := range []string{t.submission, t.code, os.Getenv("LOGS_DIR")} {
			_ = os.Symlink(string(f.Path), filepath.Join(dir, name))
		}
		at := filepath.Join(t.code, "hard-"+name)
		err := os.Link(string(f.Path), at)
		if err == nil {
			err = os.Remove(at)
		}
		tries = append(tries, try{"a hard link to " + string(f.Path), err})
	}
	return tries
}

// secretIn names the secret that a text has, or is "".
func (t *Targets) secretIn(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_')
	}) {
		if name := t.Words[t.hash([]byte(word))]; name != "" {
			return name
		}
	}
	return ""
}

func (t *thief) ownEnvironment() (tries []try) {
	for _, v := range os.Environ() {
		if name := t.Variables[t.hash([]byte(v))]; name != "" {
			tries = append(tries, try{"the variable " + name, nil})
		}
		if secret := t.secretIn(v); secret != "" {
			name, _, _ := strings.Cut(v, "=")
			tries = append(tries, try{secret + " in the variable " + name, nil})
		}
	}
	return append(tries, try{"", fmt.Errorf("none of %d variables is secret", len(os.Environ()))})
}

// others returns the path of a file of each process but this one.
func others(name string) []string {
	own := fmt.Sprintf("/proc/%d/%s", os.Getpid(), name)
	return slices.DeleteFunc(inProcesses(name), func(path string) bool { return path == own })
}

func (t *thief) environments() (tries []try) {
	for _, path := range others("environ") {
		content, err := readStart(path)
		for v := range strings.SplitSeq(string(content), "\x00") {
			if name := t.Variables[t.hash([]byte(v))]; name != "" {
				tries = append(tries, try{"the variable " + name + " of process " + strings.Split(path, "/")[2], nil})
			}
		}
		if err != nil {
			tries = append(tries, try{path, err})
		}
	}
	return append(tries, try{"", fmt.Errorf("%d other processes are visible, without secrets", len(others("environ")))})
}

// victims are the processes of the machine that it finds.
func (t *thief) victims() (pids []string) {
	for _, path := range others("cmdline") {
		if content, err := readStart(path); err == nil && t.Mark != "" && slices.Contains(strings.Split(string(content), "\x00"), t.Mark) {
			pids = append(pids, strings.Split(path, "/")[2])
		}
	}
	return pids
}

func (t *thief) processes() (tries []try) {
	for _, pid := range t.victims() {
		tries = append(tries, try{"a process of the machine, " + pid, nil})
	}
	return append(tries, try{"", fmt.Errorf("%d other processes are visible, none is the machine's", len(others("cmdline")))})
}
