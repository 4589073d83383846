package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/serve"
)

// openAPI returns the OpenAPI document of the routes of mleflow serve. Its server is the
// folder of the document's address.
func openAPI() ([]byte, error) {
	g := &generator{defs: object{}}
	schema := func(kind string, value any) object {
		if value == nil {
			return object{"content": object{kind: object{}}}
		}
		return object{"content": object{"application/json": object{"schema": g.of(reflect.TypeOf(value))}}}
	}
	paths := object{}
	for _, rt := range serve.Routes() {
		if rt.Name == "" {
			continue
		}
		op := object{"operationId": rt.Name, "summary": rt.Summary, "description": "For: " + rt.Who() + "."}
		answer := object{"description": "done"}
		switch {
		case rt.Method == "PUT":
			op["requestBody"] = schema(rt.Type, nil)
		case rt.Takes != nil:
			op["requestBody"] = schema("", rt.Takes)
		}
		status := "200"
		if rt.Method == "PUT" {
			status = "204"
		} else {
			answer["content"] = schema(rt.Type, rt.Gives)["content"]
		}
		failed := schema("", serve.Problem{})
		failed["description"] = "refused or failed"
		op["responses"] = object{status: answer, "default": failed}
		var parameters []object
		for part := range strings.SplitSeq(rt.Path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok {
				parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
			}
		}
		if rt.Name == "listRuns" {
			parameters = append(parameters, object{"name": "limit", "in": "query", "schema": object{"type": "integer", "minimum": 1}})
		}
		if parameters != nil {
			op["parameters"] = parameters
		}
		path := strings.TrimPrefix(rt.Path, "/api")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(rt.Method)] = op
	}
	doc := object{
		"openapi": "3.1.0", "info": object{"title": "mleflow serve", "version": "1"}, "servers": []object{{"url": "."}}, "paths": paths,
		"components": object{"schemas": g.defs, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
		"security":   []object{{"token": []string{}}},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	err := enc.Encode(doc)
	return bytes.ReplaceAll(b.Bytes(), []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), err
}

// servePage has the attributes of a server's file and the routes.
func servePage() []byte {
	p := newPage("Reference of mleflow serve")
	p.text("[Serve](serve.md) explains them.")
	p.heading(2, "The file")
	var rows [][]string
	attributes(reflect.TypeFor[serve.Config](), "", &rows)
	p.table([]string{"Attribute", "Means"}, rows)
	p.heading(2, "Routes")
	p.text("Addresses are below the path of `url`. `GET /api/openapi.json` has the types of requests and answers; an error is `{\"error\": \"…\"}`. Requests that change something are `application/json`, and those with a file `application/octet-stream`.")
	rows = nil
	for _, rt := range serve.Routes() {
		rows = append(rows, []string{code(rt.Method), code(rt.Path), rt.Who(), rt.Summary})
	}
	p.table([]string{"Method", "Path", "For", "Does"}, rows)
	return []byte(strings.TrimRight(p.b.String(), "\n") + "\n")
}

// attributes lists those of a block below a prefix, and then those of the blocks in it.
func attributes(t reflect.Type, prefix string, rows *[][]string) {
	for f := range fieldsOf(t) {
		name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ",")
		if doc := f.Tag.Get("doc"); doc != "" {
			*rows = append(*rows, []string{code(prefix + name), doc + map[string]string{"": "; required"}[kind]})
		}
	}
	for f := range fieldsOf(t) {
		if name, kind, _ := strings.Cut(f.Tag.Get("hcl"), ","); kind == "block" {
			block := f.Type.Elem()
			for l := range fieldsOf(block) {
				if strings.HasSuffix(l.Tag.Get("hcl"), ",label") {
					name += " NAME"
				}
			}
			attributes(block, prefix+name+" > ", rows)
		}
	}
}
