package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// FromEnv is the address that stands for that of the environment.
const FromEnv = "env"

// Address checks the address of a collector and returns that of its traces:
// /v1/traces below it. FromEnv takes OTEL_EXPORTER_OTLP_TRACES_ENDPOINT as it is,
// or OTEL_EXPORTER_OTLP_ENDPOINT.
func Address(text string, env func(string) string) (string, error) {
	traces := ""
	if text == FromEnv {
		traces = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
		if text = cmp.Or(traces, env("OTEL_EXPORTER_OTLP_ENDPOINT")); text == "" {
			return "", errors.New("neither OTEL_EXPORTER_OTLP_ENDPOINT nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set; set one, or name the collector as http://HOST:4318")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("the collector's address is not like http://HOST:4318 or https://HOST/PATH")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the collector's address holds a user or a query; pass credentials as OTEL_EXPORTER_OTLP_HEADERS=NAME=VALUE")
	}
	if path := strings.TrimSuffix(u.Path, "/"); traces == "" && !strings.HasSuffix(path, "/v1/traces") {
		u.Path = path + "/v1/traces"
	}
	return u.String(), nil
}

// headerValues returns the values of the headers in the environment, which are
// secret.
func headerValues(env func(string) string) (values []string, err error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for i, pair := range strings.FieldsFunc(strings.TrimSpace(env(name)), func(r rune) bool { return r == ',' }) {
			key, value, ok := strings.Cut(pair, "=")
			plain, err := url.PathUnescape(strings.TrimSpace(value))
			if !ok || strings.TrimSpace(key) == "" || err != nil {
				return nil, fmt.Errorf("%s: header %d is not NAME=VALUE with a percent-encoded value", name, i+1)
			}
			_, token, _ := strings.Cut(plain, " ") // Bearer TOKEN
			values = append(values, value, plain, token)
		}
	}
	return values, nil
}
