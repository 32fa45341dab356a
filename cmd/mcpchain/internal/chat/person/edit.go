package person

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// newDraft begins with the arguments on lines of their own.
func newDraft(a *approval.Request) *screen.Draft {
	check := func(text string) error { return checkArguments(a.Definition.InputSchema, text) }
	return &screen.Draft{Prompt: "The arguments:", Text: indentJSON(a.Arguments), Check: check, Back: true}
}

// indentJSON is JSON for a person to change.
func indentJSON(raw json.RawMessage) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") != nil {
		return hosttext.Exact(string(raw))
	}
	return hosttext.EscapeJSON(pretty.String())
}

// edit has the person change the arguments. If the person goes back, the draft keeps them for the next time.
func (p *Person) edit(ctx context.Context, a *approval.Request, draft *screen.Draft) (d approval.Decision, decided bool, err error) {
	text, err := p.screen.Write(ctx, draft)
	switch {
	case errors.Is(err, screen.ErrLeft):
		draft.Text = text
		return d, false, nil
	case err != nil || text == indentJSON(a.Arguments):
		return d, false, err
	}
	return approval.AllowWith(json.RawMessage(text)), true, nil
}

// checkArguments is why a text is no arguments of a tool, and where: as "line 2, column 7".
func checkArguments(inputSchema json.RawMessage, text string) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &object)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s: want a JSON object: %w", position(text, int(syntax.Offset)-1), err) // the offset is behind the character
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
		return nil // the call finds out
	}
	err = compiled.Validate([]byte(text))
	if v, ok := errors.AsType[*schema.Violation](err); ok {
		return fmt.Errorf("%s: %w", position(text, offsetOf([]byte(text), v.Path)), err)
	}
	return err
}

// position is where a byte of a text is, for a person: lines and columns begin with 1.
func position(text string, at int) string {
	before := text[:min(max(at, 0), len(text))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
}

// offsetOf is where the value of a JSON pointer begins, or the innermost value on the way to it. Of several values it is the last.
func offsetOf(text []byte, pointer string) (at int) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		rest := text[d.InputOffset():]
		t, err := d.ReadToken()
		if err != nil {
			return at
		}
		end := t.Kind() == '}' || t.Kind() == ']'
		if !end && d.StackPointer().Contains(jsontext.Pointer(pointer)) {
			at = len(text) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
		}
	}
}
