package submitted

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Variable names the Place of the process of a submission.
const Variable = "MLEFLOW_SUBMITTED"

// Names of what is in a Place.
const (
	FolderName = "files"
	RulesName  = "rules.json"
	aliveName  = "alive"
	exitName   = "exit"
	runName    = "run"
)

// Place is the folder of a submission, which holds that of its pipeline.
type Place string

func (p Place) at(name string) string { return filepath.Join(string(p), name) }

// Folder is the folder of the pipeline.
func (p Place) Folder() string { return p.at(FolderName) }

// Holds reports whether a pipeline was submitted to the server of a cache: only a process
// of the server may apply it, by the rules.
func Holds(cache, pipeline string) bool {
	return checkout.Below(pipeline, filepath.Join(cache, "service", "queue"))
}

// Prepare writes what a process of the submission needs.
func (p Place) Prepare(r Rules) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return cmp.Or(nolink.MkdirAll(p.Folder(), 0o700), nolink.MkdirAll(p.at("home"), 0o700), nolink.WriteFile(p.at(RulesName), text, 0o600, true))
}

// Alive reports whether a process of the submission lives, and its number.
func (p Place) Alive() (pid int, alive bool) {
	f, err := nolink.OpenFile(p.at(aliveName), os.O_RDWR, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0, false
	}
	text, _ := io.ReadAll(io.LimitReader(f, 32))
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	return pid, true
}

// Exit is the exit status of the submission's process that came to its end.
func (p Place) Exit() (status int, ended bool) {
	text, err := nolink.ReadFile(p.at(exitName))
	if err != nil {
		return 0, false
	}
	status, err = strconv.Atoi(strings.TrimSpace(string(text)))
	return status, err == nil
}

// Reopen forgets the exit status, so that another process may run the submission.
func (p Place) Reopen() error {
	if err := os.Remove(p.at(exitName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Run is the latest run of the submission, "" if none has begun.
func (p Place) Run() string {
	text, _ := nolink.ReadFile(p.at(runName))
	return strings.TrimSpace(string(text))
}

// Entered is the place of this process.
type Entered struct {
	Rules
	place Place
	lock  *os.File
}

// Enter returns the place that the environment names, nil without one. It refuses a
// submission that has ended, or that another process runs: nothing runs twice.
func Enter(environ func(string) string) (*Entered, error) {
	named := environ(Variable)
	if named == "" {
		return nil, nil
	}
	e := &Entered{place: Place(named)}
	text, err := nolink.ReadFile(e.place.at(RulesName))
	if err == nil {
		err = json.Unmarshal(text, &e.Rules)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read the rules of the submission: %w", Variable, err)
	}
	e.root = nolink.Folder(e.place.Folder())
	if e.lock, err = nolink.OpenFile(e.place.at(aliveName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(e.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another process runs the submission: %w", err), e.lock.Close())
	}
	if _, ended := e.place.Exit(); ended {
		return nil, errors.Join(errors.New("the submission has ended"), e.lock.Close())
	}
	_ = e.lock.Truncate(0)
	_, err = e.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return e, err
}

// Allowed are the rules, nil of a nil Entered.
func (e *Entered) Allowed() *Rules {
	if e == nil {
		return nil
	}
	return &e.Rules
}

// Began notes the run that this process has begun.
func (e *Entered) Began(run string) error {
	return nolink.WriteFile(e.place.at(runName), []byte(run+"\n"), 0o600, true)
}

// End notes the exit status of this process. A nil Entered notes nothing.
func (e *Entered) End(status int) {
	if e != nil {
		_ = nolink.WriteFile(e.place.at(exitName), []byte(strconv.Itoa(status)+"\n"), 0o600, true) // else it is run again
	}
}
