package adapter

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// readResult is the tool by which a model pages through a result that is too
// long for it.
const readResult = "read_result"

const readResultSchema = `{"type":"object","properties":{` +
	`"handle":{"type":"string","description":"The handle that the shortened result names."},` +
	`"offset":{"type":"integer","minimum":0,"default":0,"description":"The byte to begin with."}},` +
	`"required":["handle"],"additionalProperties":false}`

// spill keeps long results.
type spill struct {
	limit   int
	tool    *Tool
	current func(*Tool) (*Tool, error) // see calls

	mu    sync.Mutex
	used  int
	texts map[string]string
	order []string // handles, the oldest first
}

func newSpill(o *Options, schemas *schema.Cache, current func(*Tool) (*Tool, error)) *spill {
	p := &spill{limit: o.Spill, current: current, texts: map[string]string{}}
	yes := true
	def := &mcp.Tool{
		Name:        readResult,
		Description: "Reads more of a tool's result that was shortened.",
		InputSchema: json.RawMessage(readResultSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &yes},
	}
	tool, err := newTool(newPolicy(o, &Server{}), nil, def, schemas)
	if err != nil {
		panic(err) // the schema is ours
	}
	tool.local = p.read
	p.tool = tool
	return p
}

// keep stores a text and returns its handle, which cannot be guessed: a toolset
// may serve many users. It returns "" for a text that is too long to be kept.
func (p *spill) keep(text string) string {
	if len(text) > p.limit {
		return ""
	}
	handle := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts[handle] = text
	p.order = append(p.order, handle)
	p.used += len(text)
	for p.used > p.limit {
		oldest := p.order[0]
		p.used -= len(p.texts[oldest])
		delete(p.texts, oldest)
		p.order = p.order[1:]
	}
	return handle
}

// read answers a call of the tool.
func (p *spill) read(_ context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	var in struct {
		Handle string      `json:"handle"`
		Offset json.Number `json:"offset"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return toolFailure("arguments: " + err.Error()), nil
	}
	p.mu.Lock()
	text, ok := p.texts[in.Handle]
	p.mu.Unlock()
	if !ok {
		return toolFailure("there is no result with that handle, or it is not kept any more: call the tool that made it again"), nil
	}
	offset := len(text)
	if f, err := in.Offset.Float64(); in.Offset == "" || err == nil && f < float64(len(text)) {
		offset = boundaryAfter(text, int(f))
	}
	if offset == len(text) {
		return toolFailure("the offset is beyond the result, which has " + strconv.Itoa(len(text)) + " bytes"), nil
	}
	const notice = 128
	end := boundary(text, min(len(text), offset+p.tool.policy.MaxResult-notice))
	more := "the result ends here"
	if end < len(text) {
		more = fmt.Sprintf("continue with offset %d", end)
	}
	head := fmt.Sprintf("[bytes %d to %d of %d; %s]\n", offset, end, len(text), more)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: head + text[offset:end]}}}, nil
}

func toolFailure(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// name is the name by which models know the tool.
func (p *spill) name() string {
	if now, err := p.current(p.tool); err == nil {
		return now.name
	}
	return readResult
}

// fit brings the text of a tool's result within its bound and keeps what is cut.
func (p *spill) fit(text string, t *Tool) string {
	limit := t.policy.MaxResult
	if len(text) <= limit || t.reads() {
		return shorten(text, limit)
	}
	handle := p.keep(text)
	if handle == "" {
		return shorten(text, limit)
	}
	return Shorten(text, limit, func(from, missing int) string {
		return fmt.Sprintf("\n[… %d of %d bytes were cut here; call %s with {\"handle\":%q,\"offset\":%d} to read them …]\n",
			missing, len(text), cmp.Or(t.reader, p.name()), handle, from)
	})
}
