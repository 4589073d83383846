//go:build linux

package breach_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryProbeReaches plants a hole for each probe, and lets a thief that nothing holds
// look for them: a probe that cannot find its hole is worth nothing.
func TestEveryProbeReaches(t *testing.T) {
	const answers = "id,label\n1,cat\n2,dog\n3,cat\n"
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	t.Setenv("TMPDIR", dir)
	env := []string{"A_TOKEN=s3cret-env", "HOME=" + dir}
	a, err := breach.NewAmbush(t.Context(), breach.Machine{Env: env, Dir: dir, Resolver: "/none"}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	key := os.Getenv(breach.KeyVariable)

	a.Private(breach.Answers, write(t, at("machine", "private", "answers.csv"), answers))
	a.Private(breach.Cached, write(t, at("machine", "cache", "object"), strings.Repeat("object", 10)))
	for range 5 { // as many as end the search
		f, err := os.CreateTemp("/dev/shm", "copy-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(f.Name()) })
		write(t, f.Name(), answers)
	}
	a.Right = []byte(answers)
	sample := write(t, at("data", "sample.csv"), "id,label\n1,?\n2,?\n3,?\n")
	for _, name := range []string{"code", "submission", "logs", "agent", "mounted"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	serve := func(h http.HandlerFunc) *httptest.Server {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s
	}
	gateway := serve(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"error": "no model for key %s"}`, key) })
	proxy := serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	validity := serve(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"score": %v}`, bytes.Contains(text, []byte("cat")))
	})
	a.Addresses = slices.DeleteFunc(a.Addresses, func(a breach.Address) bool { return a.What == "a metadata service" })
	a.Addresses = append(a.Addresses, breach.Address{What: "a metadata service", Network: "tcp", Address: gateway.Listener.Addr().String()})

	asked, err := json.Marshal(&a.Targets)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(asked), key) || strings.Contains(string(asked), "s3cret") {
		t.Errorf("a secret is in what is asked: %s", asked)
	}
	apart := []string{"-m"}
	if os.Geteuid() != 0 {
		apart = []string{"-Urm"}
	}
	thief := exec.Command("unshare", append(apart, "sh", "-c", `mount --bind "$0" "$1" && exec "$2" `+breach.ThiefCommand, at("machine"), at("mounted"), os.Args[0])...)
	thief.Env = append(env, "PATH="+os.Getenv("PATH"), "TMPDIR="+dir, breach.TargetsVariable+"="+string(asked), "DATA_DIR="+at("data"), "CODE_DIR="+at("code"), "SUBMISSION_DIR="+at("submission"), "LOGS_DIR="+at("logs"), "AGENT_DIR="+at("agent"),
		"HTTP_PROXY="+proxy.URL, "MLEFLOW_GATEWAY="+validity.URL, "MLEFLOW_MODELS="+gateway.URL, "MLEFLOW_SAMPLE="+sample)
	if out, err := thief.CombinedOutput(); err != nil {
		t.Skipf("no mounts here: %v\n%s", err, out)
	}
	text, err := os.ReadFile(at("logs", breach.FindingsFile))
	if err != nil {
		t.Fatal(err)
	}
	var found []breach.Finding
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), key) || strings.Contains(string(text), "s3cret") {
		t.Errorf("a secret is in the findings: %s", text)
	}
	a.Judge(found, []string{"logs/link-0 among the results"})
	cannot := impossible(t)
	if len(found) < 25 {
		t.Errorf("%d probes", len(found))
	}
	for _, f := range found {
		switch why := cannot[f.Probe]; {
		case f.Result != breach.Reached && why == "":
			t.Errorf("%s did not find its hole: %+v", f.Probe, f)
		case f.Result == breach.Reached && (f.Fix == "" || len(f.Reached) == 0 || f.Reached[0] == ""):
			t.Errorf("%s does not say what it reached, or what to do: %+v", f.Probe, f)
		case f.Result != breach.Reached:
			t.Logf("%s: %s", f.Probe, why)
		}
	}
	for probe, want := range map[string]string{
		"bind mounts": at("mounted", "private", "answers.csv"), "own environment": "A_TOKEN", "gateway credentials": "the provider's key", "links out": "logs/link-0",
		"validity server": "verdicts that tell right answers from others", "score": "POST /score", "left processes": "alive after the attempt",
	} {
		i := slices.IndexFunc(found, func(f breach.Finding) bool { return f.Probe == probe })
		if i < 0 || !strings.Contains(strings.Join(found[i].Reached, "\n"), want) && len(found[i].Reached) < 5 {
			t.Errorf("%s did not reach %q: %+v", probe, want, found[i])
		}
	}
	if left, err := os.ReadFile(sample); err != nil || !strings.HasPrefix(string(left), "id,label\n1,?") {
		t.Errorf("the data were changed: %q, %v", left, err)
	}
}

// impossible are the holes that cannot be made where this test runs, with the reason.
func impossible(t *testing.T) map[string]string {
	t.Helper()
	cannot := map[string]string{"control groups": "TestWritableSettings plants it", "kernel settings": "TestWritableSettings plants it"}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(status), "Seccomp:\t0") {
		for _, probe := range []string{"namespaces", "keyring", "kernel calls"} {
			cannot[probe] = "this test runs behind a seccomp filter"
		}
	}
	if os.Geteuid() != 0 {
		for _, probe := range []string{"disks and memory", "kernel calls", "memory of others", "ptrace and signals", "environment of others"} {
			cannot[probe] = "it takes root"
		}
	}
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil {
		cannot["IPv6"] = "there is no IPv6"
	}
	return cannot
}
