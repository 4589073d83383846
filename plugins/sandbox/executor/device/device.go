// Package device reads the descriptions of devices on this machine (CDI), by which runtimes
// that isolate give guests their accelerators.
package device

import (
	"cmp"
	"fmt"
	"strings"

	"tags.cncf.io/container-device-interface/pkg/cdi"
	cdispec "tags.cncf.io/container-device-interface/specs-go"
)

// Open reads the descriptions in some folders, or in CDI's own if there are none. A broken
// description does not hide the others.
func Open(dirs []string) (*cdi.Cache, error) {
	options := []cdi.Option{cdi.WithAutoRefresh(false)}
	if len(dirs) > 0 {
		options = append(options, cdi.WithSpecDirs(dirs...))
	}
	return cdi.NewCache(options...)
}

// Described names the devices that have a description, for errors.
func Described(c *cdi.Cache) string { return cmp.Or(strings.Join(c.ListDevices(), ", "), "none") }

// Edits returns what a device needs in a container: its own needs, and those of all devices
// of its description.
func Edits(c *cdi.Cache, name string) ([]cdispec.ContainerEdits, error) {
	found := c.GetDevice(name)
	if found == nil {
		return nil, fmt.Errorf("no description of %s; there are those of %s", name, Described(c))
	}
	edits := []cdispec.ContainerEdits{found.ContainerEdits}
	if s := found.GetSpec(); s != nil {
		edits = append(edits, s.ContainerEdits)
	}
	return edits, nil
}
