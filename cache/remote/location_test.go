package remote

import (
	"strings"
	"testing"
)

func TestParseLocation(t *testing.T) {
	for _, tt := range []struct{ text, shown, wrong string }{
		{"s3://bucket/a/b?region=x&endpoint=http://h:1", "s3://bucket/a/b", ""},
		{"gs://bucket", "gs://bucket", ""},
		{"azblob://box/p?storage_account=me", "", "versitygw azure"},
		{"file:///tmp/x", "file:///tmp/x", ""},
		{"/tmp/x", "file:///tmp/x", ""},
		{"/tmp/x?mode=read", "file:///tmp/x", ""},
		{"s3://bucket?mode=read", "s3://bucket", ""},
		{"s3://bucket?mode=write", "", "must be read or read-write"},
		{"s3://", "", "the bucket is missing"},
		{"file://tmp/x", "", "an absolute path is expected"},
		{"tmp/x", "", "not one of s3, gs, file"},
		{"file:///tmp/x?region=x", "", "the only option of a folder is mode"},
		{"gs://bucket?access_id=me", "", "create an HMAC key"},
		{"gs://bucket?role=arn:aws:iam::1:role/x", "", "work only with AWS"},
		{"s3://bucket?regoin=x", "", "there is no option regoin"},
		{"s3://bucket?use_path_style=perhaps", "", "must be true or false"},
		{"s3://bucket?role=me", "", "is not an ARN"},
		{"s3://bucket?endpoint=https://host/path", "", "without a path"},
		{"s3://bucket?endpoint=host:9000&disable_https=true&use_path_style=true", "s3://bucket", ""},
		{"http://bucket", "", "not one of s3"},
		{"s3://user:hush@bucket", "", "must not contain a user or password"},
		{"s3://bucket?aws_secret_key=hush", "", "looks like a secret"},
		{"s3://box?sas_token=hush", "", "looks like a secret"},
		{"s3://bucket?X-Amz-Signature=hush", "", "looks like a secret"},
		{"s3://bu cket?hush", "", "not a URL"},
	} {
		loc, err := ParseLocation(tt.text)
		switch {
		case tt.wrong == "" && (err != nil || loc.String() != tt.shown):
			t.Errorf("%s: %s, %v, want %s", tt.text, loc, err, tt.shown)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%s: error %v, want %q", tt.text, err, tt.wrong)
		case err != nil && strings.Contains(err.Error(), "hush"):
			t.Errorf("%s: the error tells a secret: %v", tt.text, err)
		}
		if read := strings.HasSuffix(tt.text, "mode=read"); err == nil && loc.ReadOnly != read {
			t.Errorf("%s: read-only is %v", tt.text, loc.ReadOnly)
		}
	}
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		`GET "https://a.b/c?sig=hush&x=1": reset`:  `GET "https://a.b/c?…": reset`,
		"put http://user:hush@host/p failed":       "put http://…@host/p failed",
		"s3://bucket?awssecret=hush and s3://b/ok": "s3://bucket?… and s3://b/ok",
		"what? nothing": "what? nothing",
	} {
		if got := mask(in); got != want {
			t.Errorf("mask(%q) = %q, want %q", in, got, want)
		}
	}
}
