package view

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/engine/step"
)

// excerptLines is the largest number of lines of an excerpt. lineBytes is the length to
// which a line is cut before the search for the cause of a failure.
const (
	excerptLines = 6
	lineBytes    = 1000
)

// The forms in which programs report their end. Python and Node name the class of an
// exception on a line of its own; frames of a stack are indented.
var (
	exception = pattern.New(`^(Uncaught )?([A-Za-z_]\w*\.)*[A-Za-z_]\w*(Error|Exception|Interrupt|Exit|ExceptionGroup|Warning|Failure)( \[\w+\])?(:.*)?$`)
	traceback = pattern.New(`Traceback \(most recent call last\):$`)
	anyRaised = pattern.New(`^([A-Za-z_]\w*\.)*[A-Za-z_]\w*(:.*)?$`)
	groupMark = pattern.New(`^ *[+|](-+ (\d+ -+|\.\.\. -+)?$|-+$| ?)`)
	lastWords = pattern.New(`^(Error( in .*)?:|panic: |fatal error: |terminate called |FATAL|thread '.*' panicked at |Segmentation fault|Killed$|Bus error|Aborted)` +
		`|: (command not found|not found|No such file or directory|Permission denied|cannot execute.*|Exec format error)$`)
	progressBar = pattern.New(`\d+%\|.*\||^\s*\d+%|\d(it|s)/(s|it)\]?$|^[\s=#>.\-]+$`)
)

// Excerpt looks for the reason of a failure in the last lines of a program's output.
// cause is the message on one line, "" if none is recognised. shown are the relevant
// lines: the end of the last traceback, or the last lines.
func Excerpt(tail []string) (cause string, shown []string) {
	lines := relevant(tail)
	at := lastOf(lines, func(line string) bool {
		return exception.Regexp().MatchString(line) || lastWords.Regexp().MatchString(line)
	})
	start := lastOf(lines, traceback.Regexp().MatchString)
	if start >= 0 {
		// An exception may have any name, and a message of several lines.
		if i := slices.IndexFunc(lines[start+1:], func(l string) bool { return !strings.HasPrefix(l, " ") }); i >= 0 && at < start && anyRaised.Regexp().MatchString(lines[start+1+i]) {
			at = start + 1 + i
		}
	}
	if at < 0 {
		return "", lines[max(0, len(lines)-2):]
	}
	cause = lines[at]
	if strings.HasSuffix(cause, ":") && at+1 < len(lines) { // R's message may be on the next line
		cause += " " + strings.TrimSpace(lines[at+1])
	}
	from := at
	if start >= 0 && start < at {
		from = start
	}
	return cause, cut(lines[from : at+1])
}

// cut omits the middle of a long traceback, because the last frame matters most.
func cut(lines []string) []string {
	if len(lines) <= excerptLines {
		return lines
	}
	return slices.Concat(lines[:1], []string{"  …"}, lines[len(lines)-excerptLines+2:])
}

func lastOf(lines []string, is func(string) bool) int {
	for i, line := range slices.Backward(lines) {
		if is(line) {
			return i
		}
	}
	return -1
}

// relevant returns the lines of a program's output without empty lines, progress bars,
// markers under source code and mleflow's notes. Lines of an exception group lose their
// indentation.
func relevant(tail []string) (lines []string) {
	for _, line := range tail {
		line = strings.TrimRight(line, " \t\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if m := groupMark.Regexp().FindString(line); m != "" {
			line = line[len(m):]
		}
		line = strings.TrimRight(Text(line), " ")
		if line == "" || strings.HasPrefix(line, step.NotePrefix) || strings.Trim(line, " ^~") == "" || progressBar.Regexp().MatchString(line) {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// The parts of a message that differ between failures of one reason.
var (
	folders = pattern.New(`(~|\.{0,2})(/[^\s/'":]+)+/`)
	numbers = pattern.New(`0x[0-9a-fA-F]+|\d+`)
)

// alike returns the same string for failures of one reason: folders are omitted, and all
// numbers count as equal.
func alike(text string) string {
	return numbers.Regexp().ReplaceAllString(folders.Regexp().ReplaceAllString(text, ""), "0")
}
