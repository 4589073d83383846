package process

import (
	"fmt"
	"maps"
	"strings"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// deviceVariables name, by kind of device, the variables by which the vendor's
// libraries see only the listed numbers.
var deviceVariables = map[string][]string{
	"nvidia.com/gpu": {"CUDA_VISIBLE_DEVICES"},
	"amd.com/gpu":    {"ROCR_VISIBLE_DEVICES"},
}

// withDevices adds variables that tell the vendors' libraries which devices are
// leased; what the Spec's environment says goes before. CUDA is told to count as
// the driver does. A slice of a device has no number there, so it is refused.
func withDevices(spec executor.Spec) (map[string]string, error) {
	env := map[string]string{}
	for _, device := range spec.Devices {
		kind, number, _ := strings.Cut(device, "=")
		for _, name := range deviceVariables[kind] {
			if strings.Contains(number, ":") {
				return nil, fmt.Errorf("run command: the process runtime cannot give it %s, a slice of a device; use a runtime with containers", device)
			}
			if env[name] != "" {
				number = env[name] + "," + number
			}
			env[name] = number
		}
	}
	if env["CUDA_VISIBLE_DEVICES"] != "" {
		env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
	}
	maps.Copy(env, spec.Environment(nil))
	return env, nil
}
