package agentrun

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/shipped"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// An agent that speaks ACP is started by a client in its sandbox, which is this program.
// The sandbox hides the program itself, since it has the shipped competitions with
// thresholds, leaderboards and data. The client is therefore a copy without them.
const (
	clientGuest = "/home/.mleflow"
	clientFile  = "acp"
)

func (l layout) clientMount() executor.Mount {
	return executor.Mount{Host: l.client(), Guest: clientGuest, ReadOnly: true}
}

// placeClient writes the copy.
func (s *setup) placeClient() error {
	if !s.clientCopied() {
		return nil
	}
	self, err := s.self()
	if err != nil {
		return err
	}
	program, err := emptied(self)
	if err != nil {
		return fmt.Errorf("copy the client of ACP: %w", err)
	}
	return errors.Join(os.Mkdir(s.dirs.client(), 0o755), os.WriteFile(filepath.Join(s.dirs.client(), clientFile), program, 0o755)) //nolint:gosec // the agent runs it
}

// clientCopied reports whether the client is a copy. Without isolation, it is the
// running binary.
func (a *attempt) clientCopied() bool { return a.args.speaksACP() && a.runtime.MapsPaths }

func (l layout) client() string { return filepath.Join(l.root, "client") }

// copies are the copies by the path of the program, made once.
var copies sync.Map

func emptied(program string) ([]byte, error) {
	once, _ := copies.LoadOrStore(program, sync.OnceValues(func() ([]byte, error) {
		data, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		return data, emptyCompetitions(data)
	}))
	return once.(func() ([]byte, error))()
}

// notStarted returns an error if the client could not start the agent's program.
func (r *running) notStarted(exit executor.Exit) error {
	if !r.args.speaksACP() || exit.Code != acp.NotStarted {
		return nil
	}
	return executor.Unstartable(fmt.Errorf("the program %q cannot be started; its output says why", r.args.program()))
}

// emptyCompetitions overwrites the content of the shipped competitions in a program. It
// returns an error if a file is not there as it is, since it may then be there in
// another form.
func emptyCompetitions(program []byte) error {
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if s := file.Section(".rodata"); s != nil { // embedded files are there
		program = program[s.Offset : s.Offset+s.FileSize]
	}
	done := map[digest.ContentID]bool{}
	return fs.WalkDir(shipped.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := shipped.FS.ReadFile(path)
		id := digest.Of(content)
		if err != nil || done[id] {
			return err
		}
		for from := 0; ; from += len(content) {
			at := bytes.Index(program[from:], content)
			if at < 0 {
				break
			}
			from += at
			clear(program[from : from+len(content)])
			done[id] = true
		}
		if !done[id] {
			return fmt.Errorf("the program does not have the content of %s", path)
		}
		return nil
	})
}

// program is the name of the agent's own program.
func (args *arguments) program() string {
	if args.speaksACP() {
		return args.Agent.Command[2]
	}
	return args.Agent.Command[0]
}

// speaksACP reports whether mleflow is the client of the agent.
func (args *arguments) speaksACP() bool {
	command := args.Agent.Command
	return len(command) > 2 && command[0] == BuiltIn && command[1] == acp.Command
}
