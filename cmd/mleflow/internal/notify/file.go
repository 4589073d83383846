package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
)

// addressed is the rest of a line that may hold an address.
var addressed = pattern.New(`\bto\s*=[^\n]*|://[^\n]*`)

// usual are the kinds of messages to a receiver that does not choose.
var usual = []string{"finished", "failed", "stalled", "budget 80%", "disk"}

// Receiver is who is told.
type Receiver struct {
	// Name is that of its block, or what Hidden leaves of an address.
	Name string `hcl:"name,label"`
	// On are the kinds of messages.
	On []string `hcl:"on,optional"`
	// To is an address of shoutrrr or a reference to one. Command is what gets the
	// messages in its place.
	To      string   `hcl:"to,optional"`
	Command []string `hcl:"command,optional"`
	// AgentText adds text of agents, logs and clusters.
	AgentText bool      `hcl:"agent_text,optional"`
	Range     hcl.Range `hcl:",def_range"`
	// dir is the folder in which the command runs and relative paths start.
	dir string
}

// Receivers are those of the user's configuration.
type Receivers []Receiver

// Read reads a configuration:
//
//	notify "team" {
//	  on = ["failed", "budget 80%"]
//	  to = "env:SLACK_URL"
//	}
//
// Others must not be able to write it, since it names commands.
//
// The sources for diagnostics are without addresses.
func Read(path string) (Receivers, diag.Sources, diag.List) {
	dir := filepath.Dir(path)
	for _, own := range []string{dir, path} {
		if info, err := os.Stat(own); err != nil {
			return nil, nil, diag.List{diag.Failure("Configuration cannot be read", err)}
		} else if why := nolink.Writers(info); why != "" {
			return nil, nil, diag.List{diag.General("Configuration refused", "%s %s, who could have commands run: make it yours, and chmod go-w %s.", own, why, own)}
		}
	}
	src, err := checkout.ReadFile(path, 1<<20)
	if err != nil {
		return nil, nil, diag.List{diag.Failure("Configuration cannot be read", err)}
	}
	parsed, diags := bounded.Parse(src, path)
	var file struct {
		Notify Receivers `hcl:"notify,block"`
	}
	if !diags.HasErrors() {
		diags = gohcl.DecodeBody(parsed.Body, nil, &file)
	}
	hidden := addressed.Regexp().ReplaceAllFunc(src, func(text []byte) []byte { return bytes.Repeat([]byte("x"), len(text)) })
	sources := diag.Sources{path: {Bytes: hidden}}
	if diags.HasErrors() {
		return nil, sources, diag.List(diags)
	}
	for i := range file.Notify {
		r := &file.Notify[i]
		if r.dir = dir; r.On == nil {
			r.On = usual
		}
		err := errors.Join(r.check(), config.CheckNotifyKinds(r.On))
		if file.Notify.at(r.Name) < i {
			err = fmt.Errorf("there is a receiver %q already", r.Name)
		}
		if err != nil {
			diags = append(diags, diag.Error(r.Range, "Invalid receiver", "%s", diag.Sentence(err.Error())))
		}
	}
	return file.Notify, sources, diag.List(diags)
}

// check reports what is wrong with where messages go, without resolving a reference.
func (r *Receiver) check() error {
	switch {
	case (r.To == "") == (len(r.Command) == 0):
		return errors.New("a receiver needs either to, an address, or command")
	case r.Name == "":
		return errors.New("a receiver needs a name")
	case r.To == "" && r.Command[0] == "":
		return errors.New("command begins with the program: write its name or its full path")
	}
	if _, err := secret.ParseRef(r.To); err == nil || r.To == "" {
		return nil
	}
	return checkAddress(r.To)
}

// checkAddress reports, without quoting it, that a text is no address of shoutrrr.
func checkAddress(text string) error {
	if scheme, _, ok := strings.Cut(text, "://"); !ok || strings.HasPrefix(scheme, "http") {
		return errors.New("an address is like slack://…, or generic+https://… for a webhook of your own; it may be a reference: env:NAME, file:PATH or command:LINE")
	}
	return nil
}

// Named returns the receiver of a name, an address or a reference to one. path is the file
// that defines the receivers.
func (list Receivers) Named(text, path string) (Receiver, error) {
	if i := list.at(text); i >= 0 {
		return list[i], nil
	}
	r := Receiver{Name: Hidden(text), To: text}
	if !strings.Contains(text, ":") {
		names := lists.Of(list, func(r Receiver) string { return r.Name })
		has := view.Either(len(names) == 0, "none", strings.Join(names, ", "))
		return r, fmt.Errorf("your configuration defines no receiver %q.%s It defines %s%s", text, diag.DidYouMean(text, names), has, view.When(path != "" && path != "none", ", in "+path))
	}
	return r, r.check()
}

func (list Receivers) at(name string) int {
	return slices.IndexFunc(list, func(r Receiver) bool { return r.Name == name })
}

// Chosen returns who is told about a run: the receivers of the user's configuration, with
// what the pipeline adds, and those that the command line names. missing are the names of
// the pipeline that are not defined in the file at path.
func (list Receivers) Chosen(blocks []config.Notify, flags []string, path string) (chosen Receivers, missing []string, err error) {
	for _, b := range blocks {
		if i := list.at(b.Name); i >= 0 {
			list[i].On = slices.Concat(list[i].On, b.On)
		} else {
			missing = append(missing, b.Name)
		}
	}
	for _, text := range flags {
		r, err := list.Named(text, path)
		if err != nil {
			return nil, nil, fmt.Errorf("--notify: %w", err)
		}
		i := list.at(text)
		if i < 0 {
			i, list = len(list), append(list, r)
		}
		list[i].On = slices.Concat(r.On, usual)
	}
	return list, missing, nil
}

// Hidden returns an address without what may be secret, which can be any part of it. It
// counts as redacted in the history of runs.
func Hidden(address string) string {
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		return scheme + "://xxxxx"
	}
	return address
}

// address returns the address of the receiver.
func (r *Receiver) address(ctx context.Context) (string, error) {
	ref, err := secret.ParseRef(r.To)
	if err != nil {
		return r.To, nil //nolint:nilerr // it is the address
	}
	text, err := ref.Resolve(secret.In(ctx, r.dir))
	if err != nil {
		return "", fmt.Errorf("find its address: %w", err)
	}
	return text, checkAddress(text)
}
