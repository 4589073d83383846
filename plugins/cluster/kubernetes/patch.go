package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// patchable are the fields that a patch may set, by the object that has them; objects that
// are missing here may be set as a whole. Other fields decide who the worker is, what keeps
// it apart from the node and from other pods, or when the pod ends.
var patchable = map[string][]string{
	"": {
		"affinity", "containers", "dnsConfig", "dnsPolicy", "hostAliases", "imagePullSecrets", "nodeSelector", "preemptionPolicy",
		"priorityClassName", "resourceClaims", "runtimeClassName", "schedulerName", "schedulingGates", "securityContext",
		"tolerations", "topologySpreadConstraints", "volumes",
	},
	"containers": {"env", "envFrom", "imagePullPolicy", "name", "resources", "securityContext", "volumeMounts"},
	"securityContext": {
		"fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsUser", "seLinuxOptions", "supplementalGroups", "supplementalGroupsPolicy",
	},
	"containers.securityContext": {"readOnlyRootFilesystem", "runAsGroup", "runAsUser", "seLinuxOptions"},
}

// parsePatch reads a patch of the pod and checks what it sets. It returns nil for "".
func parsePatch(text string) (patch map[string]any, err error) {
	if err := yaml.Unmarshal([]byte(text), &patch); err != nil {
		return nil, fmt.Errorf("pod is not YAML with the fields of a pod's spec: %w", err)
	}
	if len(patch) == 0 {
		return nil, nil
	}
	return patch, checkPatch("", patch)
}

func checkPatch(at string, patch any) error {
	fields, limited := patchable[at]
	var errs []error
	switch p := patch.(type) {
	case []any:
		errs = lists.Of(p, func(element any) error { return checkPatch(at, element) })
	case map[string]any:
		name := key(p)
		ours := name == "HOME" || strings.HasPrefix(name, "MLEFLOW_")
		if at == "containers" && name != workerName || at == "containers.env" && ours {
			return fmt.Errorf("pod has %s with the name %q: write only the container %q, and variables that mleflow does not set",
				at, name, workerName)
		}
		for _, name := range slices.Sorted(maps.Keys(p)) {
			path := strings.TrimPrefix(at+"."+name, ".")
			if limited && !slices.Contains(fields, name) {
				errs = append(errs, fmt.Errorf("pod sets %s, which an attribute of the block or mleflow decides; in %s it may set %s",
					path, cmp.Or(at, "the pod"), strings.Join(fields, ", ")))
			}
			errs = append(errs, checkPatch(path, p[name]))
		}
	default:
		if limited {
			return fmt.Errorf("pod has %s: %v, which would take away what the worker needs", at, p)
		}
	}
	return errors.Join(errs...)
}

// merged applies a patch. Objects are merged and null removes a field. To a list it adds
// elements, or merges each into the one with the same name, or mount path.
func merged(base, patch any) any {
	switch p := patch.(type) {
	case map[string]any:
		o, _ := base.(map[string]any)
		all := map[string]any{}
		maps.Copy(all, o)
		for name, value := range p {
			if all[name] = merged(all[name], value); value == nil {
				delete(all, name)
			}
		}
		return all
	case []any:
		list, _ := base.([]any)
		list = slices.Clone(list)
		for _, value := range p {
			same := func(o any) bool { return key(value) != "" && key(o) == key(value) }
			if i := slices.IndexFunc(list, same); i >= 0 {
				list[i] = merged(list[i], value)
			} else {
				list = append(list, merged(nil, value))
			}
		}
		return list
	}
	return patch
}

// key tells the elements of a list apart; "" if nothing does.
func key(element any) string {
	o, _ := element.(map[string]any)
	path, _ := o["mountPath"].(string)
	name, _ := o["name"].(string)
	return cmp.Or(path, name)
}
