package kubernetes

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The parts of Kubernetes' objects that are used here, with the field names of
// batch/v1 and core/v1. k8s.io/api would add two megabytes to the program; a
// test decodes what is sent strictly into its types.

var (
	batchGroup = schema.GroupVersion{Group: "batch", Version: "v1"}
	coreGroup  = schema.GroupVersion{Version: "v1"}
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(batchGroup.WithKind("Job"), &job{})
	s.AddKnownTypeWithName(batchGroup.WithKind("JobList"), &jobList{})
	s.AddKnownTypeWithName(coreGroup.WithKind("Pod"), &pod{})
	s.AddKnownTypeWithName(coreGroup.WithKind("PodList"), &podList{})
	s.AddKnownTypeWithName(coreGroup.WithKind("Node"), &node{})
	s.AddKnownTypeWithName(coreGroup.WithKind("NodeList"), &nodeList{})
	s.AddKnownTypeWithName(coreGroup.WithKind("Event"), &event{})
	s.AddKnownTypeWithName(coreGroup.WithKind("EventList"), &eventList{})
	metav1.AddToGroupVersion(s, batchGroup)
	metav1.AddToGroupVersion(s, coreGroup)
	return s
}

type job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              jobSpec   `json:"spec"`
	Status            jobStatus `json:"status,omitzero"`
}

type jobSpec struct {
	Suspend                 *bool             `json:"suspend,omitempty"`
	BackoffLimit            *int              `json:"backoffLimit,omitempty"`
	TTLSecondsAfterFinished *int              `json:"ttlSecondsAfterFinished,omitempty"`
	PodReplacementPolicy    string            `json:"podReplacementPolicy,omitempty"`
	PodFailurePolicy        *podFailurePolicy `json:"podFailurePolicy,omitempty"`
	Template                podTemplate       `json:"template"`
}

type podFailurePolicy struct {
	Rules []failureRule `json:"rules"`
}

type failureRule struct {
	Action      string       `json:"action"`
	OnExitCodes *onExitCodes `json:"onExitCodes,omitempty"`
}

type onExitCodes struct {
	ContainerName string `json:"containerName"`
	Operator      string `json:"operator"`
	Values        []int  `json:"values"`
}

type podTemplate struct {
	Metadata templateMeta `json:"metadata"`
	Spec     podSpec      `json:"spec"`
}

type templateMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type jobStatus struct {
	Active     int         `json:"active,omitempty"`
	Failed     int         `json:"failed,omitempty"`
	Conditions []condition `json:"conditions,omitempty"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              podSpec   `json:"spec"`
	Status            podStatus `json:"status"`
}

type podSpec struct {
	NodeName                      string            `json:"nodeName,omitempty"`
	RestartPolicy                 string            `json:"restartPolicy,omitempty"`
	ActiveDeadlineSeconds         *int64            `json:"activeDeadlineSeconds,omitempty"`
	TerminationGracePeriodSeconds *int64            `json:"terminationGracePeriodSeconds,omitempty"`
	AutomountServiceAccountToken  *bool             `json:"automountServiceAccountToken,omitempty"`
	EnableServiceLinks            *bool             `json:"enableServiceLinks,omitempty"`
	HostUsers                     *bool             `json:"hostUsers,omitempty"`
	ServiceAccountName            string            `json:"serviceAccountName,omitempty"`
	PriorityClassName             string            `json:"priorityClassName,omitempty"`
	RuntimeClassName              *string           `json:"runtimeClassName,omitempty"`
	ImagePullSecrets              []localReference  `json:"imagePullSecrets,omitempty"`
	NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
	Tolerations                   []toleration      `json:"tolerations,omitempty"`
	Affinity                      *affinity         `json:"affinity,omitempty"`
	SecurityContext               *podSecurity      `json:"securityContext,omitempty"`
	InitContainers                []container       `json:"initContainers,omitempty"`
	Containers                    []container       `json:"containers"`
	Volumes                       []volume          `json:"volumes,omitempty"`
}

type localReference struct {
	Name string `json:"name"`
}

type toleration struct {
	Key               string `json:"key,omitempty"`
	Operator          string `json:"operator,omitempty"`
	Value             string `json:"value,omitempty"`
	Effect            string `json:"effect,omitempty"`
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

type affinity struct {
	NodeAffinity nodeAffinity `json:"nodeAffinity"`
}

type nodeAffinity struct {
	Required  *nodeSelector   `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`
	Preferred []preferredTerm `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

type nodeSelector struct {
	Terms []nodeTerm `json:"nodeSelectorTerms"`
}

type preferredTerm struct {
	Weight     int      `json:"weight"`
	Preference nodeTerm `json:"preference"`
}

type nodeTerm struct {
	MatchFields []requirement `json:"matchFields"`
}

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

type podSecurity struct {
	RunAsNonRoot   *bool    `json:"runAsNonRoot,omitempty"`
	RunAsUser      *int64   `json:"runAsUser,omitempty"`
	RunAsGroup     *int64   `json:"runAsGroup,omitempty"`
	FSGroup        *int64   `json:"fsGroup,omitempty"`
	SeccompProfile *seccomp `json:"seccompProfile,omitempty"`
}

// seccomp is a profile of seccomp, or of AppArmor, which has the same form.
type seccomp struct {
	Type             string `json:"type"`
	LocalhostProfile string `json:"localhostProfile,omitempty"`
}

type container struct {
	Name            string             `json:"name"`
	Image           string             `json:"image"`
	ImagePullPolicy string             `json:"imagePullPolicy,omitempty"`
	Command         []string           `json:"command,omitempty"`
	Args            []string           `json:"args,omitempty"`
	Env             []envVar           `json:"env,omitempty"`
	EnvFrom         []envFrom          `json:"envFrom,omitempty"`
	Resources       resources          `json:"resources"`
	SecurityContext *containerSecurity `json:"securityContext,omitempty"`
	VolumeMounts    []volumeMount      `json:"volumeMounts,omitempty"`
	// TerminationMessagePolicy is where the last words of the container come from.
	TerminationMessagePolicy string `json:"terminationMessagePolicy,omitempty"`
}

type envVar struct {
	Name      string     `json:"name"`
	Value     string     `json:"value,omitempty"`
	ValueFrom *envSource `json:"valueFrom,omitempty"`
}

type envSource struct {
	FieldRef *fieldRef `json:"fieldRef,omitempty"`
}

type fieldRef struct {
	FieldPath string `json:"fieldPath"`
}

type envFrom struct {
	SecretRef *localReference `json:"secretRef,omitempty"`
}

type resources struct {
	Limits   map[string]string `json:"limits,omitempty"`
	Requests map[string]string `json:"requests,omitempty"`
}

type containerSecurity struct {
	Privileged               *bool         `json:"privileged,omitempty"`
	AllowPrivilegeEscalation *bool         `json:"allowPrivilegeEscalation,omitempty"`
	ProcMount                string        `json:"procMount,omitempty"`
	AppArmorProfile          *seccomp      `json:"appArmorProfile,omitempty"`
	Capabilities             *capabilities `json:"capabilities,omitempty"`
}

type capabilities struct {
	Drop []string `json:"drop,omitempty"`
}

type volumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

type volume struct {
	Name                  string    `json:"name"`
	HostPath              *hostPath `json:"hostPath,omitempty"`
	EmptyDir              *emptyDir `json:"emptyDir,omitempty"`
	PersistentVolumeClaim *claim    `json:"persistentVolumeClaim,omitempty"`
}

type hostPath struct {
	Path string `json:"path"`
	Type string `json:"type,omitempty"`
}

type emptyDir struct {
	SizeLimit string `json:"sizeLimit,omitempty"`
}

type claim struct {
	ClaimName string `json:"claimName"`
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
	StartedAt metav1.Time `json:"startedAt,omitempty"`
}

type node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              nodeSpec   `json:"spec"`
	Status            nodeStatus `json:"status"`
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

type (
	eventList = list[event]
	jobList   = list[job]
	podList   = list[pod]
	nodeList  = list[node]
)

func (o *list[T]) DeepCopyObject() runtime.Object { return copyOf(o, &list[T]{}) }
func (o *job) DeepCopyObject() runtime.Object     { return copyOf(o, &job{}) }
func (o *pod) DeepCopyObject() runtime.Object     { return copyOf(o, &pod{}) }
func (o *node) DeepCopyObject() runtime.Object    { return copyOf(o, &node{}) }
func (o *event) DeepCopyObject() runtime.Object   { return copyOf(o, &event{}) }

// copyOf returns a deep copy by way of JSON. It is slow, and nothing frequent needs it.
func copyOf[T runtime.Object](from, to T) T {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		panic(err) // the types above always encode
	}
	return to
}
