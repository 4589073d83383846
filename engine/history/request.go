package history

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// requestsDir is the folder of a run with what people ask of it, a file each: whole or
// absent. The journal has the answers.
const requestsDir = "requests"

const (
	maxRequests = 10_000
	maxReason   = 500
)

// requestName is the syntax of a request's name: its time and random letters.
var requestName = pattern.New(`^\d{8}T\d{6}\.\d{6}Z-[a-z2-7]{8}$`)

// Ask leaves a request to a run. It fills in its ID, time and author: the user and machine,
// behind the name of a person for whom a server asks, if the request has one.
func (p *Past) Ask(r step.Request) (step.Request, error) {
	if len(r.Reason) > maxReason || !shown(r.Reason+r.Author+r.Through, "") {
		return r, fmt.Errorf("the reason cannot be shown: write at most %d bytes of text in one line", maxReason)
	}
	host, err := os.Hostname()
	if err != nil {
		return r, err
	}
	user := nolink.UserName(os.Geteuid()) + "@" + host
	if r.Author != "" {
		user = r.Author + " via " + user
	}
	r.Author = user
	return ask(p.dir, r)
}

// Ask leaves a request of the program itself to the run, whose author is set. It fills in
// its ID and time.
func (r *Run) Ask(request step.Request) error {
	_, err := ask(r.dir, request)
	return err
}

func ask(dir string, r step.Request) (step.Request, error) {
	r.Time = time.Now().UTC().Truncate(time.Microsecond)
	r.ID = r.Time.Format("20060102T150405.000000Z") + "-" + strings.ToLower(rand.Text()[:8])
	return r, writeRequest(filepath.Join(dir, requestsDir), r)
}

func writeRequest(dir string, r step.Request) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := nolink.WriteFile(filepath.Join(dir, r.ID+".json"), text, 0o444, true); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// Take takes over the unmet requests to the run that this one continues.
func (r *Run) Take(past *Past) error {
	list, err := past.Unmet()
	for _, request := range list {
		err = errors.Join(err, writeRequest(filepath.Join(r.dir, requestsDir), request))
	}
	return err
}

// Continues reports whether the next run of the pipeline takes the requests to a run: it is the
// newest one, and was interrupted, paused or cancelled.
func (l *Store) Continues(past *Past) bool {
	s, err := l.Pipeline(past.Info.Pipeline)
	if err != nil {
		return false
	}
	next := l.Unfinished(s)
	return next != nil && next.Info.ID == past.Info.ID
}

// Requests are the requests to a run of this process. It is not safe for concurrent use.
type Requests struct {
	dir  string
	seen map[string]bool
	at   time.Time
}

// Requests returns a reader of the requests to the run.
func (r *Run) Requests() *Requests {
	return &Requests{dir: filepath.Join(r.dir, requestsDir), seen: map[string]bool{}}
}

// New returns the requests since the last call, oldest first. refused has those of other
// users and those that cannot be read, with the reasons.
func (q *Requests) New() (list []step.Request, refused map[string]error) {
	info, err := os.Stat(q.dir)
	if err != nil || info.ModTime().Equal(q.at) && time.Since(q.at) > time.Second {
		return nil, nil
	}
	q.at = info.ModTime()
	return readRequests(q.dir, q.seen)
}

func readRequests(dir string, seen map[string]bool) (list []step.Request, refused map[string]error) {
	entries, _ := os.ReadDir(dir)
	refused = map[string]error{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !requestName.Regexp().MatchString(name) || seen[name] || len(seen) >= maxRequests {
			continue
		}
		seen[name] = true
		if r, err := readRequest(filepath.Join(dir, e.Name())); err != nil {
			refused[name] = err
		} else if r.ID != name {
			refused[name] = errors.New("it is a copy")
		} else {
			list = append(list, r)
		}
	}
	return list, refused
}

// readRequest reads a request of the user of this process.
func readRequest(path string) (r step.Request, err error) {
	text, err := (&Past{own: true}).read(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, err
	}
	if r.ByMillis < 0 || r.Budget < 0 || r.Value < 0 || !shown(r.Author+r.Reason+r.Address+r.Through, "") {
		return r, errors.New("it is not as mleflow writes it")
	}
	return r, nil
}

// Unmet returns the requests to attempts of a run that was interrupted before they had
// their effect: the next run has them, too. Those that followed from a stall are not among
// them: the next run looks itself whether the attempt stands still.
func (p *Past) Unmet() (list []step.Request, err error) {
	if _, err := os.Stat(filepath.Join(p.dir, requestsDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	over, met, begun := map[string]bool{}, map[string]bool{}, map[string]bool{}
	requeues := map[string][]string{}
	requeued := func(address string) {
		for _, id := range requeues[address] {
			met[id] = true
		}
	}
	for e, err := range p.Events() {
		switch e := e.(type) {
		case event.StepFinished:
			over[e.Address] = e.Status != event.Cancelled || e.Error == step.ErrCancelled.Error()
			if e.Error == step.ErrRequeued.Error() { // the run was drained
				requeued(e.Address)
			}
		case event.Steered:
			met[e.Request.ID], begun[e.Request.ID] = e.Refused != "", true
			if e.Request.Act == step.Requeue {
				requeues[e.Request.Address] = append(requeues[e.Request.Address], e.Request.ID)
			}
		case event.StepRetry:
			requeued(e.Address)
		}
		if err != nil {
			return nil, err
		}
	}
	list, _ = readRequests(filepath.Join(p.dir, requestsDir), map[string]bool{})
	list = slices.DeleteFunc(list, func(r step.Request) bool {
		return r.Address == "" || r.Author == step.OnStall && !begun[r.ID] || over[r.Address] || met[r.ID]
	})
	for i := range list {
		list[i].Begun = list[i].Begun || begun[list[i].ID]
	}
	return list, nil
}

// Acts returns what people, and stalls, asked of the run and its attempts that was done, each
// with the run that was asked, oldest first. An attempt that was cancelled began again, so that
// what was done before no longer holds.
func (p *Past) Acts() (list []event.Steered, err error) {
	seen := map[string]bool{}
	for line, err := range p.lines(new(int64)) {
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(line, steered) {
			continue
		}
		e, _ := event.Decode(line)
		s, ok := e.(event.Steered)
		if !ok || s.Refused != "" || seen[s.Request.ID] || s.Request.Address == "" && s.From != "" {
			continue
		}
		seen[s.Request.ID] = true
		if s.From = cmp.Or(s.From, p.Info.ID); s.Request.Act != step.Cancel {
			list = append(list, s)
			continue
		}
		list = slices.DeleteFunc(list, func(other event.Steered) bool { return other.Request.Address == s.Request.Address })
	}
	return list, nil
}
