package view

import (
	"os"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/engine/event"
)

// frameInterval is the time between two looks at the state: fast enough to
// seem alive, slow enough to cost nothing.
const frameInterval = 100 * time.Millisecond

// Live is a Sink that keeps the last lines of a terminal up to date. It reads
// no keys and handles no signals. Failures and warnings are printed above the
// lines that change and stay there. Close must be called.
type Live struct {
	mu       sync.Mutex
	state    *State
	said     []string
	warned   int
	surveyed bool
	reported int
	told     int
	style    Style

	terminal *os.File
	program  *tea.Program
	done     chan struct{}
}

// NewLive starts a live view on a terminal.
func NewLive(terminal *os.File, style Style) *Live {
	l := &Live{state: NewState(), style: style, terminal: terminal, done: make(chan struct{})}
	l.program = tea.NewProgram(liveModel{live: l},
		tea.WithInput(nil), tea.WithOutput(terminal), tea.WithoutSignalHandler(), tea.WithFPS(20))
	go func() {
		defer close(l.done)
		// Without input and signals the program only ends by Quit; what the
		// terminal refuses to show is no reason to stop a run.
		_, _ = l.program.Run()
	}()
	return l
}

// Emit implements event.Sink. It only notes the event: the screen is drawn at
// its own pace.
func (l *Live) Emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Apply(e)
}

// Say prints a line above the changing ones. A terminal echoes the keys of an
// interrupt, so the cursor is put back where the view left it.
func (l *Live) Say(line string) {
	_, _ = l.terminal.WriteString("\r")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, line)
}

// Close removes the changing lines and gives the terminal back.
func (l *Live) Close() {
	l.program.Send(closing{})
	<-l.done
}

// Abandon gives the terminal back without another frame, for a process that
// ends at once.
func (l *Live) Abandon() { _, _ = l.terminal.WriteString("\r\n" + ansi.ShowCursor) }

// notices returns the lines that came up since the last call and stay.
func (l *Live) notices() []string {
	lines := l.said
	l.said = nil
	if l.state.Preflighted && !l.surveyed {
		l.surveyed = true
		var b strings.Builder
		_ = Preflights(&b, l.state.Preflights, l.style)
		lines = append(lines, strings.TrimRight(b.String(), "\n"))
	}
	for _, w := range l.state.Warnings[l.warned:] {
		lines = append(lines, l.style.Warn("Warning:")+" "+WarningText(w))
	}
	l.warned = len(l.state.Warnings)
	for i, f := range l.state.Failures[l.reported:] {
		if l.state.refused(f.Address) { // the preflight said so
			continue
		}
		lines = append(lines, l.folded(l.reported+i, failuresShown, l.style.Bad("Failed:")+" "+f.Address+": "+OneLine(f.Error))...)
	}
	l.reported = len(l.state.Failures)
	for i, p := range l.state.Outcomes.Problems[l.told:] {
		lines = append(lines, l.folded(l.told+i, problemsShown, p.line(l.style))...)
	}
	l.told = len(l.state.Outcomes.Problems)
	return lines
}

// folded is a line of many, until most of them were shown; then one line says
// that the rest are counted only.
func (l *Live) folded(i, most int, line string) []string {
	switch {
	case i < most:
		return []string{line}
	case i == most:
		return []string{l.style.Dim("… more are counted below; mleflow show " + l.state.Start.Run + " lists them")}
	}
	return nil
}

type (
	frame   time.Time
	closing struct{}
)

// liveModel is the bubbletea model: the size of the terminal and the time of
// the frame; everything else is in the state.
type liveModel struct {
	live          *Live
	width, height int
	now           time.Time
	closed        bool
}

func (m liveModel) Init() tea.Cmd { return nextFrame() }

func nextFrame() tea.Cmd {
	return tea.Tick(frameInterval, func(t time.Time) tea.Msg { return frame(t) })
}

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m.resize(msg)
	case frame:
		m.now = time.Time(msg)
		return m, tea.Batch(m.printNotices(), nextFrame())
	case closing:
		m.closed = true
		return m, tea.Sequence(m.printNotices(), tea.Quit)
	}
	return m, nil
}

// resize takes the new size. A terminal that became narrower has wrapped the
// lines on it, so that they cannot be overwritten one by one: it is cleared.
func (m liveModel) resize(msg tea.WindowSizeMsg) (tea.Model, tea.Cmd) {
	narrower := m.width > 0 && msg.Width < m.width
	m.width, m.height = msg.Width, msg.Height
	if narrower {
		return m, tea.ClearScreen
	}
	return m, nil
}

func (m liveModel) printNotices() tea.Cmd {
	m.live.mu.Lock()
	defer m.live.mu.Unlock()
	var cmds []tea.Cmd
	for _, line := range m.live.notices() {
		cmds = append(cmds, tea.Println(line))
	}
	return tea.Sequence(cmds...)
}

func (m liveModel) View() string {
	if m.closed || m.width == 0 {
		return ""
	}
	m.live.mu.Lock()
	defer m.live.mu.Unlock()
	return screen(m.live.state, m.live.style, m.width, m.height, m.now)
}
