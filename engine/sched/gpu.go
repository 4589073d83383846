package sched

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// GPUs returns the names of the machine's GPUs, in order. They are the numbered
// devices in the specifications of the Container Device Interface (CDI), as in
// "nvidia.com/gpu=0". Without specifications, the device files of NVIDIA's
// driver are used under the same names. Other names in a specification (the
// UUID, "all") are ignored, because a device must have a single name to be
// leased only once. Of a divided GPU (MIG), the slices are listed, as in
// "nvidia.com/gpu=0:1". The whole GPU is not, because it cannot compute.
func (p Probe) GPUs() []string {
	names := p.cdi()
	if len(names) == 0 {
		names = p.nodes()
	}
	slices.SortFunc(names, compareDevices)
	names = slices.Compact(names)
	divided := map[string]bool{}
	for _, name := range names {
		if whole := wholeOf(name); whole != name {
			divided[whole] = true
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return divided[name] })
}

// DevicesVariable names the environment variable with the devices to lease. By
// default, all devices found are leased.
const DevicesVariable = "MLEFLOW_DEVICES"

// ChooseDevices returns the devices to lease. If text, the value of
// DevicesVariable, is empty, these are all devices found. Otherwise text is
// "none" or a comma-separated list. An element is a device or slice with its
// number ("nvidia.com/gpu=0", "nvidia.com/gpu=1:0"), or a kind, which stands
// for all devices of the kind that were found. A numbered device need not have
// been found: its driver may not have described it.
func ChooseDevices(text string, found []string) ([]string, error) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return found, nil
	case "none":
		return nil, nil
	}
	var names []string
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		kind, number, named := strings.Cut(word, "=")
		switch {
		case !strings.Contains(kind, "/"), named && !numbered.Regexp().MatchString(number):
			return nil, fmt.Errorf("%q is not a device such as nvidia.com/gpu=0, a slice such as nvidia.com/gpu=0:1, a kind or \"none\"", word)
		case named:
			names = append(names, word)
			continue
		}
		before := len(names)
		for _, device := range found {
			if strings.HasPrefix(device, kind+"=") {
				names = append(names, device)
			}
		}
		if len(names) == before {
			return nil, fmt.Errorf("no device of kind %q was found", kind)
		}
	}
	slices.SortFunc(names, compareDevices)
	names = slices.Compact(names)
	for _, name := range names {
		if whole := wholeOf(name); whole != name && slices.Contains(names, whole) {
			return nil, fmt.Errorf("%s is a slice of %s; name either the device or its slices", name, whole)
		}
	}
	return names, nil
}

// Models returns the models of devices in NVIDIA's words, in lower case with dashes and
// each once: "nvidia-h100-80gb-hbm3". Of a slice it is that of the whole GPU, with the
// ending "-slice". A device that the driver does not describe is "unknown".
func (p Probe) Models(devices []string) string {
	if len(devices) == 0 {
		return ""
	}
	known := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(p.Root, "proc/driver/nvidia/gpus/*/information"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		fields := map[string]string{}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		known["nvidia.com/gpu="+fields["Device Minor"]] = strings.ToLower(strings.Join(strings.FieldsFunc(fields["Model"], notInModel), "-"))
	}
	var models []string
	for _, device := range devices {
		whole := wholeOf(device)
		model := cmp.Or(known[whole], "unknown")
		if whole != device {
			model += "-slice"
		}
		models = append(models, model)
	}
	slices.Sort(models)
	return strings.Join(slices.Compact(models), "+")
}

func notInModel(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func (p Probe) nodes() []string {
	var names []string
	found, _ := filepath.Glob(filepath.Join(p.Root, "dev/nvidia[0-9]*"))
	for _, f := range found {
		if n := strings.TrimPrefix(filepath.Base(f), "nvidia"); numbered.Regexp().MatchString(n) {
			names = append(names, "nvidia.com/gpu="+n)
		}
	}
	return names
}

// numbered matches the index of a device, or the indexes of a device and its
// slice.
var numbered = pattern.New(`^\d+(:\d+)?$`)

func (p Probe) cdi() []string {
	var names []string
	for _, dir := range []string{"etc/cdi", "var/run/cdi"} {
		for _, pattern := range []string{"*.json", "*.yaml", "*.yml"} {
			found, _ := filepath.Glob(filepath.Join(p.Root, dir, pattern))
			for _, f := range found {
				kind, devices := readCDI(f)
				if !strings.HasSuffix(kind, "/gpu") {
					continue
				}
				for _, d := range devices {
					if numbered.Regexp().MatchString(d) {
						names = append(names, kind+"="+d)
					}
				}
			}
		}
	}
	return names
}

// readCDI returns the kind and the device names of a specification, or nothing
// if it cannot be read.
func readCDI(name string) (kind string, devices []string) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", nil
	}
	if filepath.Ext(name) != ".json" {
		return scanCDI(strings.Split(string(text), "\n"))
	}
	var spec struct {
		Kind    string `json:"kind"`
		Devices []struct {
			Name string `json:"name"`
		} `json:"devices"`
	}
	if json.Unmarshal(text, &spec) != nil {
		return "", nil
	}
	for _, d := range spec.Devices {
		devices = append(devices, d.Name)
	}
	return spec.Kind, devices
}

// scanCDI reads the two relevant parts of a specification in YAML's block
// style, which generators write: the top-level kind, and the names of the items
// in the top-level list of devices.
func scanCDI(lines []string) (kind string, devices []string) {
	inDevices, item := false, -1
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		dash := strings.HasPrefix(text, "- ")
		if indent == 0 && !dash {
			inDevices, item = strings.HasPrefix(text, "devices:"), -1
			if k, ok := strings.CutPrefix(text, "kind:"); ok {
				kind = unquote(k)
			}
			continue
		}
		if inDevices && dash && item < 0 {
			item = indent
		}
		if rest := strings.TrimPrefix(text, "- "); inDevices && (dash && indent == item || !dash && indent == item+2) {
			if n, ok := strings.CutPrefix(rest, "name:"); ok {
				devices = append(devices, unquote(n))
			}
		}
	}
	return kind, devices
}

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), `"'`) }

// compareDevices orders names by kind, then by number.
func compareDevices(a, b string) int {
	ka, na, _ := strings.Cut(a, "=")
	kb, nb, _ := strings.Cut(b, "=")
	if c := strings.Compare(ka, kb); c != 0 {
		return c
	}
	return slices.Compare(numbers(na), numbers(nb))
}

func numbers(s string) []int {
	var out []int
	for _, p := range strings.Split(s, ":") {
		n, _ := strconv.Atoi(p)
		out = append(out, n)
	}
	return out
}
