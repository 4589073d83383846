package process

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

func TestDevices(t *testing.T) {
	for name, tt := range map[string]struct {
		spec executor.Spec
		want map[string]string
		bad  string
	}{
		"none":     {executor.Spec{}, map[string]string{}, ""},
		"two":      {executor.Spec{Devices: []string{"nvidia.com/gpu=2", "nvidia.com/gpu=0"}}, map[string]string{"CUDA_VISIBLE_DEVICES": "2,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ""},
		"AMD":      {executor.Spec{Devices: []string{"amd.com/gpu=1"}}, map[string]string{"ROCR_VISIBLE_DEVICES": "1"}, ""},
		"stand-in": {executor.Spec{Devices: []string{"mleflow.test/gpu=1"}}, map[string]string{}, ""},
		"own":      {executor.Spec{Devices: []string{"nvidia.com/gpu=2"}, Env: map[string]string{"CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "X"}}, map[string]string{"CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "X"}, ""},
		"slice":    {executor.Spec{Devices: []string{"nvidia.com/gpu=0:1"}}, nil, "a slice of a device"},
	} {
		got, err := withDevices(tt.spec)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.bad != "") || err != nil && !strings.Contains(err.Error(), tt.bad) {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}
