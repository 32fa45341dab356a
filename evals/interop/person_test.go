package interop

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// person fills in the fields of forms that have no default, and agrees to visit
// URLs.
type person struct{}

func (person) ElicitationCapability() mcpclient.ElicitationCapability {
	return mcpclient.ElicitationCapability{Form: true, URL: true}
}

func (person) Elicit(_ context.Context, p *mcpclient.ElicitParams) (*mcpclient.ElicitResult, error) {
	if p.Mode == mcpclient.ElicitURL {
		return &mcpclient.ElicitResult{Action: mcpclient.ElicitAccept}, nil
	}
	fields, err := p.Fields()
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, f := range fields {
		if f.Default == nil {
			content[f.Name] = someAnswer(f)
		}
	}
	return &mcpclient.ElicitResult{Action: mcpclient.ElicitAccept, Content: content}, nil
}

// someAnswer is a valid answer to a field.
func someAnswer(f *mcpclient.Field) any {
	switch f.Kind {
	case mcpclient.FieldBoolean:
		return true
	case mcpclient.FieldNumber, mcpclient.FieldInteger:
		if f.Minimum != nil {
			return *f.Minimum
		}
		return 1
	case mcpclient.FieldChoice:
		return f.Options[0].Value
	case mcpclient.FieldChoices:
		return []string{f.Options[0].Value}
	}
	if f.Format == "email" {
		return "ada@example.com"
	}
	answer := "green and blue"
	if f.MaxLength != nil {
		answer = answer[:min(len(answer), *f.MaxLength)]
	}
	return answer
}
