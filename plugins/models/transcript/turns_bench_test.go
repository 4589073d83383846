package transcript

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// BenchmarkTurns reads a conversation in which each request repeats all before:
// 400 turns of 4 KiB, some 320 MB of bodies.
func BenchmarkTurns(b *testing.B) {
	dir := b.TempDir()
	w, err := Open(dir, 1<<30, nil)
	if err != nil {
		b.Fatal(err)
	}
	var messages bytes.Buffer
	var size int64
	for turn := range 400 {
		fmt.Fprintf(&messages, `{"role":"user","content":"%d %s"},{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"sh","arguments":"{\"cmd\":\"ls %d\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%s"},`,
			turn, strings.Repeat("what it says ", 80), turn, turn, turn, strings.Repeat(`a line of output\n`, 180))
		body := fmt.Appendf(nil, `{"model":"m","tools":[{"type":"function","function":{"name":"sh"}}],"messages":[%s{"role":"user","content":"next"}]}`, messages.Bytes())
		x := w.Begin(body)
		_, _ = x.Write([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"fine"}}]}`))
		x.End(Event{Time: time.Unix(1, 0), Model: "main", Provider: "openai", Operation: "chat", Asked: "m", Status: 200})
		size += int64(len(body))
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r, err := OpenReader(os.DirFS(dir))
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, err := range r.Turns() {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 400 {
			b.Fatal(n)
		}
		_ = r.Close()
	}
}
