package remote

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// TestCredentials takes them from where AWS's tools would.
func TestCredentials(t *testing.T) {
	roles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		who, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="), "/")
		_, _ = w.Write([]byte(`<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>` +
			who + "+" + r.Form.Get("RoleArn") + `</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>` +
			`<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`))
	}))
	defer roles.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write("config", "[default]\nregion = eu-west-9\n[profile chain]\nrole_arn = arn:role:a\nsource_profile = base\nregion = eu-west-8\n"+
		"[profile circle]\nrole_arn = arn:role:a\nsource_profile = circle\n[profile second]\nrole_arn = arn:role:a\nsource_profile = base\nmfa_serial = 7\n")
	keys := write("credentials", "[default]\naws_access_key_id = file\naws_secret_access_key = s\n[base]\naws_access_key_id = base\naws_secret_access_key = s\n")
	for _, tt := range []struct {
		name    string
		env     map[string]string
		options s3Options
		key     string
		wrong   string
	}{
		{"environment", map[string]string{"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s"}, s3Options{}, "env", ""},
		{"default profile", nil, s3Options{}, "file", ""},
		{"profile of the environment", map[string]string{"AWS_PROFILE": "base"}, s3Options{}, "base", ""},
		{"profile wins", map[string]string{"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s"}, s3Options{profile: "base"}, "base", ""},
		{"role", nil, s3Options{role: "arn:role:b"}, "file+arn:role:b", ""},
		{"chain", nil, s3Options{profile: "chain"}, "base+arn:role:a", ""},
		{"role of a role", nil, s3Options{profile: "chain", role: "arn:role:b"}, "base+arn:role:a+arn:role:b", ""},
		{"circle", nil, s3Options{profile: "circle"}, "", "refers back to itself"},
		{"second factor", nil, s3Options{profile: "second"}, "", "credential_process"},
		{"no such profile", nil, s3Options{profile: "nobody"}, "", "no credentials were found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
				t.Setenv(name, tt.env[name])
			}
			t.Setenv("AWS_CONFIG_FILE", config)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", keys)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_ENDPOINT_URL_STS", roles.URL)
			value, err := credentials.New(tt.options.provider()).GetWithContext(&credentials.CredContext{Client: http.DefaultClient, Context: t.Context()})
			if tt.wrong == "" && (err != nil || value.AccessKeyID != tt.key) {
				t.Errorf("key %q, %v, want %q", value.AccessKeyID, err, tt.key)
			}
			if tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("error %v, want %q", err, tt.wrong)
			}
		})
	}
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", keys)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	if o := (s3Options{profile: "chain"}).resolved(); o.region != "eu-west-8" {
		t.Errorf("region %q", o.region)
	}
}
