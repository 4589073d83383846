package supervise

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestWire(t *testing.T) {
	order := Order{
		Path: "/bin/sh", Command: []string{"sh", "-c", "", "a\nb:\xff"}, Env: []string{"A=1", "B=\x00"}, Dir: "/d", ReadOnly: nil,
		Timeout: time.Second, Grace: -1, MemoryBytes: 1 << 40, FileBytes: 3, Processes: 4,
	}
	var sent bytes.Buffer
	if err := order.Write(&sent); err != nil {
		t.Fatal(err)
	}
	sent.WriteByte(CancelByte)
	got, err := readOrder(&sent)
	if err != nil || !reflect.DeepEqual(got, order) {
		t.Errorf("got %+v, %v", got, err)
	}
	if rest := sent.String(); rest != string(rune(CancelByte)) {
		t.Errorf("left are %q", rest)
	}
	sent.Reset()
	report := Report{Reason: TimedOut, Code: 143, Signal: 15, Wall: 5, CPU: 6, PeakMemoryBytes: 7, Leftover: 8, StartError: "x", Cancelled: true, Stuck: 9}
	if err := report.write(&sent); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadReport(&sent); err != nil || got != report {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWireRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "5:", "5:1:a", "3:1:a", "999999999999:x", "0:", "12:9:a2:bc1:a1:b"} {
		if got, err := ReadReport(strings.NewReader(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestWords(t *testing.T) {
	if got := fields([]byte(" a  bc\td\n")); !reflect.DeepEqual(got, []string{"a", "bc", "d"}) {
		t.Errorf("got %q", got)
	}
	for _, tt := range []struct {
		text, part string
		want       bool
	}{{"abc", "bc", true}, {"abc", "bd", false}, {"", "x", false}, {"ab", "abc", false}} {
		if got := contains([]byte(tt.text), tt.part); got != tt.want {
			t.Errorf("%q in %q: %t", tt.part, tt.text, got)
		}
	}
}
