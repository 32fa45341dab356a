package interop

import (
	"context"

	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// person fills in form fields without a default, and agrees to visit URLs.
type person struct{}

func (person) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: true}
}

func (person) Elicit(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.Mode == mcp.ElicitURL {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
	}
	fields, err := forms.Fields(p)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, f := range fields {
		if f.Default == nil {
			content[f.Name] = someAnswer(f)
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// someAnswer is a valid answer to a field.
func someAnswer(f *forms.Field) any {
	switch f.Kind {
	case forms.KindBoolean:
		return true
	case forms.KindNumber, forms.KindInteger:
		if f.Minimum != nil {
			return *f.Minimum
		}
		return 1
	case forms.KindChoice:
		return f.Options[0].Value
	case forms.KindChoices:
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
