package process

import (
	"fmt"
	"maps"
	"strings"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// deviceVariables maps kinds of devices to the variables that restrict the vendor's
// libraries to the listed numbers.
var deviceVariables = map[string][]string{
	"nvidia.com/gpu": {"CUDA_VISIBLE_DEVICES"},
	"amd.com/gpu":    {"ROCR_VISIBLE_DEVICES"},
}

// withDevices adds the variables that tell the vendors' libraries which devices are
// leased. The Spec's environment takes precedence. CUDA is told to number devices as
// the driver does. A slice of a device is rejected, because it has no such number.
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

// MarkerVariable is the only variable that the runtime adds to the command's
// environment apart from those for devices. Its value is random and identifies the run.
const MarkerVariable = "MLEFLOW_TASK"
