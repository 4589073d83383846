package kubernetes

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// TestLists decodes lists as the client does, and copies them.
func TestLists(t *testing.T) {
	decoder := serializer.NewCodecFactory(newScheme()).UniversalDeserializer()
	for kind, version := range map[string]string{"Job": "batch/v1", "Pod": "v1", "Node": "v1", "Event": "v1"} {
		text := `{"kind":"` + kind + `List","apiVersion":"` + version + `","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
		list, _, err := decoder.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		items, err := meta.ExtractList(list.DeepCopyObject())
		if err != nil || len(items) != 2 {
			t.Errorf("%s: %d items, %v", kind, len(items), err)
			continue
		}
		about, err := meta.Accessor(items[1])
		if err != nil || about.GetName() != "b" {
			t.Errorf("%s: the second item is %v, %v", kind, items[1], err)
		}
	}
}

// TestPodIsDecoded decodes what decides where a pod may run, as the client does.
func TestPodIsDecoded(t *testing.T) {
	sent := corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"pool": "gpu"}, Tolerations: []corev1.Toleration{{Key: "team", Operator: "Equal", Value: "vision", Effect: "NoSchedule"}},
		Containers: []corev1.Container{{Name: workerName, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}}}},
	}}
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := serializer.NewCodecFactory(newScheme()).UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := got.(*pod).Spec
	if spec.NodeSelector["pool"] != "gpu" || !spec.tolerates(taint{"team", "vision", "NoSchedule"}) || spec.tolerates(taint{"team", "speech", "NoSchedule"}) || spec.Containers[0].Resources.Requests["nvidia.com/gpu"] != "2" {
		t.Errorf("%+v", spec)
	}
}
