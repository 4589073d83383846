package first

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
)

const odd = "\x00\a\n\"'\\ </script>&\u2028 é 𝛼 /"

// TestJSON sees that the first process and encoding/json understand each other.
func TestJSON(t *testing.T) {
	plan := Plan{
		Root: "/bad\xff\xfe " + odd, User: IDs{1, 2}, Mounts: []Mount{{Host: "/a", Guest: odd, ReadOnly: true}, {}},
		Rules: Rules{Masked: []Text{"/m"}, Seccomp: []byte{0, 1, 255}}, Links: map[string]string{odd: odd, "": ""},
		Services: []Service{{Name: "s", Port: 5000, Env: map[string]string{"A": "{address}/x"}}}, Command: []string{"", odd},
		Limits: Limits{Timeout: time.Hour, MemoryBytes: 1<<62 + 1}, View: guest.Machine{CPUs: []int{0, 12}}, Resume: true,
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var got Plan
	if err := decode(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	said := message{
		Ready: &Ready{Started: time.Now().UTC(), Ports: []int{1, 2}, Held: map[string]string{"a": "b", odd: odd}}, Failed: odd, Start: true,
		Memory: -1, Report: &Report{Exit: Exit{Reason: "exited", Code: 3, Wall: 1}, Cancelled: true},
	}
	var heard message
	if err := json.Unmarshal(encode(nil, reflect.ValueOf(said)), &heard); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said, heard); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	var none message
	if err := json.Unmarshal(encode(nil, reflect.ValueOf(none)), &none); err != nil || none != (message{}) {
		t.Errorf("%+v, %v", none, err)
	}
}

// TestJSONOfLaterOwner: an owner of another version may say more.
func TestJSONOfLaterOwner(t *testing.T) {
	var o order
	err := decode([]byte(`{"new":[{"a":[null,"]}"]},1.5],"limit":7,"keep":true,"gone2":{}}`), &o)
	if err != nil || o != (order{Keep: true, Limit: 7}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, text := range []string{"", "{", "[", "[}", `{"limit"`, `{"limit":}`, `{"x":[}`, `{"x":[1`, `{"x":{"y":`, `{"keep":"yes"}`, `{"limit":{}}`, `{"limit":[]}`, `{"x":"\`, "\"", `{"cancel":true`} {
		if err := decode([]byte(text), &o); err == nil {
			t.Errorf("%s is understood", text)
		}
	}
}
