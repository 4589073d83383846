package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
)

// evaluated returns the value of an expression as JSON, or "" with an error.
func evaluated(t *testing.T, blocks, expr string) (string, error) {
	t.Helper()
	p, diags := config.Parse("p.hcl", []byte(blocks+"\noutput \"v\" { value = jsonencode("+expr+") }\n"), config.Options{Kinds: step.NewRegistry(), Version: "0.1.0"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	values, diags := p.Values(config.Inputs{})
	if diags.HasErrors() {
		return "", diags
	}
	g, diags := p.Expand(values)
	if diags.HasErrors() {
		return "", diags
	}
	out, diags := g.OutputValue(p.Outputs[0])
	if diags.HasErrors() {
		return "", diags
	}
	return config.Text(out.Value), nil
}

// TestDifferences evaluates every row of the table.
func TestDifferences(t *testing.T) {
	for _, d := range differences {
		got, err := evaluated(t, d.Blocks, d.Expr)
		if got != d.Here || (err == nil) != (d.Here != "") {
			t.Errorf("%s is %q, %v; the table says %q", d.Expr, got, err, d.Here)
		}
	}
}

// TestTerraformsFunctions compares the functions of the language with the list of
// Terraform's: https://developer.hashicorp.com/terraform/language/functions, version 1.12.
func TestTerraformsFunctions(t *testing.T) {
	const theirs = `abs ceil floor log max min parseint pow signum chomp endswith format formatlist indent join lower regex regexall replace split
		startswith strcontains strrev substr templatestring title trim trimprefix trimsuffix trimspace upper alltrue anytrue chunklist coalesce
		coalescelist compact concat contains distinct element flatten index keys length lookup matchkeys merge one range reverse setintersection
		setproduct setsubtract setunion slice sort sum transpose values zipmap base64decode base64encode base64gzip csvdecode jsondecode jsonencode
		textdecodebase64 textencodebase64 urlencode yamldecode yamlencode abspath dirname pathexpand basename file fileexists fileset filebase64
		templatefile formatdate plantimestamp timeadd timecmp timestamp base64sha256 base64sha512 bcrypt filebase64sha256 filebase64sha512 filemd5
		filesha1 filesha256 filesha512 md5 rsadecrypt sha1 sha256 sha512 uuid uuidv5 cidrhost cidrnetmask cidrsubnet cidrsubnets can
		ephemeralasnull issensitive nonsensitive sensitive tobool tolist tomap tonumber toset tostring try`
	ours := config.Functions(config.LocalFunctions())
	var without []string
	for _, row := range leftOut {
		without = append(without, strings.Fields(row.names)...)
	}
	for _, name := range strings.Fields(theirs) {
		if _, have := ours[name]; have == slices.Contains(without, name) {
			t.Errorf("%s must be a function or have a reason in leftOut, not both", name)
		}
	}
	for _, name := range without {
		if !slices.Contains(strings.Fields(theirs), name) {
			t.Errorf("Terraform has no %s", name)
		}
	}
}
