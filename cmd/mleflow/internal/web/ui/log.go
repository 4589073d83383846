package ui

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/history"
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
	Files          []logFile
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

// logFile is a log in a list. If it cannot be opened, missing says why.
type logFile struct {
	fileRow
	open          func(context.Context) (io.ReadCloser, error)
	note, missing string
}

// addLogs adds the log that the address names, or the agent's, or else the step's. Its form
// is a section of its own: what is typed stays while the log grows.
func addLogs(c *content, r *http.Request, s *shownStep) {
	d := logs(r.Context(), s, r.URL.Query())
	c.show("log-form", "logs form", d)
	c.show("logs", "logs", d)
}

// logs shows one of the logs of mleflow and, of an attempt, of the agent.
func logs(ctx context.Context, s *shownStep, q url.Values) logView {
	d := logView{Action: s.action(), Follow: s.live}
	f := d.list(ctx, s, q)
	if d.Name, d.Note, d.Missing = f.Name, f.note, f.missing; d.Missing != "" {
		return d
	}
	scan := &logScan{until: time.Now().Add(reading), query: strings.ToLower(strings.TrimSpace(q.Get("find"))), least: max(0, slices.Index(levelNames, q.Get("level")))}
	if line, _ := strconv.Atoi(q.Get("line")); line > 0 {
		scan.from = max(1, (line-1)/logShown*logShown+1)
	}
	r, err := f.open(ctx)
	if err == nil {
		err = scan.read(r)
		err = errors.Join(err, r.Close())
	}
	switch {
	case errors.Is(err, errLate):
		d.Note += fmt.Sprintf("Only the first %s lines were read. ", view.Count(int64(scan.total)))
	case err != nil:
		d.Missing = lost("log", err)
	}
	d.fill(scan, q)
	if scan.query != "" {
		d.searchOthers(ctx, scan)
	}
	return d
}

// list lists the logs, the step's first, and returns the one to show.
func (d *logView) list(ctx context.Context, s *shownStep, q url.Values) logFile {
	d.Files = []logFile{stepLog(s, q.Get("tab"))}
	ref, missing := s.output("logs")
	if missing == "" {
		list, all := chooseFile(ctx, s, ref, "logs", q.Get("file"), "output.log")
		missing = list.Missing
		for _, row := range list.Files {
			row.Here = row.Here && !q.Has("step")
			d.Files = append(d.Files, logFile{fileRow: row, open: func(ctx context.Context) (io.ReadCloser, error) { return s.store.Open(ctx, all.at[row.Path].ID) }})
		}
		if missing == "" && !q.Has("step") {
			return d.listed(ctx, s, list, all.at[list.Path])
		}
	}
	d.Files[0].Here = true
	return d.Files[0]
}

// listed returns the log that was chosen from a list, if it is text.
func (d *logView) listed(ctx context.Context, s *shownStep, list fileList, e tree.Entry) logFile {
	i := slices.IndexFunc(d.Files, func(f logFile) bool { return f.Here })
	if i < 0 {
		return logFile{fileRow: fileRow{Name: list.Path}, missing: list.Note}
	}
	f := d.Files[i]
	if data, err := headBytes(ctx, s.store, e.Ref(), 8<<10); err == nil && binary(data) {
		f.missing = fmt.Sprintf("The file is not text; it has %s.", view.Bytes(e.Size))
	}
	return f
}

// stepLog is the step's log in the run that executed it.
func stepLog(s *shownStep, tab string) logFile {
	f := logFile{fileRow: fileRow{Name: "the step's log", Link: s.link(tab, "step", "1")}}
	var past *history.Past
	if past, f.note, f.missing = s.executedBy(); f.missing != "" {
		return f
	}
	tries := past.Logs(s.address)
	switch {
	case len(tries) == 0:
		f.missing = "The step printed nothing."
		return f
	case len(tries) > 1:
		f.note += fmt.Sprintf("The last of %d tries. ", len(tries))
	}
	f.open = func(context.Context) (io.ReadCloser, error) { return past.OpenLog(s.address, tries[len(tries)-1]) }
	return f
}

// searchOthers counts the lines of the logs that are not shown that have the text of a
// search.
func (d *logView) searchOthers(ctx context.Context, shown *logScan) {
	for i := range d.Files {
		f := &d.Files[i]
		if f.Here || f.open == nil {
			continue
		}
		s := &logScan{query: shown.query, until: shown.until}
		if s.search(ctx, f) {
			d.Note += "Not all of the other logs were searched. "
			return
		}
		if s.matches > 0 {
			f.Found, f.Link = view.Plural(s.matches, "line"), withQuery(f.Link, "find", shown.query)
		}
	}
}

// fill fills in what was read.
func (d *logView) fill(s *logScan, q url.Values) {
	d.Total, d.Matches, d.Query, d.Level = s.total, s.matches, strings.TrimSpace(q.Get("find")), levelNames[s.least]
	d.Lines = s.lines[max(0, len(s.lines)-logShown):]
	address := url.Values{}
	for _, name := range []string{"address", "tab", "file", "step", "find", "level"} {
		if q.Has(name) {
			address.Set(name, q.Get(name))
		}
		if q.Has(name) && name != "find" {
			d.Hidden = append(d.Hidden, page.Fact{Name: name, Value: q.Get(name)})
		}
	}
	here := d.Action + "?" + address.Encode()
	d.Back = withQuery(here, "find", "", "level", "")
	for level := errorLevel; level >= debugLevel; level-- {
		if s.counts[level] > 0 {
			d.Counts = append(d.Counts, page.Link{Text: levelNames[level] + " " + view.Count(int64(s.counts[level])), Here: level == s.least, Address: withQuery(here, "level", levelNames[level])})
		}
	}
	if s.filtered() {
		for i := range d.Lines {
			n := strconv.Itoa(d.Lines[i].Number)
			d.Lines[i].Link = withQuery(d.Back, "line", n) + "#L" + n
		}
	}
	from := cmp.Or(s.from, max(1, s.matches-logShown+1)) - 1
	d.Pages = pagerOf(from, min(from+len(d.Lines), s.matches), s.matches, logShown, func(row int) string { return withQuery(here, "line", strconv.Itoa(max(1, row+1))) })
}

// search reads a log if it is text, and reports whether the time was over before its end.
func (s *logScan) search(ctx context.Context, f *logFile) (late bool) {
	r, err := f.open(ctx)
	if err != nil {
		return false
	}
	defer r.Close()
	lines := bufio.NewReaderSize(r, 64<<10)
	if begin, _ := lines.Peek(8 << 10); binary(begin) {
		return false
	}
	return errors.Is(s.read(lines), errLate)
}

// errLate means that the time to read a log is over.
var errLate = errors.New("the log is too long to be read in time")

// logScan reads a log once and remembers the lines of a page.
type logScan struct {
	leveller
	query string
	least int
	until time.Time
	// from is the first line of the page; 0 takes the last ones.
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
		s.add(line)
		if s.total%1024 == 0 && time.Now().After(s.until) {
			return errLate
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

// add counts a line and remembers it if it belongs to the page.
func (s *logScan) add(raw string) {
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
	position := view.Either(s.filtered(), s.matches, s.total)
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

// leveller finds the level of each line of a log. Those of a traceback belong to it.
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
