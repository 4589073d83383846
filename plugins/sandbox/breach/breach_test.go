package breach_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

// lookVariable makes the test program look, as another process.
const lookVariable = "BREACH_TEST_LOOK"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == breach.ThiefCommand {
		if err := breach.Thief(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(lookVariable) == "" {
		os.Exit(m.Run())
	}
	if err := breach.Main(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestLook looks from the very machine: whatever is forbidden is found, by what it
// is, and no secret is in what is asked or answered.
func TestLook(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer names.Close()
	go func() {
		text := make([]byte, 512)
		for {
			n, from, err := names.ReadFrom(text)
			if err != nil {
				return
			}
			_, _ = names.WriteTo(text[:n], from)
		}
	}()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".aws", "credentials"), []byte("s3cret-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	targets, closeAll, err := breach.Around(t.Context(), breach.Machine{
		Env: []string{"HOME=" + home, breach.Variable + "=" + server.Addr().String(), "A_TOKEN=s3cret-env"}, Dir: t.TempDir(), Remote: server.Addr().String(), Resolver: "/none",
	})
	if err != nil {
		t.Fatal(err)
	}
	targets.Addresses = slices.DeleteFunc(targets.Addresses, func(a breach.Address) bool { return a.What == "a metadata service" }) // the test machine may have one
	targets.Addresses = append(targets.Addresses, breach.Address{What: "a name server", Network: "udp", Address: names.LocalAddr().String()})
	asked, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	var answer bytes.Buffer
	looker := exec.Command(os.Args[0])
	looker.Env = []string{lookVariable + "=1", "A_TOKEN=s3cret-env"}
	looker.Stdin, looker.Stdout, looker.Stderr = bytes.NewReader(asked), &answer, os.Stderr
	if err := looker.Run(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a server of the worker (tcp 127.0.0.1:", "a socket of the worker (unix @", "the file " + home + "/.aws/credentials", "trap-", "an address of MLEFLOW_FORBIDDEN", "the remote cache", "a name server (udp", "the environment variable A_TOKEN"} {
		if !strings.Contains(answer.String(), want) {
			t.Errorf("not found: %s; found %s", want, answer.String())
		}
	}
	if strings.Contains(string(asked)+answer.String(), "s3cret") {
		t.Errorf("a secret is in %s or %s", asked, answer.String())
	}
	if err := closeAll(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range breach.Look(targets) {
		if strings.Contains(f, "worker") || strings.Contains(f, "trap-") {
			left = append(left, f)
		}
	}
	if len(left) > 0 {
		t.Errorf("traps that are left: %q", left)
	}
}
