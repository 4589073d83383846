package ui

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

const (
	// logShown is the number of lines of a log on a page, maxLogLine the number of bytes
	// shown of a line.
	logShown   = 2000
	maxLogLine = 4 << 10
	// reading bounds the time that a page reads a log.
	reading = 3 * time.Second
)

// The levels of lines, by how grave they are.
const (
	noLevel = iota
	debugLevel
	infoLevel
	warningLevel
	errorLevel
)

var levelNames = []string{"", "debug", "info", "warning", "error"}

// logLine is a line of a log.
type logLine struct {
	Number            int
	Level, Time, Text string
	// Marked is the text with what was searched, if anything was.
	Marked template.HTML
	// Link leads to the line among those around it, where they are left out.
	Link string
}

// logView is a part of a log.
type logView struct {
	Files          []fileRow
	Name           string
	Lines          []logLine
	Total, Matches int
	// Counts are the lines of each level.
	Counts        []page.Link
	Hidden        []page.Fact
	Query, Level  string
	Pages         pager
	Missing, Note string
	Action, Back  string
	Follow        bool
}

var (
	stampAt  = pattern.New(`^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\]?[ \t:-]*`)
	levelsAt = []struct {
		level int
		words *pattern.Pattern
	}{
		{errorLevel, pattern.New(`\b(ERROR|CRITICAL|FATAL|PANIC)\b|\b(error|Error|fatal|panic):|^Traceback \(most recent|^\w*(Error|Exception)\b|Killed$`)},
		{warningLevel, pattern.New(`\b(WARN|WARNING|[wW]arning:)\b|Warning:`)},
		{infoLevel, pattern.New(`\bINFO\b`)}, {debugLevel, pattern.New(`\b(DEBUG|TRACE)\b`)},
	}
)

// leveller tells the level of each line of a log. Those of a traceback belong to it.
type leveller struct{ within bool }

func (l *leveller) of(line string) int {
	begins := line[:min(len(line), 160)]
	if l.within && (strings.HasPrefix(begins, " ") || begins == "") {
		return errorLevel
	}
	l.within = strings.HasPrefix(begins, "Traceback (most recent")
	for _, c := range levelsAt {
		if c.words.Regexp().MatchString(begins) {
			return c.level
		}
	}
	return noLevel
}

// logScan reads a log once and keeps the lines of a page.
type logScan struct {
	leveller
	query string
	least int
	until time.Time
	// from is the first line that is kept; 0 keeps the last ones.
	from    int
	counts  [errorLevel + 1]int
	matches int
	lines   []logLine
	total   int
}

// read reads a log until the time is over.
func (s *logScan) read(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := logLineOf(lines)
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.total++
		s.take(line)
		if s.total%1024 == 0 && time.Now().After(s.until) {
			return errEnough
		}
	}
}

// logLineOf reads a line and leaves out the rest of a long one.
func logLineOf(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxLogLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > maxLogLine {
			line = append(line[:maxLogLine], " …"...)
		}
		return string(line), err
	}
}

// take counts a line and keeps it if it belongs to the page.
func (s *logScan) take(raw string) {
	text := strings.TrimRight(view.Text(strings.ToValidUTF8(raw, "\ufffd")), " \n")
	level := s.of(text)
	s.counts[level]++
	at := -1
	if s.query != "" {
		at = strings.Index(strings.ToLower(text), s.query)
	}
	if s.query != "" && at < 0 || level < s.least {
		return
	}
	s.matches++
	position := s.total
	if s.filtered() {
		position = s.matches
	}
	if s.from > 0 && (position < s.from || len(s.lines) >= logShown) {
		return
	}
	l := logLine{Number: s.total, Level: levelNames[level], Text: text}
	if stamp := stampAt.Regexp().FindString(text); stamp != "" && s.query == "" {
		l.Time, l.Text = stamp, text[len(stamp):]
	}
	if e := template.HTMLEscapeString; at >= 0 && len(strings.ToLower(text)) == len(text) {
		l.Marked = template.HTML(e(text[:at]) + "<mark>" + e(text[at:at+len(s.query)]) + "</mark>" + e(text[at+len(s.query):]))
	}
	if s.lines = append(s.lines, l); s.from == 0 && len(s.lines) >= 2*logShown {
		s.lines = slices.Clone(s.lines[len(s.lines)-logShown:])
	}
}

func (s *logScan) filtered() bool { return s.query != "" || s.least > 0 }

// logs shows the logs of mleflow and, of an attempt, of the agent.
func (o *one) logs() error {
	d := logView{Action: "/step/" + url.PathEscape(o.sum.ID), Follow: o.c.live}
	open, note := o.chooseLog(&d)
	d.Note = note
	if open == nil {
		return o.addLogs(d)
	}
	q := o.r.URL.Query()
	s := &logScan{until: time.Now().Add(reading), query: strings.ToLower(strings.TrimSpace(q.Get("find"))), least: max(0, slices.Index(levelNames, q.Get("level")))}
	if line, _ := strconv.Atoi(q.Get("line")); line > 0 {
		s.from = max(1, (line-1)/logShown*logShown+1)
	}
	r, err := open()
	if err == nil {
		err = s.read(r)
		err = errors.Join(err, r.Close())
	}
	switch {
	case errors.Is(err, errEnough):
		d.Note += fmt.Sprintf("Only the first %s lines were read. ", view.Count(int64(s.total)))
	case err != nil:
		d.Missing = lost("log", err)
	}
	d.fill(s, q)
	if s.query != "" {
		o.searchOthers(&d, s.query, s.until)
	}
	return o.addLogs(d)
}

