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

// apiPage lists the routes.
func apiPage() []byte {
	p := newPage("Routes of mleflow serve")
	p.text("Addresses are below the path of the server's `url`. [Serve](serve.md) says how people sign in. `GET /api/openapi.json` has the types of requests and answers; an error is `{\"error\": \"…\"}`.")
	var rows [][]string
	for _, rt := range serve.Routes() {
		rows = append(rows, []string{code(rt.Method), code(rt.Path), rt.Who(), rt.Summary})
	}
	p.table([]string{"Method", "Path", "For", "Does"}, rows)
	p.text("Requests that change something are `application/json`, and those with a file `application/octet-stream`. A HEAD is answered as a GET.")
	return []byte(strings.TrimRight(p.b.String(), "\n") + "\n")
}
