package lockfile

import (
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// heading is the first line of a lock file.
const heading = "# Written by mleflow lock. mleflow apply --locked refuses what differs.\n\n"

// Encode returns the content of the file.
func (f *File) Encode() []byte {
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	head := body.AppendNewBlock("lock", nil).Body()
	head.SetAttributeValue("format", cty.NumberIntVal(format))
	head.SetAttributeValue("mleflow", cty.StringVal(f.Version))
	head.SetAttributeValue("pipeline", cty.StringVal(f.Pipeline))
	for _, s := range f.Steps {
		body.AppendNewline()
		s.write(body)
	}
	return append([]byte(heading), hclwrite.Format(file.Bytes())...)
}

func (s Step) write(body *hclwrite.Body) {
	labels := []string{s.Addr.Step.Kind, s.Addr.Step.Name}
	if s.Addr.HasKey {
		labels = append(labels, s.Addr.Key)
	}
	block := body.AppendNewBlock("step", labels).Body()
	if !s.Action.IsZero() {
		block.SetAttributeValue("action", cty.StringVal(s.Action.String()))
	}
	block.SetAttributeValue("inputs", texts(s.Inputs))
	if s.Outputs != nil {
		block.SetAttributeValue("outputs", texts(s.Outputs))
	}
}

// texts returns an object. HCL writes its attributes sorted by name.
func texts(m map[string]string) cty.Value {
	values := make(map[string]cty.Value, len(m))
	for name, text := range m {
		values[name] = cty.StringVal(text)
	}
	return cty.ObjectVal(values)
}
