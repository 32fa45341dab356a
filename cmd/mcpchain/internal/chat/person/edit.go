package person

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// newDraft returns a draft with the indented arguments of a call.
func newDraft(a *approval.Request) *screen.Draft {
	check := func(text string) error { return checkArguments(a.Definition.InputSchema, text) }
	return &screen.Draft{Prompt: "The arguments:", Text: indentJSON(a.Arguments), Check: check, Back: true}
}

// indentJSON returns JSON for a person to edit.
func indentJSON(raw json.RawMessage) string {
	if indented, ok := excerpt.Indent(string(raw)); ok {
		return hosttext.EscapeJSON(indented)
	}
	return hosttext.Escape(string(raw))
}

// edit has the person edit the arguments. Nothing is decided if the person changes nothing or goes
// back; then the draft keeps the text.
func (p *Person) edit(
	ctx context.Context, a *approval.Request, draft *screen.Draft,
) (d approval.Decision, decided bool, err error) {
	text, err := p.screen.Write(ctx, draft)
	switch {
	case errors.Is(err, screen.ErrLeft):
		draft.Text = text
		return d, false, nil
	case err != nil || text == indentJSON(a.Arguments):
		return d, false, err
	}
	return approval.Decision{Allow: true, Arguments: json.RawMessage(text)}, true, nil
}

// checkArguments returns why a text does not have valid arguments, with the place, such as "line 2,
// column 7" or "/b".
func checkArguments(inputSchema json.RawMessage, text string) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &object)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := int(syntax.Offset) - 1 // Offset is after the character
		return fmt.Errorf("%s: want a JSON object: %w", position(text, at), err)
	}
	if err != nil || object == nil {
		at := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		return fmt.Errorf("%s: want a JSON object, in braces", position(text, at))
	}
	if len(inputSchema) == 0 {
		return nil
	}
	compiled, err := schema.Compile(inputSchema)
	if err != nil {
		return nil // the call will fail by itself
	}
	return compiled.Validate([]byte(text))
}

// position returns the line and the column of an offset in a text.
func position(text string, at int) string {
	before := text[:min(max(at, 0), len(text))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
}
