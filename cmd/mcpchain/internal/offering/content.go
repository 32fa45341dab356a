package offering

import (
	"fmt"
	"strings"

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
