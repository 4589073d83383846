package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

func openTest(t *testing.T, path string) *ledger {
	t.Helper()
	l, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.close() })
	return l
}

// TestLedgerCutAnywhere cuts the file after each byte: what was reserved by a
// whole line is never lost, and what is settled is as it was.
func TestLedgerCutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget.jsonl")
	l := openTest(t, path)
	one := Amount{Cost: 100, Tokens: 10, Requests: 1}
	for range 3 {
		id, err := l.reserve("main", one)
		if err != nil {
			t.Fatal(err)
		}
		l.note(entry{Kind: settled, ID: id, Amount: &Amount{Cost: 40, Tokens: 4, Requests: 1}, Reported: true, Usage: &dialect.Usage{Input: 1, Output: 3}})
		l.note(entry{Kind: refused, Model: "main", Reason: dialect.OverBudget, Limit: "cost"})
	}
	if _, err := l.reserve("main", one); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	for n := range len(whole) + 1 {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		kept := string(whole[:strings.LastIndexByte(string(whole[:n]), '\n')+1])
		reserves, settles := strings.Count(kept, `"reserve"`), strings.Count(kept, `"settle"`)
		want := Dollars(40*settles + 100*(reserves-settles))
		first := openTest(t, cut)
		s := first.summary("main")
		_ = first.close()
		if s.Cost != want || s.Requests != int64(reserves) || s.Refused[dialect.OverBudget] != int64(strings.Count(kept, `"refuse"`)) {
			t.Fatalf("cut after %d bytes: %+v, want %d", n, s, want)
		}
		// It goes on after the last whole line, with other numbers.
		again := openTest(t, cut)
		if _, err := again.reserve("main", one); err != nil {
			t.Fatal(err)
		}
		if s := openTest(t, cut).summary("main"); s.Cost != want+100 {
			t.Fatalf("cut after %d bytes and gone on: %s, want %d", n, s.Cost, want+100)
		}
	}
}

func TestLedgerRefusesDamage(t *testing.T) {
	for _, text := range []string{
		"x\n", `{"kind":"settle","id":7,"cost":"1","tokens":1,"requests":1,"model":"m"}` + "\n", `{"kind":"reserve","model":"m","new":1}` + "\n",
		`{"kind":"replay","model":"m"}` + "\n", `{"kind":"?","model":"m"}` + "\n", "\n", "null\n",
	} {
		path := filepath.Join(t.TempDir(), "budget.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := openLedger(path); err == nil {
			_ = l.close()
			t.Errorf("%q is taken for a budget", text)
		}
	}
}

// TestLedgerSurvivesKill kills a process that reserves and settles, and finds
// every reservation that it had announced.
func TestLedgerSurvivesKill(t *testing.T) {
	if path := os.Getenv("MLEFLOW_TEST_LEDGER"); path != "" {
		l, err := openLedger(path)
		for err == nil {
			var id int64
			id, err = l.reserve("main", Amount{Cost: 100, Requests: 1})
			fmt.Printf("reserved %d\n", id)
			if id%3 == 0 {
				l.note(entry{Kind: settled, ID: id, Amount: &Amount{Cost: 100, Requests: 1}})
			}
		}
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "budget.jsonl")
	told := 0
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLedgerSurvivesKill$")
		cmd.Env = append(os.Environ(), "MLEFLOW_TEST_LEDGER="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if _, err := fmt.Sscanf(lines.Text(), "reserved %d", &told); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			if n == 200 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		s := openTest(t, path).summary("main")
		if s.Cost < Dollars(100*told) || s.Requests < int64(told) {
			t.Fatalf("told %d, kept %+v", told, s)
		}
	}
}

func TestLedgerWritesDollarsAsStrings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget.jsonl")
	l := openTest(t, path)
	if _, err := l.reserve("main", Amount{Cost: Dollar / 8, Tokens: 3, Requests: 1}); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "time")
	want := map[string]any{"kind": "reserve", "id": 1.0, "model": "main", "cost": "0.125", "tokens": 3.0, "requests": 1.0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestFullDisk: without a place to write the reservation down, nothing is sent.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	m := toyModel()
	m.Budget = Limits{Cost: Dollar}
	run := NewPool(Limits{Cost: Dollar})
	b := start(t, m, run, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the provider was asked") }))
	b.ledger.file = full
	resp, text := b.ask(toyRequest{Model: "small", Max: 1})
	if resp.StatusCode != 502 || !strings.Contains(text, "write its budget") {
		t.Errorf("got %d %s", resp.StatusCode, text)
	}
	for _, p := range []*Pool{b.blocks["main"].pool, run} {
		if spent, held := p.Spent(); spent != (Amount{}) || held != (Amount{}) {
			t.Errorf("spent %+v, held %+v", spent, held)
		}
	}
	if s := b.Summary()[0]; s.Refused[dialect.Unreachable] != 1 {
		t.Errorf("%+v", s)
	}
}
