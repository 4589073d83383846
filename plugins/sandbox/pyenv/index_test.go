package pyenv

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// TestIndexes has the user's variables: uv gets those that say where packages are.
func TestIndexes(t *testing.T) {
	x := indexesOf([]string{
		"AWS_SECRET_ACCESS_KEY=secret", "UV_CONFIG_FILE=/etc/evil", "UV_NO_BINARY=1", "UV_PYTHON=/evil", "UV_OVERRIDE=/evil", "PIP_NO_BINARY=:all:", "PIP_FIND_LINKS=/evil",
		"PIP_INDEX_URL=https://pip.example/simple", "UV_INDEX=own=https://me:pass@corp.example:8443/simple https://download.pytorch.org/whl/cpu",
		"UV_INDEX_OWN_PASSWORD=pass", "UV_FIND_LINKS=/wheels,https://page.example/x", "MLEFLOW_INDEX_HOSTS=files.example:443", "NO_PROXY=corp.example",
	})
	want := map[string]string{
		"UV_DEFAULT_INDEX": "https://pip.example/simple", "UV_INDEX": "own=https://me:pass@corp.example:8443/simple https://download.pytorch.org/whl/cpu",
		"UV_INDEX_OWN_PASSWORD": "pass", "UV_FIND_LINKS": "/wheels,https://page.example/x",
	}
	if diff := cmp.Diff(want, x.vars); diff != "" {
		t.Error(diff)
	}
	own, theirs := x.hosts([]string{"--extra-index-url http://theirs.example/simple"})
	slices.Sort(own)
	if diff := cmp.Diff([]string{"*.pytorch.org:443", "corp.example:8443", "download.pytorch.org:443", "files.example:443", "files.pythonhosted.org:443", "page.example:443", "pip.example:443"}, own); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"theirs.example:80"}, theirs); diff != "" {
		t.Error(diff)
	}
	if len(x.upstream) > 0 {
		t.Errorf("%v: there is no proxy", x.upstream)
	}
	spec := executor.Spec{Env: map[string]string{}}
	x.mount(&spec)
	if len(spec.Mounts) != 1 || spec.Mounts[0].Host != "/wheels" || !spec.Mounts[0].ReadOnly || spec.Env["UV_FIND_LINKS"] != spec.Mounts[0].Guest+",https://page.example/x" {
		t.Errorf("%+v %v", spec.Mounts, spec.Env)
	}
	own, _ = indexesOf(nil).hosts(nil)
	if diff := cmp.Diff([]string{"files.pythonhosted.org:443", "pypi.org:443"}, own); diff != "" {
		t.Error(diff)
	}
	if up := indexesOf([]string{"https_proxy=http://proxy:3128", "no_proxy=corp.example"}).upstream; up["https_proxy"] == "" || up["NO_PROXY"] != "corp.example" {
		t.Error(up)
	}
}

// TestNetrc passes on the passwords of indexes and of no other server.
func TestNetrc(t *testing.T) {
	file := filepath.Join(t.TempDir(), "netrc")
	text := "machine other.example login me password secret\nmachine corp.example\n\tlogin me\n\tpassword pass\ndefault login anonymous password secret\nmachine corp.example login late password pass2\nmacdef init\nmachine corp.example password secret\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := indexes{netrcFile: file}.netrc([]string{"corp.example:443"})
	if diff := cmp.Diff("machine corp.example\nlogin me\npassword pass\nmachine corp.example\nlogin late\npassword pass2\n", got); diff != "" {
		t.Error(diff)
	}
}
