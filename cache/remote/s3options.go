package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3Options are the options of a URL; each may be empty.
type s3Options struct {
	google                          bool
	region, endpoint, profile, role string
	encryption, encryptionKey       string
	anonymous, pathStyle, plain     bool // plain is HTTP, for an endpoint without a scheme
	dualstack, fips, accelerate     bool
}

// googleEndpoint is where Google Cloud Storage offers the protocol of S3.
const googleEndpoint = "https://storage.googleapis.com"

// text and flags are the options of a URL by name.
func (o *s3Options) text() map[string]*string {
	return map[string]*string{
		"region": &o.region, "endpoint": &o.endpoint, "profile": &o.profile, "role": &o.role,
		"ssetype": &o.encryption, "kmskeyid": &o.encryptionKey,
	}
}

func (o *s3Options) flags() map[string]*bool {
	return map[string]*bool{
		"anonymous": &o.anonymous, "use_path_style": &o.pathStyle, "disable_https": &o.plain,
		"dualstack": &o.dualstack, "fips": &o.fips, "accelerate": &o.accelerate,
	}
}

// parseOptions reads the options of a URL with a scheme.
func parseOptions(scheme string, q url.Values) (s3Options, error) {
	var o s3Options
	text, flags := o.text(), o.flags()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		value := q.Get(name)
		switch {
		case scheme == "file":
			return o, fmt.Errorf("option %s: the only option of a folder is mode", name)
		case scheme == "gs" && (name == "access_id" || name == "private_key_path" || name == "google_access_id"):
			return o, fmt.Errorf("option %s: service account keys are no longer supported; %s", name, googleKeys)
		case text[name] != nil:
			*text[name] = value
		case flags[name] != nil:
			v, err := strconv.ParseBool(value)
			if err != nil {
				return o, fmt.Errorf("option %s: %q must be true or false", name, value)
			}
			*flags[name] = *flags[name] || v
		default:
			return o, fmt.Errorf("there is no option %s; the options are mode, region, endpoint, use_path_style, profile, role, anonymous, "+
				"ssetype, kmskeyid, dualstack, fips, accelerate, disable_https", name)
		}
	}
	if o.google = scheme == "gs"; o.google {
		o.endpoint, o.region, o.pathStyle = cmp.Or(o.endpoint, googleEndpoint), cmp.Or(o.region, "auto"), true
	}
	return o, o.check()
}

func (o *s3Options) check() error {
	switch {
	case o.role != "" && !strings.HasPrefix(o.role, "arn:"):
		return fmt.Errorf("option role: %q is not an ARN such as arn:aws:iam::123456789012:role/reader", o.role)
	case o.google && (o.role != "" || o.accelerate || o.fips || o.dualstack):
		return errors.New("the options role, accelerate, fips and dualstack work only with AWS")
	case o.endpoint == "":
		return nil
	}
	u, err := url.Parse(o.address(o.endpoint))
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("option endpoint: expected a URL such as https://host:port, without a path")
	}
	return nil
}

// address adds the scheme to an endpoint without one.
func (o *s3Options) address(endpoint string) string {
	switch {
	case strings.Contains(endpoint, "://"):
		return endpoint
	case o.plain:
		return "http://" + endpoint
	}
	return "https://" + endpoint
}

// resolved fills in missing options from the environment and the profile.
func (o s3Options) resolved() s3Options {
	if o.google {
		return o
	}
	profile := awsProfile(o.profile)
	o.region = cmp.Or(o.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile["region"])
	o.endpoint = cmp.Or(o.endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), profile["endpoint_url"])
	return o
}

// open creates a client that neither retries nor logs.
func (o s3Options) open(ctx context.Context, bucket, prefix string) (objects, error) {
	o = o.resolved()
	endpoint := o.server()
	if endpoint.Host == "" {
		return nil, errors.New("the endpoint is not a URL")
	}
	if o.endpoint != "" {
		o.region = cmp.Or(o.region, "us-east-1") // servers without regions expect this one
	}
	transport, err := minio.DefaultTransport(endpoint.Scheme == "https")
	if err != nil {
		return nil, err
	}
	creds := credentials.New(o.provider())
	// Missing credentials are reported early, with a clear message.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := creds.GetWithContext(&credentials.CredContext{Context: ctx}); err != nil {
		return nil, err
	}
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds: creds, Secure: endpoint.Scheme == "https", Transport: dateless{transport}, Region: o.region,
		BucketLookup: o.lookup(endpoint, bucket), MaxRetries: 1,
	})
	if err != nil {
		return nil, err
	}
	core.SetS3EnableDualstack(o.dualstack)
	if o.accelerate {
		core.SetS3TransferAccelerate("s3-accelerate.amazonaws.com")
	}
	return &s3Objects{core: core, transport: transport, bucket: bucket, prefix: prefix, headers: o.headers()}, nil
}

// dateless hides the dates of answers. This package does not read them, and the
// client rejects an answer whose date is missing or has another form ("Expires:
// 0").
type dateless struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d dateless) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Header.Set("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")
		resp.Header.Del("Expires")
	}
	return resp, err
}

// server returns the URL to which requests go. It has no host if the endpoint is
// not a URL.
func (o s3Options) server() *url.URL {
	u, err := url.Parse(o.address(cmp.Or(o.endpoint, o.awsEndpoint())))
	if err != nil {
		return new(url.URL)
	}
	return u
}

// awsEndpoint is that of AWS; the client inserts the region.
func (o s3Options) awsEndpoint() string {
	if o.fips {
		return "s3-fips." + cmp.Or(o.region, "us-east-1") + ".amazonaws.com"
	}
	return "s3.amazonaws.com"
}

// lookup says whether the bucket's name goes before the host: it does, unless
// the host is an IP address or the name would not match the certificate.
func (o s3Options) lookup(endpoint *url.URL, bucket string) minio.BucketLookupType {
	host := endpoint.Hostname()
	if o.pathStyle || strings.Contains(bucket, ".") || net.ParseIP(host) != nil || host == "localhost" {
		return minio.BucketLookupPath
	}
	return minio.BucketLookupDNS
}

func (o s3Options) headers() map[string]string {
	headers := make(map[string]string)
	if o.encryption != "" {
		headers["X-Amz-Server-Side-Encryption"] = o.encryption
	}
	if o.encryptionKey != "" {
		headers["X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"] = o.encryptionKey
	}
	return headers
}
