package image

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// Deps are the parts of the program that the kind needs.
type Deps struct {
	// Machine runs commands and fetches bases. Images without commands, whose
	// base is a file, need none.
	Machine image.Machine
	// Private are folders of this machine whose files must never get into an image,
	// such as the cache.
	Private []string
}

// Kind returns the step kind "image".
func Kind(deps Deps) step.Kind {
	args := arguments{Run: [][]string{}, MaxSize: "64GiB", Network: &network{Allow: []string{}}}
	return step.Kind{
		Name:      "image",
		Version:   "1",
		Doc:       "Builds a container image for agents, without Docker, from a base, files, texts, outputs of steps, and commands run in containers as root. An agent block uses it as image = step.image.NAME.image. It never has private files.",
		Varies:    true,
		Untrusted: true,
		Args:      step.Attrs(args, nil),
		Blocks:    step.Blocks(args, nil),
		Outputs: []step.Output{
			{Name: "digest", Type: cty.String, Doc: "Digest of the image's manifest, sha256:…."},
			{Name: "image", Type: step.ArtifactType, Doc: "The image as an OCI archive, a blob."},
		},
		New: func(args step.Args) (step.Step, error) { return newBuild(args, deps) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Base        *string                   `cty:"base" doc:"The base: the path (starting with \"/\" or \".\") of an OCI layout or archive, or of a root file system in an uncompressed tar; NAME@sha256:… in a registry; or local:NAME@sha256:… in containerd's store. Without base and base_content the image starts empty."`
	BaseContent *step.Artifact            `cty:"base_content" doc:"The base as a step's output: an image, an OCI layout, or a root file system in an uncompressed tar."`
	Files       map[string]string         `cty:"files" doc:"Files and folders of this machine by their path in the image, relative to the working directory. The key has their contents and whether they are executable."`
	Texts       map[string]string         `cty:"texts" doc:"Text files by their path in the image. One that starts with \"#!\" is executable."`
	Contents    map[string]*step.Artifact `cty:"contents" doc:"Outputs of steps by their path in the image."`
	Run         [][]string                `cty:"run" doc:"Commands, each a program and its arguments, run in order as root in the image so far. Each adds a layer."`
	Env         map[string]string         `cty:"env" doc:"Environment variables for commands and agents, stored in the image: no secrets."`
	MaxSize     string                    `cty:"max_size" is:"cosmetic" doc:"The most that the image takes unpacked, base included, such as \"100GiB\". A larger one is an error as it is read or written."`
	Workdir     *string                   `cty:"workdir" doc:"Working directory of the image."`
	User        *string                   `cty:"user" doc:"User of the image elsewhere; agent-run sets the agents' user."`
	Network     *network                  `cty:"network" block:"What the commands may reach; nothing without this block."`
}

type network struct {
	Allow []string `cty:"allow" doc:"\"host:port\", \"*.domain:port\" or \"address:port\", reached through a proxy that the usual environment variables name. The log has the connections."`
	Open  bool     `cty:"open" doc:"The machine's network."`
}

// build is one instance of the kind.
type build struct {
	args   arguments
	deps   Deps
	limits executor.Limits
	// most is the maximum size of the image in bytes.
	most int64
	// policy lists the servers that commands can reach through the proxy; nil is none.
	policy *proxy.Policy
	// key is the digest of the base and the files at the time of the plan.
	key string
}

func newBuild(args step.Args, deps Deps) (step.Step, error) {
	b := &build{deps: deps}
	if err := args.Decode(&b.args); err != nil {
		return nil, err
	}
	b.limits = executor.Limits{MemoryBytes: args.Limits.MemoryBytes, CPUs: args.Limits.CPUs, LogBytes: logBytes}
	return b, errors.Join(
		step.WrongArg("base", b.checkBase()), step.WrongArg("max_size", b.checkSize()), b.checkPlaces(), step.WrongArg("files", b.checkFiles()),
		step.WrongArg("run", b.checkRun()), step.WrongArg("network", b.checkNetwork()),
	)
}

func (b *build) checkBase() error {
	switch {
	case b.args.Base != nil && b.args.BaseContent != nil:
		return errors.New("give base or base_content, not both")
	case b.args.Base != nil && *b.args.Base == "":
		return errors.New("base is empty; leave it out for an empty image")
	case len(b.args.Run) > 0 && b.args.Base == nil && b.args.BaseContent == nil:
		return errors.New("run needs a base image with programs; set base or base_content")
	}
	return nil
}

func (b *build) checkSize() (err error) {
	if b.most, err = step.ParseSize(b.args.MaxSize); err == nil && b.most < 1 {
		err = errors.New("it must be at least 1 byte")
	}
	return err
}

// checkPlaces checks the paths in the image.
func (b *build) checkPlaces() error {
	taken := map[string]string{}
	var all error
	for _, list := range []struct {
		arg   string
		paths []string
	}{{"files", keys(b.args.Files)}, {"texts", keys(b.args.Texts)}, {"contents", keys(b.args.Contents)}} {
		for _, p := range list.paths {
			var err error
			switch other, found := taken[path.Clean(p)]; {
			case !path.IsAbs(p) || slices.Contains(strings.Split(p, "/"), ".."):
				err = fmt.Errorf("%q is not a path in the image: write an absolute one without \"..\"", p)
			case found:
				err = fmt.Errorf("%q is also given by %s", p, other)
			}
			taken[path.Clean(p)] = list.arg
			all = errors.Join(all, step.WrongArg(list.arg, err))
		}
	}
	return all
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (b *build) checkRun() error {
	for _, command := range b.args.Run {
		if len(command) == 0 || command[0] == "" {
			return errors.New("a command is empty; each is a program and its arguments, such as [\"sh\", \"-c\", \"…\"]")
		}
	}
	return nil
}

func (b *build) checkNetwork() (err error) {
	n := b.args.Network
	switch {
	case n == nil:
		return nil
	case len(b.args.Run) == 0:
		return errors.New("there are no commands that could use the network; remove the block or add run")
	}
	b.policy, err = proxy.PolicyOf(n.Allow, n.Open)
	return err
}
