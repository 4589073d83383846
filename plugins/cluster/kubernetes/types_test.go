package kubernetes

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
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
