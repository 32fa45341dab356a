package viewframe

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// MaxText bounds a message of a view to models, and its context for models, in bytes.
const MaxText = 16 << 10

// Give gives a view the call that it shows: its input, and its result. A view that cannot get them,
// because they are larger than the limits of its session, is told that the call was cancelled.
func Give(session *host.Session, arguments json.RawMessage, result *mcp.CallToolResult) {
	if session.ToolInput(arguments) != nil || session.ToolResult(result) != nil {
		_ = session.ToolCancelled("the call is too large for this page") // an error means that the session has ended
	}
}

// Attribution returns the line before a text that a view has written, for the model and the person.
func Attribution(server string) string {
	return "[Written by the view of the server " + hosttext.Line(server, 100) + ", which I was shown:]\n"
}

// Message returns the text of a view's message. The error is apps.ErrInvalid if it is empty or too long.
func Message(content []mcp.Content) (string, error) {
	text := textOf(content)
	if text == "" || len(text) > MaxText {
		return "", apps.ErrInvalid
	}
	return text, nil
}

// textOf returns the text of content. It replaces other blocks by a note.
func textOf(content []mcp.Content) string {
	var parts []string
	for _, c := range content {
		if text, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, text.Text)
		} else {
			parts = append(parts, "(content that is not text)")
		}
	}
	return strings.Join(parts, "\n")
}

// ContextText returns the text of what a view wants models to know, or "". The error is apps.ErrInvalid if it is too
// long.
func ContextText(content []mcp.Content, structured json.RawMessage) (string, error) {
	text := textOf(content)
	if structured != nil {
		text += "\n" + string(structured)
	}
	if len(text) > MaxText {
		return "", apps.ErrInvalid
	}
	return strings.TrimSpace(text), nil
}

// Context keeps what a view wants models to know. The zero value is empty. It is safe for concurrent use.
type Context struct {
	mu   sync.Mutex // guards the following field
	text string
}

// Set replaces what is kept. The error is apps.ErrInvalid if it is too long.
func (c *Context) Set(content []mcp.Content, structured json.RawMessage) error {
	text, err := ContextText(content, structured)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
	return nil
}

// Take returns and removes what is kept.
func (c *Context) Take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.text
	c.text = ""
	return text
}
