package hosttext

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of the shown text. Omitted parts are counted.
const (
	maxPart  = 2000   // characters of one part
	maxWhole = 10_000 // characters of all parts
	maxParts = 100
)

// SamplingRequest returns the parts of a server's request that the model gets, as text:
// instructions, messages, tools, tool choice, temperature and stop sequences. Each part has a
// heading of this package, with the server's text indented below it. At most 10,000 characters of
// 100 parts are shown, 2,000 of a part. It omits maxTokens, modelPreferences and includeContext.
func SamplingRequest(params *mcp.CreateMessageParams) string {
	p := &page{remaining: maxWhole}
	if params.SystemPrompt != "" {
		p.text("system prompt", params.SystemPrompt)
	}
	for _, m := range params.Messages {
		p.blocks(Line(m.Role, 20), m.Content)
	}
	for i, t := range params.Tools {
		p.tool(fmt.Sprintf("tool %d of %d", i+1, len(params.Tools)), t)
	}
	if c := params.ToolChoice; c != nil && c.Mode != "" {
		p.text("tool choice", c.Mode)
	}
	if t := params.Temperature; t != nil {
		p.text("temperature", strconv.FormatFloat(*t, 'g', -1, 64))
	}
	if len(params.StopSequences) > 0 {
		p.json("ends before any of", params.StopSequences)
	}
	return p.String()
}

// SamplingReply returns the reply for the server as text, within the bounds of [SamplingRequest].
func SamplingReply(r *mcp.CreateMessageResult) string {
	p := &page{remaining: maxWhole}
	p.blocks("reply", r.Content)
	return p.String()
}

// page collects the parts of a text.
type page struct {
	b         strings.Builder
	remaining int // characters left to show
	parts     int
	omitted   int // number of omitted parts
}

func (p *page) String() string {
	if p.omitted > 0 {
		return fmt.Sprintf("%s(%d more parts are not shown)", &p.b, p.omitted)
	}
	return strings.TrimSuffix(p.b.String(), "\n")
}

// text adds a part, cut to the room that is left. A peer's text in the heading must be on one line:
// see [Line]. Beyond maxParts it only counts the part.
func (p *page) text(heading, text string) {
	if p.parts++; p.parts > maxParts {
		p.omitted++
		return
	}
	shown := Block(text, min(maxPart, p.remaining))
	p.remaining = max(0, p.remaining-len([]rune(shown)))
	if strings.TrimSpace(shown) == "" {
		fmt.Fprintf(&p.b, "%s: (empty)\n", heading)
		return
	}
	fmt.Fprintf(&p.b, "%s:\n%s\n", heading, shown)
}

// json adds a part that is JSON.
func (p *page) json(heading string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(err.Error())
	}
	p.text(heading, JSONLine(string(raw)))
}

// tool adds the definition of a tool.
func (p *page) tool(heading string, t *mcp.Tool) {
	p.text(heading, t.Name)
	if t.Description != "" {
		p.text(heading+", description", t.Description)
	}
	if len(t.InputSchema) > 0 {
		p.text(heading+", arguments", JSONLine(string(t.InputSchema)))
	}
}

// blocks adds content: text, and the type and size of media.
func (p *page) blocks(who string, blocks []mcp.Content) {
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			p.text(who, c.Text)
		case *mcp.ImageContent:
			p.text(fmt.Sprintf("%s, image of %s", who, plural(len(c.Data), "byte")), c.MIMEType)
		case *mcp.AudioContent:
			p.text(fmt.Sprintf("%s, sound of %s", who, plural(len(c.Data), "byte")), c.MIMEType)
		case *mcp.ResourceLink:
			p.text(who+", link to a resource", c.URI+"\n"+c.Name+"\n"+c.MIMEType)
		case *mcp.EmbeddedResource:
			p.resource(who, &c.Resource)
		case *mcp.ToolUseContent:
			p.text(who+", call of a tool", c.Name+"\n"+JSONLine(string(c.Input)))
		case *mcp.ToolResultContent:
			p.result(who, c)
		case *mcp.UnknownContent:
			p.text(who+", content of an unknown type", c.Type)
		default:
			p.text(who+", content that cannot be shown", "")
		}
	}
}

// resource adds a resource: its text, or the size and type of its bytes.
func (p *page) resource(who string, r *mcp.ResourceContents) {
	if r.Blob != nil {
		p.text(fmt.Sprintf("%s, resource of %s", who, plural(len(r.Blob), "byte")), r.URI+"\n"+r.MIMEType)
		return
	}
	p.text(who+", resource", r.URI)
	p.text(who+", text of that resource", r.Text)
}

// result adds the result of a tool, with its structured content.
func (p *page) result(who string, r *mcp.ToolResultContent) {
	who += ", result of a tool"
	if r.IsError {
		who += " that failed"
	}
	p.blocks(who, r.Content)
	if len(r.StructuredContent) > 0 {
		p.text(who+", structured", JSONLine(string(r.StructuredContent)))
	} else if len(r.Content) == 0 {
		p.text(who, "")
	}
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
