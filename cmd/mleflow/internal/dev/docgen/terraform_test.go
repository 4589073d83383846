package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
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

// TestBlocks sees that what the table leaves out is an error.
func TestBlocks(t *testing.T) {
	parts, err := app.NewApp(&app.Terminal{}).Concretes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "m"), 0o700), os.WriteFile(filepath.Join(dir, "m", "m.hcl"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, row := range blocks {
		_, diags := config.Parse(filepath.Join(dir, "p.hcl"), []byte(row.terraform), config.Options{Kinds: parts.Kinds})
		if !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return unknown.MatchString(d.Summary) }) {
			t.Errorf("%s: %v", row.terraform, diags)
		}
	}
}

// unknown is the summary of an error about something that the language does not have.
var unknown = regexp.MustCompile("^(Unsupported|Unknown|Not an argument of modules|Reference to undeclared)")

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
