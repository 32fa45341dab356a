package screen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxOptions is the most options of a field that are listed.
const maxOptions = 20

// FieldPrompt describes a field for a plain terminal: its title, description and options, and in
// brackets the value that an empty line stands for.
func (f *Form) FieldPrompt(field *forms.Field) string {
	var b strings.Builder
	b.WriteString(hosttext.Line(field.Title, 80))
	if field.Description != "" {
		fmt.Fprintf(&b, " (%s)", hosttext.Line(field.Description, 200))
	}
	if field.Kind == forms.KindBoolean {
		b.WriteString(" (yes or no)")
	}
	for i, o := range field.Options[:min(len(field.Options), maxOptions)] {
		fmt.Fprintf(&b, "\n    %d) %s", i+1, hosttext.Line(o.Title, 80))
	}
	if more := len(field.Options) - maxOptions; more > 0 {
		fmt.Fprintf(&b, "\n    and %d more", more)
	}
	if len(field.Options) > 0 {
		b.WriteString("\n   ")
	}
	switch value := f.Value(field); {
	case value != nil:
		fmt.Fprintf(&b, " [%s]", formatValue(field, value))
	case !field.Required:
		b.WriteString(" [nothing]")
	}
	return b.String() + ":"
}

// Value returns the value of a field so far, or else its default, which may be nil.
func (f *Form) Value(field *forms.Field) any {
	if value := f.Values[field.Name]; value != nil {
		return value
	}
	return field.Default
}

// Summary lists the values of the form, one on each line.
func (f *Form) Summary() string {
	var lines []string
	for _, field := range f.Fields {
		if value, ok := f.Values[field.Name]; ok {
			lines = append(lines, hosttext.Line(field.Title, 80)+": "+formatValue(field, value))
		}
	}
	return strings.Join(lines, "\n")
}

// FinalChoice returns the question that follows the fields.
func (f *Form) FinalChoice() *Choice {
	return &Choice{
		Text:     hosttext.Indent(f.Summary()),
		Question: "Send this to " + f.Server + "?",
		Answers: []Answer{
			{Key: 'y', Label: "yes"}, {Key: 'e', Label: "edit"}, {Key: 'n', Label: "no"}, {Key: 'c', Label: "cancel"},
		},
	}
}

// Actions are the replies to a server by the keys of answers. Other answers, such as edit, ask again.
var Actions = map[byte]string{'y': mcp.ElicitAccept, 'n': mcp.ElicitDecline, 'c': mcp.ElicitCancel}

// FieldProblem says what a field takes, after a value was refused with err. The server's
// description of a field is clearer than a pattern.
func FieldProblem(field *forms.Field, err error) string {
	if field.Pattern != "" && field.Description != "" {
		return "want " + hosttext.Line(field.Description, 200)
	}
	text := err.Error()
	if wrong, ok := errors.AsType[*forms.FieldError](err); ok {
		text = wrong.Reason
	}
	return hosttext.Line(text, 200)
}

// formatValue formats the value of a field on one line.
func formatValue(field *forms.Field, value any) string { return hosttext.Line(field.Text(value), 500) }
