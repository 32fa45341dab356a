package agent

import (
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/convert"
)

// profile is the provider for which the schemas of tools are written: as the
// options say, or else the model, or else its dialect.
func (o *Options) profile(model llms.Model, dialect convert.Dialect) (adapter.Profile, error) {
	p := o.Profile
	if m, ok := model.(interface {
		ToolProfile(...llms.CallOption) string
	}); ok && p == "" {
		p = adapter.Profile(m.ToolProfile(o.CallOptions...))
	}
	if p == "" {
		p = profileOf(dialect)
	}
	if all := adapter.Profiles(); !slices.Contains(all, p) {
		return "", fmt.Errorf("options: there is no profile %q; use one of %v", p, all)
	}
	return p, nil
}

func profileOf(dialect convert.Dialect) adapter.Profile {
	switch dialect {
	case convert.Anthropic:
		return adapter.Anthropic
	case convert.Google:
		return adapter.GoogleAI
	}
	return adapter.OpenAI
}
