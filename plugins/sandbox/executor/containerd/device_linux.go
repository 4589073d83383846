package containerd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/device"
)

// reachTimeout limits the examination of a device in a container.
const reachTimeout = time.Minute

// Reaches runs a container with the device. In it, as the user of agents, it opens
// every device file that the device's description names. It returns their paths. The
// image contains the program, which runs Look as its sub-command LookCommand.
func (e *Executor) Reaches(ctx context.Context, image, program, name string) ([]string, error) {
	nodes, err := e.nodes(name)
	if err != nil {
		return nil, err
	}
	var out, logs bytes.Buffer
	exit, err := e.Run(ctx, executor.Spec{
		ID: "look at " + name, Image: image, Command: append([]string{program, LookCommand}, nodes...), Devices: []string{name},
		Stdout: &out, Limits: executor.Limits{Timeout: reachTimeout, Setup: reachTimeout, MemoryBytes: 256 << 20, Processes: 256, LogBytes: 1 << 20},
	}, &logs)
	if err != nil {
		return nil, err
	}
	if !exit.OK() {
		return nil, fmt.Errorf("look at %s: exit status %d: %s", name, exit.Code, bytes.TrimSpace(logs.Bytes()))
	}
	var all []looked
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	var bad error
	for _, l := range all {
		if l.Error != "" {
			bad = errors.Join(bad, fmt.Errorf("%s in the container: %s", l.Path, l.Error))
		}
	}
	return nodes, bad
}

// nodes returns the paths in the container of a device's files.
func (e *Executor) nodes(name string) (nodes []string, err error) {
	cache, err := device.Open(e.opts.CDIDirs)
	if err != nil {
		return nil, err
	}
	edits, err := device.Edits(cache, name)
	if err != nil {
		return nil, err
	}
	for _, edit := range edits {
		for _, n := range edit.DeviceNodes {
			nodes = append(nodes, n.Path)
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the description of %s names no device file", name)
	}
	return nodes, nil
}
