package remote

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	gcaws "gocloud.dev/aws"
)

// openS3 opens a bucket of S3 or of a server that speaks its protocol, with the
// options of gocloud.dev/blob/s3blob. Unlike with that, nothing is written to
// the standard error, and nothing tried again below what this package does.
func openS3(ctx context.Context, name string, q url.Values) (*blob.Bucket, error) {
	opts, client, err := s3Options(q)
	if err != nil {
		return nil, err
	}
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, q)
	if err != nil {
		return nil, err
	}
	// Everything is hashed here, with something better than a CRC.
	cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	cfg.Logger = logging.Nop{}
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	if err := checkCredentials(ctx, cfg.Credentials); err != nil {
		return nil, err
	}
	opts.RequestChecksumCalculation = cfg.RequestChecksumCalculation
	return s3blob.OpenBucket(ctx, s3.NewFromConfig(cfg, client), name, opts)
}

// s3Options takes from q what concerns the client and the bucket.
func s3Options(q url.Values) (*s3blob.Options, func(*s3.Options), error) {
	take := func(name string) string {
		v := q.Get(name)
		q.Del(name)
		return v
	}
	opts := &s3blob.Options{EncryptionType: types.ServerSideEncryption(take("ssetype")), KMSEncryptionID: take("kmskeyid")}
	truth := map[string]bool{}
	for _, name := range []string{"use_path_style", "s3ForcePathStyle", "disable_https", "accelerate"} {
		text := take(name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, nil, fmt.Errorf("option %s: %q is neither true nor false", name, text)
		}
		truth[name] = v
	}
	return opts, func(o *s3.Options) {
		o.UsePathStyle = truth["use_path_style"] || truth["s3ForcePathStyle"]
		o.EndpointOptions.DisableHTTPS = truth["disable_https"]
		o.UseAccelerate = truth["accelerate"]
		o.DisableLogOutputChecksumValidationSkipped = true
	}, nil
}

// checkCredentials finds out early, and with a clear message, that there are no
// credentials at all; the client would try again and again.
func checkCredentials(ctx context.Context, provider aws.CredentialsProvider) error {
	if provider == nil || aws.IsCredentialsProvider(provider, (*aws.AnonymousCredentials)(nil)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := provider.Retrieve(ctx); err != nil {
		return fmt.Errorf("no credentials were found (AWS_ACCESS_KEY_ID, a profile, a role): %w", err)
	}
	return nil
}
