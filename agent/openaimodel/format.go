package openaimodel

import (
	"cmp"
	"encoding/json"
	"maps"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// formatKey is where [Model.AnswerFormat] keeps the format in the metadata of a call:
// langchaingo's options have no field for it.
const formatKey = "openaimodel.answer_format"

// AnswerFormat returns an option by which the host holds the model's text to a schema,
// which must be within the strict subset of OpenAI's structured outputs. It is nil if
// the host does not do that for the model and the tools in these options, see [Options].Format. Package agent calls it.
func (m *Model) AnswerFormat(name string, schema json.RawMessage, options ...llms.CallOption) llms.CallOption {
	o := llms.CallOptions{Model: m.model}
	for _, option := range options {
		option(&o)
	}
	if takes := m.chat.TakesFormats(cmp.Or(o.Model, m.model), len(o.Tools) > 0); m.options.Format == "never" || !takes && m.options.Format != "always" {
		return nil
	}
	format := &chat.Format{Name: name, Schema: schema}
	return func(o *llms.CallOptions) {
		metadata := maps.Clone(o.Metadata)
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata[formatKey] = format
		o.Metadata = metadata
	}
}

// formatOf is the format that the options ask for, nil for none.
func formatOf(o *llms.CallOptions) *chat.Format {
	format, _ := o.Metadata[formatKey].(*chat.Format)
	return format
}
