package e2e

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal, as a window has one.
type terminal struct {
	t    *testing.T
	keys *os.File
	text chan []byte
	seen bytes.Buffer
}

// newTerminal starts the command as the job of a terminal.
func (p *place) newTerminal(args ...string) (*terminal, func() int) {
	p.t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Skipf("no pseudo-terminal can be had: %v", err)
	}
	p.t.Cleanup(func() { keys.Close() })
	fd := int(keys.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		p.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		p.t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer screen.Close()
	cmd := p.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = screen, screen, screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	t := &terminal{t: p.t, keys: keys, text: make(chan []byte, 100)}
	go func() {
		defer close(t.text)
		for {
			text := make([]byte, 4096)
			n, err := keys.Read(text)
			if err != nil { // EIO: nobody has the terminal any more
				return
			}
			t.text <- text[:n]
		}
	}()
	return t, func() int {
		for text := range t.text {
			t.seen.Write(text)
		}
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode()
	}
}

// await waits until the terminal shows the text.
func (t *terminal) await(text string) {
	t.t.Helper()
	for limit := time.After(2 * time.Minute); !bytes.Contains(t.seen.Bytes(), []byte(text)); {
		select {
		case more, ok := <-t.text:
			if t.seen.Write(more); !ok {
				t.t.Fatalf("the program ended without %q:\n%q", text, t.seen.String())
			}
		case <-limit:
			t.t.Fatalf("it never showed %q:\n%q", text, t.seen.String())
		}
	}
}

func (t *terminal) press(keys string) {
	if _, err := t.keys.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

// TestClusterAsked presses Ctrl-C on a terminal while workers run, and answers.
func TestClusterAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, says string }{
		{"leave", "leave\r", "The next apply with --on continues"},
		{"cancel", "cancel\r", "cancel\r\n"},
		{"nothing", "\r", "The next apply with --on continues"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			window, ended := l.newTerminal("apply", l.file, "--on", l.dir+"/cluster.hcl", "-var", "log="+l.dir+"/log")
			window.await("[2mon ") // a node
			window.press("\x03")
			window.await("or continue the run? [leave/stop/continue]")
			window.press(tt.answer)
			window.await(tt.says)
			if code := ended(); code != 130 {
				t.Errorf("status %d:\n%s", code, window.seen.String())
			}
			if tt.name == "cancel" {
				l.nothingLeft()
			}
			for key, n := range l.finish() {
				if n != 1 && tt.name != "cancel" {
					t.Errorf("step %s ran %d times", key, n)
				}
			}
		})
	}
}

// queries are sequences that a terminal answers.
var queries = regexp.MustCompile(`\x1b(\[[?>=]?[0-9;]*[cnqu]|\[[?0-9;]*\$p|\][0-9;]*;\?|P[+$]q|_G|Z)`)

// TestAsksNoTerminal runs commands on a terminal that answers nothing: none asks it
// anything, and none waits.
func TestAsksNoTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, t.TempDir())
	for _, tt := range []struct {
		args []string
		env  string
		// plain says that no escape sequence at all is expected.
		plain bool
	}{
		{[]string{"version"}, "", true},
		{[]string{"--help"}, "", false},
		{[]string{"--help"}, "NO_COLOR=1", true},
		{[]string{"runs"}, "NO_COLOR=1", true},
		{[]string{"competition", "list"}, "", false},
		{[]string{"plan", p.file}, "", false},
		{[]string{"apply", p.file, "--target", "step.download.raw"}, "", false},
		{[]string{"no-such-command"}, "", false},
	} {
		t.Run(strings.Join(tt.args[:1], " ")+tt.env, func(t *testing.T) {
			one := *p
			one.t, one.env = t, append(p.env, tt.env)
			window, ended := one.newTerminal(tt.args...)
			ended()
			seen := window.seen.Bytes()
			if q := queries.Find(seen); q != nil {
				t.Errorf("it asks the terminal %q", q)
			}
			if tt.plain && bytes.Contains(seen, []byte("\x1b")) {
				t.Errorf("escape sequences in %q", seen)
			}
			if len(seen) == 0 {
				t.Error("it showed nothing")
			}
		})
	}
}

// TestRepeatsAsked answers the question whether an attempt is repeated that differs from
// its result by the machine's runtime only.
func TestRepeatsAsked(t *testing.T) {
	for answer, want := range map[string]string{"use\r": "Nothing to do", "\r": "Not repeated"} {
		p, _ := unpacked(t, "v0.1.0.tar.gz")
		text, err := os.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.file, bytes.Replace(text, []byte(`runtime     = "process"`), nil, 1), 0o600); err != nil {
			t.Fatal(err)
		}
		p.env = append(p.env, "MLEFLOW_AUTO_RUNTIME=sandbox")
		window, ended := p.newTerminal("apply", p.file)
		window.await("would repeat 1 result: ")
		window.await("[repeat/use/stop]")
		window.press(answer)
		window.await(want)
		if code := ended(); (code == 0) != (want == "Nothing to do") {
			t.Errorf("%q: status %d\n%s", answer, code, window.seen.String())
		}
	}
}
