package importer

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// definition returns the text of competition.hcl.
func (d draft) definition(o Options) []byte {
	var b bytes.Buffer
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", name, hclwrite.TokensForValue(cty.StringVal(value)).Bytes())
		}
	}
	fmt.Fprintf(&b, "# Written by mleflow competition import. The code in python/ is as it was there.\ncompetition %q {\n", d.id)
	set("title", cmp.Or(d.title, d.id))
	set("complexity", cmp.Or(o.Complexity, "medium"))
	b.WriteString("description = join(\"\\n\", lines(\"description.md\"))\n")
	set("metric_name", d.metric)
	if d.kind == "code" {
		set("kind", d.kind)
	}
	set("answers", d.answers)
	set("sample", d.sample)
	set("gold", d.gold)
	b.WriteString("\nsource \"kaggle\" {\n")
	set("slug", d.slug)
	b.WriteString("}\n\n# Preparation and metric are these functions. A block prepare or grade replaces one;\n")
	fmt.Fprintf(&b, "# mleflow competition test %s --against python then compares the two.\npython {\n", d.id)
	set("package", d.python.Package)
	set("prepare", d.python.Prepare)
	set("grade", d.python.Grade)
	set("better", d.python.Better)
	set("requirements", d.python.Requirements)
	b.WriteString("}\n}\n")
	return hclwrite.Format(b.Bytes())
}
