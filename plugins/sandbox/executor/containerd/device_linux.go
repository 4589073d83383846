package containerd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// reachTimeout limits the examination of a device in a container.
const reachTimeout = time.Minute

// Reaches runs a container with the device. In it, as the user of agents, it opens
// every device file that the device's description names. It returns their paths. The
// image contains the program, which runs Look as its sub-command LookCommand.
func (e *Executor) Reaches(ctx context.Context, image, program, device string) ([]string, error) {
	nodes, err := e.nodes(device)
	if err != nil {
		return nil, err
	}
	var out, logs bytes.Buffer
	exit, err := e.Run(ctx, executor.Spec{
		ID: "look at " + device, Image: image, Command: append([]string{program, LookCommand}, nodes...), Devices: []string{device},
		Stdout: &out, Limits: executor.Limits{Timeout: reachTimeout, Setup: reachTimeout, MemoryBytes: 256 << 20, Processes: 256, LogBytes: 1 << 20},
	}, &logs)
	if err != nil {
		return nil, err
	}
	if !exit.OK() {
		return nil, fmt.Errorf("look at %s: exit status %d: %s", device, exit.Code, bytes.TrimSpace(logs.Bytes()))
	}
	var all []looked
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		return nil, fmt.Errorf("look at %s: %w", device, err)
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
func (e *Executor) nodes(device string) ([]string, error) {
	cache, err := e.devices()
	if err != nil {
		return nil, err
	}
	_ = cache.Refresh() // a broken description must not hide the others
	found := cache.GetDevice(device)
	if found == nil {
		return nil, fmt.Errorf("no description of %s; there are those of %s", device, orNone(cache.ListDevices()))
	}
	var nodes []string
	for _, n := range found.ContainerEdits.DeviceNodes {
		nodes = append(nodes, n.Path)
	}
	if spec := found.GetSpec(); spec != nil {
		for _, n := range spec.ContainerEdits.DeviceNodes {
			nodes = append(nodes, n.Path)
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the description of %s names no device file", device)
	}
	return nodes, nil
}
