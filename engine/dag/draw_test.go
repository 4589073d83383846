package dag

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func drawing() *Drawing {
	run := Style{Fill: "#fff3c4", Line: "#b7791f", Dashed: true}
	return &Drawing{
		Nodes: []DrawnNode{
			{Label: `step.exec.a["x\n"]`, Group: `exec "a"`, Style: run},
			{Label: "first\nsecond & <b>#1</b> `code`"},
			{Label: "bell\a and \xff", Group: `exec "a"`, Style: run},
			{Label: "end", Style: Style{Fill: "#ffffff"}},
		},
		Edges: [][2]int{{0, 1}, {2, 1}, {1, 3}},
	}
}

// The expectations follow the languages' references: in Graphviz a quoted
// label knows \" \\ \n and character references; in Mermaid the characters of
// HTML and Markdown are written #name; or #number;.
const wantDOT = `digraph pipeline {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif"];
  n1 [label="first\nsecond &amp; <b>#1</b> ` + "`code`" + `"];
  n3 [label="end", fillcolor="#ffffff"];
  subgraph cluster_1 {
    label="exec \"a\"";
    n0 [label="step.exec.a[\"x\\n\"]", style="rounded,filled,dashed", fillcolor="#fff3c4", color="#b7791f"];
    n2 [label="bell� and �", style="rounded,filled,dashed", fillcolor="#fff3c4", color="#b7791f"];
  }
  n0 -> n1;
  n2 -> n1;
  n1 -> n3;
}
`

const wantMermaid = `flowchart LR
  n1["first<br/>second #amp; #lt;b#gt;#35;1#lt;/b#gt; #96;code#96;"]
  n3["end"]:::s0
  subgraph g1["exec #quot;a#quot;"]
    n0["step.exec.a[#quot;x#92;n#quot;]"]:::s1
    n2["bell� and �"]:::s1
  end
  n0 --> n1
  n2 --> n1
  n1 --> n3
  classDef s0 fill:#ffffff
  classDef s1 fill:#fff3c4,stroke:#b7791f,stroke-dasharray:4 3
`

func TestWriteDOT(t *testing.T) {
	var b bytes.Buffer
	if err := drawing().WriteDOT(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantDOT, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWriteMermaid(t *testing.T) {
	var b bytes.Buffer
	if err := drawing().WriteMermaid(&b); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantMermaid, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDraw(t *testing.T) {
	d := Draw(diamond(t), make([]DrawnNode, 5))
	want := [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}}
	if diff := cmp.Diff(want, d.Edges); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var errDisk = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errDisk }

func TestWriteError(t *testing.T) {
	if err := drawing().WriteDOT(fullDisk{}); !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), "write DOT: ") {
		t.Errorf("WriteDOT: %v", err)
	}
	if err := drawing().WriteMermaid(fullDisk{}); !errors.Is(err, errDisk) {
		t.Errorf("WriteMermaid: %v", err)
	}
}
