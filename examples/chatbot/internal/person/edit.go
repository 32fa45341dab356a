package person

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/screen"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// newDraft begins with the arguments on lines of their own.
func newDraft(a *adapter.Approval) *screen.Draft {
	check := func(text string) error { return misfit(a.Definition.InputSchema, text) }
	return &screen.Draft{Prompt: "The arguments:", Text: onLines(a.Arguments), Check: check, Back: true}
}

// onLines is JSON for a person to change.
func onLines(raw json.RawMessage) string {
	var pretty bytes.Buffer
	if json.Indent(&pretty, raw, "", "  ") != nil {
		return safetext.Exact(string(raw))
	}
	return safetext.EscapeJSON(pretty.String())
}

// edit has the person change the arguments. If the person goes back, the draft keeps them for the next time.
func (p *Person) edit(ctx context.Context, a *adapter.Approval, draft *screen.Draft) (d adapter.Decision, decided bool, err error) {
	text, err := p.screen.Write(ctx, draft)
	switch {
	case errors.Is(err, screen.ErrLeft):
		draft.Text = text
		return d, false, nil
	case err != nil || text == onLines(a.Arguments):
		return d, false, err
	}
	return adapter.AllowWith(json.RawMessage(text)), true, nil
}

// misfit is why a text is no arguments of a tool, and where: as "line 2, column 7".
func misfit(inputSchema json.RawMessage, text string) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &object)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s: want a JSON object: %w", place(text, int(syntax.Offset)-1), err) // the offset is behind the character
	}
	if err != nil || object == nil {
		at := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
		return fmt.Errorf("%s: want a JSON object, in braces", place(text, at))
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
		return fmt.Errorf("%s: %w", place(text, find([]byte(text), v.Path)), err)
	}
	return err
}

// place is where a byte of a text is, for a person: lines and columns begin with 1.
func place(text string, at int) string {
	before := text[:min(max(at, 0), len(text))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
}

// find is where the value of a JSON pointer begins, or the innermost value on the way to it.
func find(text []byte, pointer string) (at int) {
	value := json.RawMessage(text)
	for value = trim(value, &at); pointer != ""; value = trim(value, &at) {
		var name string
		name, pointer, _ = strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if pointer != "" {
			pointer = "/" + pointer
		}
		inner, offset, ok := member(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		if !ok {
			return at
		}
		value, at = inner, at+offset
	}
	return at
}

// trim leaves out the blanks before a value, and adds them to its place.
func trim(value json.RawMessage, at *int) json.RawMessage {
	trimmed := bytes.TrimLeft(value, " \t\r\n")
	*at += len(value) - len(trimmed)
	return trimmed
}

// member is the value of a name or an index in an object or an array, with its offset.
func member(value json.RawMessage, name string) (inner json.RawMessage, offset int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(value))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return nil, 0, false
	}
	for i := 0; d.More(); i++ {
		key := any(strconv.Itoa(i))
		if open == json.Delim('{') {
			if key, err = d.Token(); err != nil {
				return nil, 0, false
			}
		}
		if err := d.Decode(&inner); err != nil {
			return nil, 0, false
		}
		if key == name {
			return inner, int(d.InputOffset()) - len(inner), true
		}
	}
	return nil, 0, false
}
