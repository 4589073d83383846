package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// Past is a run in the run history. It may still be running.
type Past struct {
	Info Info
	dir  string
	// own limits what is read to files of Own.
	own bool
}

func (l *Store) open(id string) (*Past, error) {
	p := &Past{dir: filepath.Join(l.runs(), id)}
	if err := p.readJSON("run.json", &p.Info); err != nil {
		return nil, fmt.Errorf("open run %s: %w", id, err)
	}
	return p, nil
}

func (p *Past) readJSON(name string, v any) error {
	b, err := p.read(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// ErrForeign means that another user may have written what a run says of itself.
var ErrForeign = errors.New("may be another user's")

// Own returns the run with a description, a plan and sources that only this user or root
// can have written, as the file system says, or ErrForeign. In a cache that several users
// share, nothing else of a run may be executed.
func (p *Past) Own() (*Past, error) {
	own := &Past{dir: p.dir, own: true}
	if err := own.readJSON("run.json", &own.Info); err != nil {
		return nil, err
	}
	_, err := own.Sources()
	return own, err
}

// read reads a file of the run. With own, the open file is examined, so that nobody
// replaces it in between.
func (p *Past) read(path string) ([]byte, error) {
	f, err := nolink.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if why := nolink.Writers(info); p.own && why != "" {
		return nil, fmt.Errorf("%w: %s %s", ErrForeign, path, why)
	}
	return io.ReadAll(f)
}

// Dir returns the folder of the run.
func (p *Past) Dir() string { return p.dir }

// Plan returns the run's plan.
func (p *Past) Plan() (*plan.Plan, error) {
	out := &plan.Plan{}
	if err := p.readJSON("plan.json", out); err != nil {
		return nil, fmt.Errorf("read plan of run %s: %w", p.Info.ID, err)
	}
	for i := range out.Steps {
		a, err := addr.Parse(out.Steps[i].Name)
		if err != nil {
			return nil, fmt.Errorf("read plan of run %s: %w", p.Info.ID, err)
		}
		out.Steps[i].Address = a
	}
	return out, nil
}

// Sources returns the pipeline's files by name. Names are slash-separated
// paths.
func (p *Past) Sources() (map[string][]byte, error) {
	out := map[string][]byte{}
	root := filepath.Join(p.dir, "pipeline")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)], err = p.read(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pipeline of run %s: %w", p.Info.ID, err)
	}
	return out, nil
}

// Events reads the journal. Lines that cannot be parsed, such as an incomplete
// last one, are skipped. A read error ends the sequence.
func (p *Past) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for line, err := range p.lines(new(int64)) {
			e, bad := event.Decode(line)
			if (err != nil || bad == nil) && !yield(e, err) {
				return
			}
		}
	}
}

// lines yields the journal's complete lines from an offset on, which it moves behind each.
// A line is valid until the next. An error is the last that it yields.
func (p *Past) lines(at *int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := nolink.Open(p.journal())
		if err == nil {
			defer f.Close()
			_, err = f.Seek(*at, io.SeekStart)
		}
		for r := bufio.NewReaderSize(f, 64<<10); err == nil; {
			var line []byte
			if line, err = readLine(r); err == nil {
				if *at += int64(len(line)) + 1; !yield(line, nil) {
					return
				}
			}
		}
		if err != io.EOF {
			yield(nil, fmt.Errorf("read journal of run %s: %w", p.Info.ID, err))
		}
	}
}

// readLine reads a line of any length and drops its newline. Bytes after the
// last newline are not a line.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := bytes.Clone(line)
		line, err = r.ReadBytes('\n')
		line = append(long, line...)
	}
	if err != nil {
		return nil, err
	}
	return line[:len(line)-1], nil
}

// Chain returns the text of the chain of the run history; see Store.Chain.
func (p *Past) Chain() ([]byte, error) { return New(filepath.Dir(filepath.Dir(p.dir))).Chain() }

func (p *Past) journal() string { return filepath.Join(p.dir, "events.jsonl") }

// Finished returns the journal's StepFinished events for some kinds. It decodes
// no other events, so it is fast for a few steps among many.
func (p *Past) Finished(kinds ...string) iter.Seq2[event.StepFinished, error] {
	marks := marksOf(kinds)
	return func(yield func(event.StepFinished, error) bool) {
		for line, err := range p.lines(new(int64)) {
			if err == nil && (!bytes.HasPrefix(line, finished) || !marked(line, marks)) {
				continue
			}
			e, _ := event.Decode(line)
			end, ok := e.(event.StepFinished)
			if (err != nil || ok && slices.Contains(kinds, end.Kind)) && !yield(end, err) {
				return
			}
		}
	}
}

// finished begins the line of a StepFinished event.
var finished = []byte(`{"type":"step_finished"`)

// steered begins the line of an answer to a request.
var steered = []byte(`{"type":"steered"`)

// marksOf returns what the line of an event of a step of one of the kinds contains.
func marksOf(kinds []string) [][]byte {
	return lists.Of(kinds, func(kind string) []byte { return fmt.Appendf(nil, `"kind":%q,`, kind) })
}

func marked(line []byte, marks [][]byte) bool {
	return slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(line, m) })
}

// Entry returns the run as an element of a list, with its state.
func (p *Past) Entry() Entry {
	alive := p.alive() // read before the journal, because the run may end in between
	e := Entry{Info: p.Info, About: p.About(), Finish: p.finish(), User: userOf(filepath.Join(p.dir, "run.json"))}
	switch {
	case e.Finish != nil:
		e.State = stateOf(*e.Finish)
	case alive:
		e.State = Running
	default:
		e.State = Interrupted
	}
	return e
}

func stateOf(e event.RunFinished) State {
	switch {
	case e.Status == event.Ran:
		return Finished
	case e.Paused:
		return Paused
	case e.Status == event.Cancelled:
		return Cancelled
	}
	return Failed
}

// alive reports whether the run's process holds its lock.
func (p *Past) alive() bool {
	f, err := nolink.Open(filepath.Join(p.dir, "lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := flock.TryShared(f)
	return !free && err == nil
}

// tail is the number of bytes at a journal's end that are searched for its last
// event. Reading whole journals would make lists of runs slow.
const tail = 256 << 10

// finish returns the journal's RunFinished, which is among its last lines.
func (p *Past) finish() *event.RunFinished {
	f, err := nolink.Open(p.journal())
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tail), tail))
	if err != nil {
		return nil
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	at := bytes.LastIndex(b, []byte(`{"type":"run_finished"`))
	if at < 0 {
		return nil
	}
	line, _, _ := bytes.Cut(b[at:], []byte("\n"))
	e, _ := event.Decode(line)
	if end, ok := e.(event.RunFinished); ok {
		return &end
	}
	return nil
}
