package breach

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// KeyVariable holds, in this process only, a provider's key that is made up and of which a
// thief knows the hash.
const KeyVariable = "MLEFLOW_ATTACK_KEY"

// SecretVariable holds, in this process only, what stands in place of the secrets of agents.
const SecretVariable = "MLEFLOW_ATTACK_SECRET"

// Ambush is what a thief may look for on a machine: what Around lists, and more that is
// planted until Close.
type Ambush struct {
	Targets
	remove []func() error
}

// NewAmbush plants it. Files of the other attempt are in m.Dir. self is this program.
func NewAmbush(ctx context.Context, m Machine, self string) (a *Ambush, err error) {
	key := "sk-" + rand.Text()
	if err := errors.Join(os.Setenv(KeyVariable, key), os.Setenv(SecretVariable, "made-up-"+rand.Text())); err != nil {
		return nil, err
	}
	m.Env = append(slices.Clone(m.Env), "MLEFLOW_ATTACK_TOKEN="+rand.Text())
	t, closeAll, err := Around(ctx, m)
	if err != nil {
		return nil, err
	}
	a = &Ambush{Targets: *t, remove: []func() error{closeAll, func() error { return errors.Join(os.Unsetenv(KeyVariable), os.Unsetenv(SecretVariable)) }}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("plant what an attack looks for: %w", err), a.Close())
		}
	}()
	a.Mark, a.Folders, a.Words = "mleflow-mark-"+rand.Text(), map[string][]string{}, map[string]string{}
	a.Words[a.hash([]byte(key))] = "the provider's key"
	err = errors.Join(a.process(self, m.Env), a.server(), a.nameServer(), a.socket(),
		a.plant(Shared, os.TempDir()), a.plant(Shared, "/dev/shm"), a.plant(Attempt, m.Dir))
	return a, err
}

// Close removes what was planted.
func (a *Ambush) Close() (err error) {
	for _, remove := range slices.Backward(a.remove) {
		err = errors.Join(err, remove())
	}
	a.remove = nil
	return err
}

// process starts a process of the machine with a secret in its environment.
func (a *Ambush) process(self string, env []string) error {
	cmd := exec.Command(self, ThiefCommand, a.Mark) //nolint:gosec // this program
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		return err
	}
	a.remove = append(a.remove, func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	})
	return nil
}

// server answers every request, at the first address of the machine that is not its
// loopback's, if it has one.
func (a *Ambush) server() error {
	l, err := net.Listen("tcp", ":0") //nolint:gosec // an attack shall find it
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "reached") })
	served := make(chan error, 1)
	go func() {
		served <- service.Serve(ctx, l, h, service.Limits{Connections: 64, Header: patience, HeaderBytes: 16 << 10, Body: patience, Idle: patience})
	}()
	a.remove = append(a.remove, func() error { stop(); return <-served })
	host := "127.0.0.1"
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		if n, ok := addr.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			host = n.IP.String()
		}
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	a.Server = net.JoinHostPort(host, port)
	return nil
}

// nameServer answers every question with itself.
func (a *Ambush) nameServer() error {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		text := make([]byte, 512)
		for n, from, err := c.ReadFrom(text); err == nil; n, from, err = c.ReadFrom(text) {
			_, _ = c.WriteTo(text[:n], from)
		}
	}()
	a.remove = append(a.remove, c.Close)
	a.add(aNameServer, "udp", c.LocalAddr().String(), false)
	return nil
}

// socket listens on a socket to which every user may connect.
func (a *Ambush) socket() error {
	dir, err := os.MkdirTemp("", "mleflow-attack-")
	if err != nil {
		return err
	}
	a.remove = append(a.remove, func() error { return os.RemoveAll(dir) })
	path := filepath.Join(dir, "daemon.sock")
	l, err := listen("unix", path)
	if err != nil {
		return err
	}
	a.remove = append(a.remove, l.Close)
	a.Sockets = append(a.Sockets, path)
	return errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o777)) //nolint:gosec // an attack shall find it
}

// plant writes a file that every user may read to a folder, unless it is missing.
func (a *Ambush) plant(kind, dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // as /dev/shm is on some systems
	}
	remove, err := a.fileTrap(dir)
	if remove != nil {
		a.remove = append(a.remove, remove)
	}
	if err == nil {
		a.Files[len(a.Files)-1].Kind = kind
	}
	return err
}

// Private adds private files of the machine that exist, by their paths.
func (a *Ambush) Private(kind string, paths ...string) {
	for _, path := range paths {
		content, err := readStart(path)
		info, errInfo := os.Stat(path)
		if err == nil && errInfo == nil && len(content) >= leastPrivate {
			a.Files = append(a.Files, File{Path: []byte(path), Hash: a.hash(content), Kind: kind, Size: info.Size()})
		}
	}
}

// leastPrivate is the size from which a file's content identifies it.
const leastPrivate = 16

// leftMark is an argument of the process that a thief leaves.
func (t *Targets) leftMark() string { return t.Mark + "-left" }

// Judge completes findings by what shows only from outside, once the attempt has ended:
// whether a process that the thief left is alive, and whether followed says of a file of the
// results that it has private content.
func (t *Targets) Judge(list []Finding, followed []string) {
	for i := range list {
		f := &list[i]
		switch p := probeOf(f.Probe); {
		case p.name == "left processes" && t.alive():
			f.Result, f.Reached, f.HeldBy, f.Fix = Reached, []string{"a process that is alive after the attempt"}, "", p.fix
		case p.name == "links out" && len(followed) > 0:
			f.Result, f.Reached, f.Fix = Reached, append(f.Reached, followed[:min(len(followed), mostReached)]...), defect
		case p.name == "links out" && f.Result != Reached:
			f.HeldBy = strings.TrimPrefix(f.HeldBy+"; the harvest follows no links", "; ")
		}
	}
}

func probeOf(name string) probe {
	for _, p := range slices.Concat(fileProbes, networkProbes, systemProbes()) {
		if p.name == name {
			return p
		}
	}
	return probe{}
}

// alive reports whether a process that the thief left lives.
func (t *Targets) alive() (alive bool) {
	for try := 0; try < 20; try++ { // what was killed may take a moment to go
		alive = false
		for _, path := range inProcesses("cmdline") {
			if text, err := readStart(path); err == nil && slices.Contains(strings.Split(string(text), "\x00"), t.leftMark()) {
				alive = true
			}
		}
		if !alive {
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
	return alive
}

// Count counts findings by their results.
func Count(list []Finding) (n map[Result]int) {
	n = map[Result]int{}
	for _, f := range list {
		n[cmp.Or(f.Result, NotTried)]++
	}
	return n
}
