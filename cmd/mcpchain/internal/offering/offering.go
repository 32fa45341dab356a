// Package offering reads what servers offer, for the commands that show it to people.
package offering

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Content returns content blocks as text. Blocks that are not text are described in brackets.
func Content(blocks []mcp.Content) string {
	var parts []string
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[link to %s]", c.URI))
		case *mcp.EmbeddedResource:
			if c.Resource.Blob != nil {
				parts = append(parts, fmt.Sprintf("[resource %s, %d bytes]", c.Resource.URI, len(c.Resource.Blob)))
				continue
			}
			parts = append(parts, fmt.Sprintf("[resource %s] %s", c.Resource.URI, c.Resource.Text))
		case *mcp.ToolUseContent:
			parts = append(parts, fmt.Sprintf("[calls %s %s]", c.Name, c.Input))
		case *mcp.ToolResultContent:
			parts = append(parts, "[tool result] "+Content(c.Content))
		case *mcp.UnknownContent:
			parts = append(parts, fmt.Sprintf("[%s]", c.Type))
		}
	}
	return strings.Join(parts, "\n")
}

// CheckRequired returns an error if a required argument of a prompt is not given.
func CheckRequired(prompt *mcp.Prompt, given map[string]string) error {
	var missing []string
	for _, a := range prompt.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, hosttext.Line(a.Name, 80))
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("the prompt %s needs %s, as in %s=…",
		hosttext.Line(prompt.Name, 80), strings.Join(missing, " and "), missing[0])
}

// CheckNames returns an error if a prompt does not take one of the given arguments: it is probably mistyped.
func CheckNames(prompt *mcp.Prompt, given map[string]string) error {
	var names []string
	for _, a := range prompt.Arguments {
		names = append(names, a.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the prompt %s has no argument %q%s",
				hosttext.Line(prompt.Name, 80), name, spelling.Hint(name, names))
		}
	}
	return nil
}

// Templates returns a list of templates without the error of a server that does not have the method, as many servers
// with resources do not.
func Templates(all iter.Seq2[*mcp.ResourceTemplate, error]) iter.Seq2[*mcp.ResourceTemplate, error] {
	return func(yield func(*mcp.ResourceTemplate, error) bool) {
		for t, err := range all {
			if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && rpc.Code == mcp.CodeMethodNotFound {
				return
			}
			if !yield(t, err) {
				return
			}
		}
	}
}
