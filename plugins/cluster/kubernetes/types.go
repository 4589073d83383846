package kubernetes

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The parts of Kubernetes' objects that are read here, with the field names of
// batch/v1 and core/v1. k8s.io/api would double the time to decode a pod
// and add 4.5 MB to the program.

var (
	batchGroup = schema.GroupVersion{Group: "batch", Version: "v1"}
	coreGroup  = schema.GroupVersion{Version: "v1"}
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(batchGroup.WithKind("Job"), &job{})
	s.AddKnownTypeWithName(batchGroup.WithKind("JobList"), &list[job]{})
	s.AddKnownTypeWithName(coreGroup.WithKind("Pod"), &pod{})
	s.AddKnownTypeWithName(coreGroup.WithKind("PodList"), &list[pod]{})
	s.AddKnownTypeWithName(coreGroup.WithKind("NodeList"), &list[node]{})
	s.AddKnownTypeWithName(coreGroup.WithKind("EventList"), &list[event]{})
	metav1.AddToGroupVersion(s, batchGroup)
	metav1.AddToGroupVersion(s, coreGroup)
	return s
}

type (
	job  = described[jobSpec, jobStatus]
	pod  = described[podSpec, podStatus]
	node = described[nodeSpec, nodeStatus]
)

// described is an object with a specification and a status.
type described[Spec, Status any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

type jobSpec struct {
	Suspend bool `json:"suspend,omitempty"`
}

type jobStatus struct {
	Conditions []condition `json:"conditions,omitempty"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type podSpec struct {
	NodeName     string            `json:"nodeName,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Tolerations  []Toleration      `json:"tolerations,omitempty"`
	Containers   []container       `json:"containers"`
}

type container struct {
	Resources struct {
		Requests map[string]string `json:"requests,omitempty"`
	} `json:"resources"`
}

type podStatus struct {
	Phase             string            `json:"phase,omitempty"`
	Reason            string            `json:"reason,omitempty"`
	Message           string            `json:"message,omitempty"`
	Conditions        []condition       `json:"conditions,omitempty"`
	ContainerStatuses []containerStatus `json:"containerStatuses,omitempty"`
}

type containerStatus struct {
	Name  string         `json:"name"`
	Image string         `json:"image"`
	State containerState `json:"state"`
}

type containerState struct {
	Waiting    *waiting    `json:"waiting,omitempty"`
	Running    *struct{}   `json:"running,omitempty"`
	Terminated *terminated `json:"terminated,omitempty"`
}

type waiting struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type terminated struct {
	ExitCode  int         `json:"exitCode"`
	Reason    string      `json:"reason,omitempty"`
	Message   string      `json:"message,omitempty"`
	StartedAt metav1.Time `json:"startedAt"`
}

type nodeSpec struct {
	Unschedulable bool    `json:"unschedulable,omitempty"`
	Taints        []taint `json:"taints,omitempty"`
}

type taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

type nodeStatus struct {
	Allocatable map[string]string `json:"allocatable,omitempty"`
	Conditions  []condition       `json:"conditions,omitempty"`
}

type event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Type              string      `json:"type"`
	Reason            string      `json:"reason"`
	Message           string      `json:"message"`
	LastTimestamp     metav1.Time `json:"lastTimestamp"`
}

type list[T any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []T `json:"items"`
}

// Copies by way of JSON are slow, and nothing frequent needs them.

func (o *list[T]) DeepCopyObject() runtime.Object         { return recoded[list[T]](o) }
func (o *described[S, T]) DeepCopyObject() runtime.Object { return recoded[described[S, T]](o) }
func (o *event) DeepCopyObject() runtime.Object           { return recoded[event](o) }

// recoded returns the fields of an object that another type has, too, by way of JSON.
func recoded[T any](from any) *T {
	to := new(T)
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(err) // the types above always encode
	}
	return to
}
