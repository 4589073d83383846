package remote

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"
)

// googleKeys tells the user how to get credentials for Google Cloud Storage.
const googleKeys = "create an HMAC key (gcloud storage hmac create SERVICE_ACCOUNT) and set it as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
	"or in a profile of ~/.aws/credentials, named by the option profile"

// provider returns the source of credentials, in the same order as AWS's tools.
func (o s3Options) provider() credentials.Provider {
	if o.anonymous {
		return &credentials.Static{Value: credentials.Value{SignerType: credentials.SignatureAnonymous}}
	}
	profile := &profileProvider{name: o.profile, region: o.region}
	first := &firstProvider{missing: "no credentials were found (AWS_ACCESS_KEY_ID, a profile, a role)"}
	switch {
	case o.profile != "":
		first.from = []credentials.Provider{profile}
	case o.google:
		first.from = []credentials.Provider{&credentials.EnvAWS{}, profile}
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		first.from = []credentials.Provider{&credentials.EnvAWS{}, machineRole(o.region)}
	default:
		first.from = []credentials.Provider{&credentials.EnvAWS{}, profile, machineRole(o.region)}
	}
	if o.google {
		first.missing = "no credentials were found: " + googleKeys
	}
	if o.role == "" {
		return first
	}
	return &assumedRole{base: credentials.New(first), options: credentials.STSAssumeRoleOptions{RoleARN: o.role, Location: o.region}}
}

// firstProvider returns the credentials of the first provider that has any.
type firstProvider struct {
	from    []credentials.Provider
	missing string
	used    credentials.Provider
}

func (f *firstProvider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	var failed []string
	for _, from := range f.from {
		value, err := from.RetrieveWithCredContext(cc)
		if err == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			f.used = from
			return value, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		return credentials.Value{}, fmt.Errorf("%s: %s", f.missing, strings.Join(failed, "; "))
	}
	return credentials.Value{}, errors.New(f.missing)
}

// Retrieve implements credentials.Provider.
func (f *firstProvider) Retrieve() (credentials.Value, error) { return f.RetrieveWithCredContext(nil) }

// IsExpired implements credentials.Provider.
func (f *firstProvider) IsExpired() bool { return f.used == nil || f.used.IsExpired() }

// machineRole is the role of the pod, the task or the machine. A metadata
// service that does not exist is not waited for.
func machineRole(region string) credentials.Provider {
	role := &credentials.IAM{Region: region, Endpoint: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), Client: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 2 * time.Second}).DialContext},
	}}
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(name) != "" {
			role.Endpoint = "" // it is not the machine's
			return role
		}
	}
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return &firstProvider{missing: "AWS_EC2_METADATA_DISABLED is set"}
	}
	return role
}

// assumedRole is a role that is assumed with other credentials.
type assumedRole struct {
	credentials.Expiry
	base    *credentials.Credentials
	options credentials.STSAssumeRoleOptions
}

func (a *assumedRole) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	base, err := a.base.GetWithContext(cc)
	if err != nil {
		return credentials.Value{}, err
	}
	options := a.options
	options.AccessKey, options.SecretKey, options.SessionToken = base.AccessKeyID, base.SecretAccessKey, base.SessionToken
	options.Location = cmp.Or(options.Location, "us-east-1")
	options.RoleSessionName = cmp.Or(options.RoleSessionName, "mleflow")
	sts := &credentials.STSAssumeRole{STSEndpoint: stsEndpoint(options.Location), Options: options}
	value, err := sts.RetrieveWithCredContext(cc)
	if err != nil {
		return value, fmt.Errorf("assume role %s: %w", options.RoleARN, err)
	}
	a.SetExpiration(value.Expiration, credentials.DefaultExpiryWindow)
	return value, nil
}

// Retrieve implements credentials.Provider.
func (a *assumedRole) Retrieve() (credentials.Value, error) { return a.RetrieveWithCredContext(nil) }

// stsEndpoint is where roles of a region are assumed.
func stsEndpoint(region string) string {
	host := "https://sts." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), host)
}

// profileProvider returns the credentials of a profile of AWS's tools: keys,
// single sign-on, credential_process, or a role.
type profileProvider struct {
	name, region string
	depth        int
	from         credentials.Provider
}

func (p *profileProvider) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	if p.from == nil {
		from, err := p.provider()
		if err != nil {
			return credentials.Value{}, err
		}
		p.from = from
	}
	return p.from.RetrieveWithCredContext(cc)
}

// Retrieve implements credentials.Provider.
func (p *profileProvider) Retrieve() (credentials.Value, error) {
	return p.RetrieveWithCredContext(nil)
}

// IsExpired implements credentials.Provider.
func (p *profileProvider) IsExpired() bool { return p.from == nil || p.from.IsExpired() }

func (p *profileProvider) provider() (credentials.Provider, error) {
	keys := awsProfile(p.name)
	role, source := keys["role_arn"], keys["source_profile"]
	region := cmp.Or(keys["region"], p.region)
	var base credentials.Provider
	switch {
	case role == "" && keys["login_session"] == "" || source == p.name && keys["aws_access_key_id"] != "" && p.depth > 0:
		return &credentials.FileAWSCredentials{Profile: p.name}, nil
	case p.depth > 4:
		return nil, fmt.Errorf("profile %s: its source_profile refers back to itself", p.name)
	case keys["mfa_serial"] != "", role == "":
		return nil, fmt.Errorf("profile %q uses a setting that is not supported here; add the line credential_process = aws configure export-credentials --profile NAME to a profile, "+
			"or set the variables that aws configure export-credentials --format env prints", p.name)
	case keys["web_identity_token_file"] != "":
		pod := &credentials.IAM{Region: region}
		pod.EKSIdentity.TokenFile, pod.EKSIdentity.RoleARN, pod.EKSIdentity.RoleSessionName = keys["web_identity_token_file"], role, keys["role_session_name"]
		return pod, nil
	case source != "":
		base = &profileProvider{name: source, region: region, depth: p.depth + 1}
	case keys["credential_source"] == "Environment":
		base = &credentials.EnvAWS{}
	default:
		base = machineRole(region)
	}
	first := &firstProvider{from: []credentials.Provider{base}, missing: fmt.Sprintf("no credentials to assume the role of profile %q", p.name)}
	return &assumedRole{base: credentials.New(first), options: credentials.STSAssumeRoleOptions{
		RoleARN: role, RoleSessionName: keys["role_session_name"], ExternalID: keys["external_id"], Location: region,
	}}, nil
}

// awsProfile returns the settings of a profile, by default that of AWS_PROFILE.
// The credentials file takes precedence over the config file. Missing and
// damaged files count as empty; using the credentials reports the error.
func awsProfile(name string) map[string]string {
	name = cmp.Or(name, os.Getenv("AWS_PROFILE"), "default")
	home, _ := os.UserHomeDir()
	keys := make(map[string]string)
	for _, file := range []struct{ env, name string }{{"AWS_CONFIG_FILE", "config"}, {"AWS_SHARED_CREDENTIALS_FILE", "credentials"}} {
		content, err := ini.Load(cmp.Or(os.Getenv(file.env), filepath.Join(home, ".aws", file.name)))
		if err != nil {
			continue
		}
		for _, section := range []string{name, "profile " + name} {
			if s, err := content.GetSection(section); err == nil {
				maps.Copy(keys, s.KeysHash())
			}
		}
	}
	return keys
}
