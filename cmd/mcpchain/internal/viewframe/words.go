package viewframe

import (
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// MaxText bounds a message of a view to models, and what a view wants models to know, in bytes.
const MaxText = 16 << 10

// From marks words of a view, for the model and for the person.
func From(server string) string {
	return "[Written by the view of the server " + hosttext.Line(server, 100) + ", which I was shown:]\n"
}

// Message is the text of a message of a view. The error is apps.ErrInvalid if there is none, or too much.
func Message(content []mcp.Content) (string, error) {
	text := textOf(content)
	if text == "" || len(text) > MaxText {
		return "", apps.ErrInvalid
	}
	return text, nil
}

// textOf is the text of content; other blocks are named.
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

// Context keeps what a view wants models to know. The zero value is ready. It may be used concurrently.
type Context struct {
	mu   sync.Mutex // guards the field below
	text string
}

// Told is the text of what a view wants models to know, "" for nothing. The error is apps.ErrInvalid if it is too long.
func Told(m *host.ModelContext) (string, error) {
	text := textOf(m.Content)
	if m.StructuredContent != nil {
		text += "\n" + string(m.StructuredContent)
	}
	if len(text) > MaxText {
		return "", apps.ErrInvalid
	}
	return strings.TrimSpace(text), nil
}

// Set keeps the last of several. The error is apps.ErrInvalid if it is too long.
func (c *Context) Set(m *host.ModelContext) error {
	text, err := Told(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
	return nil
}

// Take returns what is kept, and forgets it.
func (c *Context) Take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.text
	c.text = ""
	return text
}
