package dialect

import (
	"net/http"
	"strings"
)

// Gemini's operations.
const (
	GenerateContent       Operation = "generateContent"
	StreamGenerateContent Operation = "streamGenerateContent"
	EmbedContent          Operation = "embedContent"
	BatchEmbedContents    Operation = "batchEmbedContents"
)

// geminiData is a medium in the body with its type next to it.
var geminiData = shapeFunc(func(c *check, i int) *Refusal {
	kind := strings.ToLower(c.memberText(i, "mimeType"))
	if strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/") {
		if r := c.need(Audio, kind); r != nil {
			return r
		}
	}
	return fields{"mimeType": scalar, "data": base64(strings.HasPrefix(kind, "image/")), "displayName": scalar}.check(c, i)
})

func readGemini(d *protocol, in Incoming, grants Grants) (*Request, error) {
	e, model, err := d.geminiEndpoint(in.Method, in.Path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"alt", "$alt"} {
		// Clients of Google's older libraries request enumerations as numbers.
		if alt := in.Query.Get(name); alt != "" && alt != "json" && alt != "sse" && alt != "json;enum-encoding=int" {
			return nil, badRequest("the query parameter %s is %.50q; it must be json or sse", name, alt)
		}
	}
	c, r, err := d.check(e, in, grants)
	if err != nil {
		return nil, err
	}
	r.Model, r.Stream = model, e.Operation == StreamGenerateContent
	if c == nil {
		return r, nil
	}
	if err := c.sameModel(r); err != nil {
		return nil, err
	}
	return r, c.geminiBounds(r)
}

// geminiVersions are the prefixes of the paths.
var geminiVersions = []string{"/v1beta/", "/v1/", "/v1alpha/"}

func (d *protocol) geminiEndpoint(method, path string) (*endpoint, string, error) {
	if !plainPath.Regexp().MatchString(path) {
		return nil, "", noEndpoint(method, path)
	}
	rest, isUpload := strings.CutPrefix(path, "/upload/v1beta/")
	ok := isUpload
	for _, v := range geminiVersions {
		if !ok {
			rest, ok = strings.CutPrefix(path, v)
		}
	}
	if !ok {
		return nil, "", noEndpoint(method, path)
	}
	name, isModel := strings.CutPrefix(rest, "models/")
	model, verb, isCall := strings.Cut(name, ":")
	switch {
	case isUpload:
	case rest == "models" && method == http.MethodGet:
		return &endpoint{Operation: Models, Free: true, Query: []string{"alt", "pageSize", "pageToken"}}, "", nil
	case isModel && !strings.Contains(name, "/") && !isCall && method == http.MethodGet:
		return &endpoint{Operation: Models, Free: true, Query: []string{"alt"}}, name, nil
	case isModel && !strings.Contains(name, "/") && isCall && method == http.MethodPost:
		if e, ok := d.Endpoints[verb]; ok {
			return e, model, nil
		}
	}
	return d.behind(method, rest)
}

// sameModel refuses a body that names a different model than the path.
func (c *check) sameModel(r *Request) error {
	at := []int{0}
	if requests, ok := c.find(0, "requests"); ok {
		for i := range c.children(requests) {
			at = append(at, i)
		}
	}
	if inner, ok := c.find(0, "generateContentRequest"); ok {
		at = append(at, inner)
	}
	for _, i := range at {
		m, ok := c.find(i, "model")
		if ok && strings.TrimPrefix(c.text(m), "models/") != r.Model {
			return badRequest("the body names the model %.100s, the path %s", c.bytes(m), r.Model)
		}
	}
	return nil
}

func (c *check) geminiBounds(r *Request) error {
	if r.Operation == EmbedContent || r.Operation == BatchEmbedContents {
		r.Choices = 0
		return nil
	}
	config, ok := c.find(0, "generationConfig")
	if !ok {
		return nil
	}
	r.OutputTokens = c.limits(config, "maxOutputTokens")
	r.Choices = max(1, c.limits(config, "candidateCount"))
	if thinking, ok := c.find(config, "thinkingConfig"); ok && r.OutputTokens > 0 {
		r.OutputTokens += c.limits(thinking, "thinkingBudget")
	}
	return c.err
}
