package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"
)

// Command is the hidden sub-command that sends one message to an address.
const Command = "notify-send"

// mostMemory is the most memory, in bytes, that the process of Command may take: some
// services read an answer to its end.
const mostMemory = 32 << 20

// patience is how long a receiver may take for one message. Tests give it more.
var patience = 10 * time.Second

var errSlow = fmt.Errorf("it took more than %v", patience)

// parcel is the input of Command.
type parcel struct {
	To string
	Message
}

// Send sends a message, and waits for at most patience. The error has no secret.
func (r *Receiver) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	command, in, out := r.Command, any(m), &bytes.Buffer{}
	if r.To != "" {
		to, err := r.address(ctx)
		self, missing := os.Executable()
		if err := cmp.Or(err, missing); err != nil {
			return err
		}
		command, in = []string{self, Command}, parcel{to, m}
	}
	doc, err := json.Marshal(in)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = r.dir, bytes.NewReader(append(doc, '\n')), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if r.To != "" {
		cmd.Stdout = out // what a command prints may be secret
	}
	err = cmd.Run()
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && out.Len() > 0:
		return errors.New(out.String())
	case err != nil:
		return fmt.Errorf("its command failed: %s", r.failure(command[0], err))
	}
	return nil
}

// failure says why a command failed and, if it could not be started, how to go on.
func (r *Receiver) failure(path string, err error) string {
	if !filepath.IsAbs(path) && strings.Contains(path, "/") {
		path = filepath.Join(r.dir, path)
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return path + " is in no folder of $PATH; write its full path"
	case errors.Is(err, fs.ErrPermission):
		return path + " is not executable; run chmod +x " + path
	case errors.Is(err, fs.ErrNotExist):
		return "there is no " + path + ", or not the interpreter that its first line names"
	case errors.Is(err, syscall.ENOEXEC):
		return path + " is no program; a script begins with a line such as #!/bin/sh"
	}
	return err.Error()
}

// Main is Command. It prints why a message was not sent.
func Main([]string) int {
	out := os.Stdout
	os.Stdout, _ = os.Open(os.DevNull) // libraries print to it
	fail := func(why string) int {
		_, _ = fmt.Fprint(out, why)
		return 1
	}
	time.AfterFunc(patience, func() { os.Exit(fail(errSlow.Error())) })
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > mostMemory {
				os.Exit(fail("its answer is too large"))
			}
		}
	}()
	network := &direct{RoundTripper: http.DefaultTransport}
	http.DefaultTransport = network
	var p parcel
	err := json.NewDecoder(os.Stdin).Decode(&p)
	if err == nil {
		err = p.deliver()
	}
	if err == nil && network.err == nil {
		return 0
	}
	return fail(reason(cmp.Or(network.err, err)))
}

// titled are the services that show a title by themselves.
var titled = []string{"bark", "generic", "gotify", "join", "ntfy", "pushbullet", "pushover", "smtp"}

func (p *parcel) deliver() error {
	service, err := (&router.ServiceRouter{}).Locate(p.To)
	if err != nil {
		return err
	}
	if slices.Contains(titled, service.GetID()) {
		return service.Send(p.Text, &types.Params{types.TitleKey: p.Title})
	}
	return service.Send(p.Title+"\n"+p.Text, &types.Params{})
}

// direct refuses redirects: the receiver could have the message sent to an address that
// only this machine reaches.
type direct struct {
	http.RoundTripper
	// err is why the last request failed, which some services do not report.
	err error
}

// errAnswer is an error whose text is ours.
type errAnswer string

// Error implements error.
func (e errAnswer) Error() string { return string(e) }

// RoundTrip implements http.RoundTripper.
func (d *direct) RoundTrip(r *http.Request) (res *http.Response, err error) {
	if r.Response != nil {
		d.err = errAnswer("it redirects to another address; write that one")
		return nil, d.err
	}
	if res, err = d.RoundTripper.RoundTrip(r); err == nil && res.StatusCode >= http.StatusBadRequest {
		d.err = errAnswer(fmt.Sprintf("its server answered %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
	} else {
		d.err = err
	}
	return res, err
}

// reason says why a message was not sent, without the texts of services and servers: they
// quote addresses.
func reason(err error) string {
	var lookup *net.DNSError
	var op *net.OpError
	var status jsonclient.Error
	var mail *textproto.Error
	var certificate *tls.CertificateVerificationError
	own, is := errors.AsType[errAnswer](err)
	switch {
	case is:
		return own.Error()
	case errors.As(err, &lookup):
		return "its server is not found: " + lookup.Err
	case errors.As(err, &op):
		return "its server cannot be reached: " + op.Err.Error()
	case errors.As(err, &certificate):
		return "the certificate of its server is not trusted"
	case errors.As(err, &status) && status.StatusCode > 0:
		return fmt.Sprintf("its server answered %d %s", status.StatusCode, http.StatusText(status.StatusCode))
	case errors.As(err, &mail):
		return fmt.Sprintf("its server answered %d", mail.Code)
	}
	return "its service refused the address or the message; compare the address with the documentation of shoutrrr"
}
