package person

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// toolKey identifies a tool.
type toolKey struct{ server, tool string }

// Approve decides on a tool call. The toolset keeps decisions on later calls as long as the
// definition of the tool does not change.
func (p *Person) Approve(ctx context.Context, a *approval.Request) (approval.Decision, error) {
	switch {
	case p.yes:
		return approval.Decision{Allow: true}, nil
	case !p.screen.Attended():
		p.Failures.Denied.Add(1)
		p.screen.Note(screen.Warn, "denied %s: tool call %s: %s",
			a.Server, hosttext.Line(a.Definition.Name, 200), noTerminal)
		return approval.Decision{Reason: noTerminal}, nil
	}
	q := p.approvalChoice(a)
	draft := newDraft(a)
	for {
		key, err := p.screen.Choose(ctx, q)
		if err != nil {
			return approval.Decision{}, err
		}
		switch d, err := p.decide(ctx, a, draft, key); {
		case err == nil:
			return d, nil
		case !errors.Is(err, screen.ErrLeft):
			return approval.Decision{}, err
		}
		q = &screen.Choice{Question: q.Question, Answers: approvalAnswers}
		if key == '?' {
			q.Heading, q.Text, q.Answers = "About this call:", explanation(a), explainedAnswers
		}
	}
}

// approvalChoice returns the question about a call, with its arguments or what an edit changes.
func (p *Person) approvalChoice(a *approval.Request) *screen.Choice {
	tool := hosttext.Line(a.Definition.Name, 200)
	heading := fmt.Sprintf("The model wants to run %s on the server %s:", tool, a.Server)
	again := "The model wants to run it:"
	if a.View != "" {
		heading = fmt.Sprintf("A view of the server %s wants to run %s there:", a.Server, tool)
		again = "A view of it wants to run it:"
	}
	changes, others := diff.Edits(a.Arguments)
	text := ""
	if changes == nil || string(others) != "{}" {
		text = formatArguments(others)
	}
	before, known := p.tools.Load(toolKey{a.Server, a.Definition.Name})
	if known && before != adapter.Fingerprint(a.Definition) {
		heading = fmt.Sprintf("The server %s has changed %s since you always allowed it. %s", a.Server, tool, again)
		text += "\n  The server says of it:\n" + describe(a.Definition)
	}
	return &screen.Choice{
		Heading:  heading,
		Text:     text,
		Changes:  screen.DiffLines(changes),
		Question: "Allow it?",
		Answers:  approvalAnswers,
	}
}

// describe returns the server's description of a tool as indented lines.
func describe(t *mcp.Tool) string {
	return hosttext.Indent(hosttext.Block(cmp.Or(t.Description, "(nothing)"), screen.MaxShown))
}

// approvalAnswers are the answers about a call. The question mark explains the others.
var approvalAnswers = []screen.Answer{
	{Key: 'y', Label: "yes: this call"},
	{Key: 'n', Label: "no: not this call"},
	{Key: 'w', Label: "words: no, and why"},
	{Key: 'e', Label: "edit: change the arguments"},
	{Key: 'a', Label: "always: this tool"},
	{Key: 's', Label: "server: always all its tools"},
	{Key: 'f', Label: "forbid: never this tool"},
	{Key: '?', Label: "?"},
}

// explainedAnswers are all answers but the question mark, which is the last one.
var explainedAnswers = approvalAnswers[:len(approvalAnswers)-1]

// decide turns the key of an answer into a decision. The error is [screen.ErrLeft] if the person is to be asked again: after
// the question mark, or after going back or changing nothing. The draft keeps the text of an edit.
func (p *Person) decide(
	ctx context.Context, a *approval.Request, draft *screen.Draft, key byte,
) (approval.Decision, error) {
	switch key {
	case 'y':
		return approval.Decision{Allow: true}, nil
	case 'n':
		return approval.Decision{}, nil
	case 'w':
		reason, err := p.screen.Write(ctx, &screen.Draft{Prompt: "No, because:", Back: true})
		return approval.Decision{Reason: strings.TrimSpace(reason)}, err
	case 'e':
		text, err := p.screen.Write(ctx, draft)
		if errors.Is(err, screen.ErrLeft) {
			draft.Text = text
		}
		if err == nil && text == indentJSON(a.Arguments) {
			err = screen.ErrLeft
		}
		return approval.Decision{Allow: true, Arguments: json.RawMessage(text)}, err
	case 'a':
		p.tools.Store(toolKey{a.Server, a.Definition.Name}, adapter.Fingerprint(a.Definition))
		return approval.Decision{Allow: true, Remember: approval.ScopeTool}, nil
	case 's':
		return approval.Decision{Allow: true, Remember: approval.ScopeServer}, nil
	case 'f':
		return approval.Decision{
			Reason:   "the user has forbidden this tool (/permissions)",
			Remember: approval.ScopeTool,
		}, nil
	}
	return approval.Decision{}, screen.ErrLeft
}

// formatArguments returns the arguments of a call on one line. If one of them is a text of several
// lines, each argument is on a line of its own, and the text is shown with its lines.
func formatArguments(raw []byte) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || !bytes.Contains(raw, []byte(`\n`)) {
		return hosttext.Block(hosttext.JSONLine(string(raw)), screen.MaxShown)
	}
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(raw)) // has no errors: it is an object
	_, _ = d.Token()                           // the brace
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		fmt.Fprintf(&b, "  %s:%s\n", hosttext.Quote(fmt.Sprint(name)), formatArgument(value))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// formatArgument returns a value as it stands after its name: a text of several lines on lines of its own.
func formatArgument(value []byte) string {
	var text string
	if json.Unmarshal(value, &text) == nil && strings.Contains(text, "\n") {
		return "\n" + hosttext.Indent(hosttext.Block(text, screen.MaxShown))
	}
	return " " + strings.TrimSpace(hosttext.Block(hosttext.JSONLine(string(value)), screen.MaxShown))
}

// explanation returns the answer to the question mark: what the server says about the tool, and what the answers mean.
func explanation(a *approval.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  The server %s says of %s:\n%s\n",
		a.Server, hosttext.Line(a.Definition.Name, 200), describe(a.Definition))
	for _, claim := range Claims(a.Definition) {
		fmt.Fprintf(&b, "    It claims: %s.\n", claim)
	}
	for _, answer := range explainedAnswers {
		fmt.Fprintf(&b, "  %c  %s\n", answer.Key, answer.Label)
	}
	b.WriteString("  What always, server and forbid say is kept for later, as long as the tool stays as it is; " +
		"/permissions takes it back.\n  The model is told of the words, and of an edit.")
	return b.String()
}

// Claims lists what a server claims about the effects of a tool.
func Claims(t *mcp.Tool) (claims []string) {
	if t.Annotations == nil {
		return nil
	}
	for _, c := range []struct {
		hint  *bool
		claim string
	}{
		{t.Annotations.ReadOnlyHint, "the tool changes nothing"},
		{t.Annotations.DestructiveHint, "the tool may destroy something"},
		{t.Annotations.IdempotentHint, "a second call with the same arguments changes nothing more"},
		{t.Annotations.OpenWorldHint, "the tool reaches the world outside"},
	} {
		if c.hint != nil && *c.hint {
			claims = append(claims, c.claim)
		}
	}
	return claims
}

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

// checkArguments returns why a text does not have valid arguments, with the place, such as "line 2, column 7" or "/b".
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
