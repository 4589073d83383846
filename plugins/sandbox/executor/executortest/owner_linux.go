package executortest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// OwnerCommand is the sub-command of a test program that runs a command as mleflow would,
// and will be killed. Its argument is an order in JSON.
const OwnerCommand = "owner"

// StartOwner starts an owner with an order and returns when its output has the text until.
func StartOwner(t *testing.T, order Order, until string) *exec.Cmd {
	t.Helper()
	cmd, said := TryOwner(t, order, until)
	if cmd == nil {
		t.Fatalf("the owner ended: %s", said)
	}
	return cmd
}

// TryOwner is StartOwner for an owner that may end first: it returns nil and that one's
// last line.
func TryOwner(t *testing.T, order Order, until string) (cmd *exec.Cmd, said string) {
	t.Helper()
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command("/proc/self/exe", OwnerCommand, string(text))
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Kill(owner) })
	in := bufio.NewReader(out)
	for until != "" {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, said
		}
		if said = line; strings.Contains(line, until) {
			break
		}
	}
	return owner, said
}

// KillOwner starts an owner and kills it when its output has the text until. It returns
// the reason if it could not.
func KillOwner(t *testing.T, order Order, until string) (problem string) {
	t.Helper()
	cmd, said := TryOwner(t, order, until)
	if cmd == nil {
		return "the owner ended: " + said
	}
	Kill(cmd)
	return ""
}

// KillOwnerAt starts an owner and kills it at the moment i: i pauses after its start or,
// every fourth moment, when its output has the text until, unless it ended first.
func KillOwnerAt(t *testing.T, order Order, i int, pause time.Duration, until string) {
	t.Helper()
	if i%4 == 3 {
		if cmd, _ := TryOwner(t, order, until); cmd != nil {
			Kill(cmd)
		}
		return
	}
	cmd := StartOwner(t, order, "")
	time.Sleep(time.Duration(i) * pause) // the moment is the test
	Kill(cmd)
}

// Kill kills a program and waits for its end.
func Kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// WantTicks checks that the logs are the n lines of the guest's command "ticks".
func WantTicks(t *testing.T, logs string, n int) {
	t.Helper()
	want := ""
	for i := range n {
		want += fmt.Sprintln("tick", i)
	}
	if logs != want {
		t.Errorf("output is not whole: got\n%s", logs)
	}
}
