package main

// difference is one difference from Terraform, which a test evaluates.
type difference struct {
	// Blocks are blocks of a pipeline that Expr needs.
	Blocks, Expr string
	// Terraform and Here are the values of the expression as JSON. An empty value is an
	// error.
	Terraform, Here string
	Why             string
}

// differences are the differences of expressions. Rows with equal values are what a user
// of Terraform may doubt.
var differences = []difference{
	{"", `coalesce("", "a")`, `"a"`, `""`, "An empty string is a value: only null is replaced."},
	{"", `index(["a", "b"], 1)`, "", `"b"`, "It takes a key. `lookup` and `[…]` do the same."},
	{"", `index(["a", "b"], "b")`, "1", "", "For the position of a value: `[for i, x in list : i if x == value][0]`."},
	{"", `lookup({ a = 1 }, "a")`, "1", "", "The default is required. Without one, write `map.a`."},
	{"", `replace("a1", "/[0-9]/", "-")`, `"a-"`, `"a1"`, "A string with slashes is a string. `regexreplace` takes patterns."},
	{"", `range(2000)[1999]`, "", "1999", "A range has up to a million elements, not 1,024."},
	{"", `yamldecode("1: a")`, `{"1":"a"}`, "", "A key that is no string, such as `1` or `yes`, must be in quotes."},
	{"", `length({ a = 1, b = 2 })`, "2", "2", "The attributes of an object are counted."},
	{"", `length("añ")`, "2", "2", "The characters of a string are counted."},
	{"variable \"v\" {\n  type    = any\n  default = [1, \"a\"]\n}", `var.v`, `[1,"a"]`, `[1,"a"]`, "`any` is the type of the value. `-var` and the environment give an expression; without `type`, a string."},
	{"variable \"v\" {\n  type    = object({ a = number, b = optional(number, 5) })\n  default = { a = 1 }\n}", `var.v`, `{"a":1,"b":5}`, `{"a":1,"b":5}`, "The defaults of optional attributes are filled in, whichever way the value came."},
	{"", `sum([])`, "", "", "There is no sum of nothing."},
	{"", `1 / 0`, "", "", "A number must be finite."},
}

// blocks are what Terraform writes in blocks and the language does not have, with what to
// write.
var blocks = []struct{ terraform, instead string }{
	{`step "exec" "x" { count = 3 }`, "`for_each`, such as `for_each = range(3)`."},
	{"module \"m\" {\n  source   = \"./m\"\n  for_each = [\"a\"]\n}", "A block for each, or a set as an input and `for_each` in the module's steps."},
	{"module \"m\" {\n  source     = \"./m\"\n  depends_on = [step.exec.x]\n}", "An input that refers to the step."},
	{"step \"exec\" \"x\" {\n  lifecycle {}\n}", "`precondition` and `postcondition` are blocks of the step; results are never destroyed."},
	{"agent \"a\" {\n  dynamic \"python\" {}\n}", "Blocks are written out; a null argument is as if it were not written."},
	{`variable "v" { nullable = false }`, "A `validation` with `var.v != null`."},
	{`variable "v" { ephemeral = true }`, "A secret by reference."},
	{`output "o" { sensitive = true }`, "Outputs are stored: what is sensitive or private cannot be one."},
	{"output \"o\" {\n  precondition {}\n}", "A condition of a step."},
	{`locals { x = path.root }`, "`path.pipeline`; `path.module` is relative to it."},
	{`locals { x = path.cwd }`, "Nothing: where a command is started changes no result."},
	{`locals { x = terraform.workspace }`, "A variable, or `--name` of a run."},
	{`terraform {}`, "`mleflow {}`."},
	{`provider "x" {}`, "Step kinds are part of the program."},
	{`data "x" "y" {}`, "`file(…)`, `competition(…)`, or a step."},
	{`resource "x" "y" {}`, "`step \"KIND\" \"NAME\"`."},
	{`check "x" {}`, "A step with a postcondition."},
	{`import {}`, "`--adopt`, or `mleflow import`."},
	{`removed {}`, "Delete the block: its results stay in the cache until they are collected."},
}

// leftOut are the functions of Terraform that the language does not have, by the reason.
var leftOut = []struct{ names, why string }{
	{"bcrypt plantimestamp timestamp uuid", "Their value is new each time, so every step would run again. Pass a time as a variable; `timeadd` and `formatdate` take it."},
	{"abspath pathexpand", "The path of a machine would be in keys. Paths start at the pipeline's folder, `path.pipeline`."},
	{"ephemeralasnull issensitive nonsensitive rsadecrypt sensitive", "Write `sensitive = true` in the variable. Nothing sensitive is stored, so nothing removes the mark. Steps take secrets by reference."},
	{"fileexists", "`length(fileset(\".\", \"NAME\")) > 0`"},
	{"filebase64 filebase64sha256 filebase64sha512 filemd5 filesha1 filesha512", "`file(…)` is content, also of a binary file, and its key holds the digest. `filesha256` gives it."},
	{"base64sha256 base64sha512 md5 sha1 sha512 uuidv5", "`sha256`"},
	{"base64decode base64encode base64gzip textdecodebase64 textencodebase64", "Steps take bytes as content, by `file(…)` or from other steps, not as text."},
	{"timecmp", "What a pipeline does depends on no clock."},
	{"one", "`try(list[0], null)`"},
	{"cidrhost cidrnetmask cidrsubnet cidrsubnets", "Pipelines configure no networks."},
	{"matchkeys transpose", "A `for` expression, such as `{ for k, v in map : v => k... }`"},
	{"templatestring", "A string is a template: `\"${…}\"`. `templatefile` reads a file."},
	{"yamlencode", "`jsonencode`: JSON is YAML."},
}