// searchOthers counts the lines of the other logs that have a text.
func (o *one) searchOthers(d *logView, query string, until time.Time) {
	entries := map[string]tree.Entry{}
	if ref, why := o.output("logs"); why == "" {
		entries, _ = contents(o.ctx, o.store, ref) // the list says what is lost
	}
	for i := range d.Files {
		f := &d.Files[i]
		open := func() (io.ReadCloser, error) { return o.store.Open(o.ctx, entries[f.Path].ID) }
		if i == 0 {
			open, _ = o.stepLog(&logView{})
		}
		if f.Here || open == nil {
			continue
		}
		s := &logScan{query: query, until: until}
		if s.text(open) {
			d.Note += "Not all of the other logs were searched. "
			return
		}
		if s.matches > 0 {
			f.Found, f.Link = view.Plural(s.matches, "line"), with(f.Link, "find", query)
		}
	}
}

// text reads a log if it is text, and reports whether the time was over before its end.
func (s *logScan) text(open func() (io.ReadCloser, error)) (late bool) {
	r, err := open()
	if err != nil {
		return false
	}
	defer r.Close()
	lines := bufio.NewReaderSize(r, 64<<10)
	if begin, _ := lines.Peek(8 << 10); binary(begin) {
		return false
	}
	return errors.Is(s.read(lines), errEnough)
}

// addLogs adds a log. Its form is a section of its own: what is typed stays while the log
// grows.
func (o *one) addLogs(d logView) error {
	if err := o.c.add("log-form", "logs form", d); err != nil {
		return err
	}
	return o.c.add("logs", "logs", d)
}

// fill fills in what was read.
func (d *logView) fill(s *logScan, q url.Values) {
	d.Total, d.Matches, d.Query, d.Level = s.total, s.matches, strings.TrimSpace(q.Get("find")), levelNames[s.least]
	d.Lines = s.lines[max(0, len(s.lines)-logShown):]
	link := func(change func(url.Values)) string {
		to := url.Values{}
		for _, name := range []string{"address", "tab", "file", "step", "find", "level"} {
			if q.Has(name) {
				to.Set(name, q.Get(name))
			}
		}
		change(to)
		return d.Action + "?" + to.Encode()
	}
	d.Back = link(func(to url.Values) { to.Del("find"); to.Del("level") })
	for level := errorLevel; level >= debugLevel; level-- {
		if s.counts[level] > 0 {
			d.Counts = append(d.Counts, page.Link{Text: levelNames[level] + " " + view.Count(int64(s.counts[level])), Here: level == s.least,
				Address: link(func(to url.Values) { to.Set("level", levelNames[level]) })})
		}
	}
	for _, name := range []string{"address", "tab", "file", "step", "level"} {
		if q.Has(name) {
			d.Hidden = append(d.Hidden, page.Fact{Name: name, Value: q.Get(name)})
		}
	}
	if s.filtered() {
		for i := range d.Lines {
			n := strconv.Itoa(d.Lines[i].Number)
			d.Lines[i].Link = link(func(to url.Values) { to.Del("find"); to.Del("level"); to.Set("line", n) }) + "#L" + n
		}
	}
	first := cmp.Or(s.from, max(1, s.matches-logShown+1))
	at := func(line int) string {
		return link(func(to url.Values) { to.Set("line", strconv.Itoa(max(1, line))) })
	}
	d.Pages = pager{From: min(first, s.matches), To: min(first+len(d.Lines)-1, s.matches), Total: s.matches, HasBefore: first > 1, Later: first+len(d.Lines)-1 < s.matches,
		Before: at(first - logShown), Next: at(first + logShown)}
}

// chooseLog returns what opens the log that the address names, or the agent's, or else
// the step's.
func (o *one) chooseLog(d *logView) (open func() (io.ReadCloser, error), note string) {
	q := o.r.URL.Query()
	own := fileRow{Name: "the step's log", Link: stepAddress(o.sum.ID, o.address, q.Get("tab")) + "&step=1"}
	ref, why := o.output("logs")
	list, e := fileList{Missing: why}, ref
	if why == "" {
		l, entry := o.choose(ref, "logs", "output.log")
		list, e = l, entry.Ref()
	}
	d.Files = append([]fileRow{own}, list.Root.all()...)
	if q.Has("step") || list.Missing != "" {
		d.Files[0].Here, d.Name = true, own.Name
		for i := range d.Files[1:] {
			d.Files[1+i].Here = false
		}
		return o.stepLog(d)
	}
	d.Name = list.Path
	if list.Note != "" {
		d.Missing = list.Note
		return nil, ""
	}
	data, err := head(o.ctx, o.store, e, 8<<10)
	if err == nil && binary(data) {
		d.Missing = fmt.Sprintf("The file is not text; it has %s.", view.Bytes(e.Size))
		return nil, ""
	}
	return func() (io.ReadCloser, error) { return o.store.Open(o.ctx, e.ID) }, ""
}

// stepLog opens the step's log in the run that executed it.
func (o *one) stepLog(d *logView) (func() (io.ReadCloser, error), string) {
	past, note, missing := o.executedBy()
	if d.Missing = missing; missing != "" {
		return nil, note
	}
	tries := past.Logs(o.address)
	if len(tries) == 0 {
		d.Missing = "The step printed nothing."
		return nil, note
	}
	if len(tries) > 1 {
		note += fmt.Sprintf("The last of %d tries. ", len(tries))
	}
	return func() (io.ReadCloser, error) { return past.OpenLog(o.address, tries[len(tries)-1]) }, note
}

// all are the files below a folder.
func (f *folder) all() []fileRow {
	out := slices.Clone(f.Files)
	for i := range out {
		out[i].Name = out[i].Path
	}
	for _, d := range f.Folders {
		out = append(out, d.all()...)
	}
	return out
}
