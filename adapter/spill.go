package adapter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient"
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
	limit int
	tool  *Tool

	mu    sync.Mutex
	used  int
	texts map[string]string
	order []string // handles, the oldest first
}

func newSpill(t *Toolset) *spill {
	p := &spill{limit: t.opts.Spill, texts: map[string]string{}}
	yes := true
	def := &mcpclient.Tool{
		Name:        readResult,
		Description: "Reads on in a tool's result that was shortened.",
		InputSchema: json.RawMessage(readResultSchema),
		Annotations: &mcpclient.ToolAnnotations{ReadOnlyHint: &yes},
	}
	tool, err := newTool(t.newServer(&Server{}), def, t.opts, &t.schemas)
	if err != nil {
		panic(err) // the schema is ours
	}
	tool.local = p.read
	p.tool = tool
	return p
}

// keep stores a text and returns its handle, which nobody can guess: a toolset
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
func (p *spill) read(_ context.Context, args json.RawMessage) *mcpclient.CallToolResult {
	var in struct {
		Handle string      `json:"handle"`
		Offset json.Number `json:"offset"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return toolFailure("arguments: " + err.Error())
	}
	p.mu.Lock()
	text, ok := p.texts[in.Handle]
	p.mu.Unlock()
	if !ok {
		return toolFailure("there is no result with that handle, or it is not kept any more: call the tool that made it again")
	}
	offset := len(text)
	if f, err := in.Offset.Float64(); in.Offset == "" || err == nil && f < float64(len(text)) {
		offset = boundaryAfter(text, int(f))
	}
	if offset == len(text) {
		return toolFailure("the offset is beyond the result, which has " + strconv.Itoa(len(text)) + " bytes")
	}
	const notice = 128
	end := boundary(text, min(len(text), offset+p.tool.opts.MaxResult-notice))
	more := "the result ends here"
	if end < len(text) {
		more = fmt.Sprintf("go on with offset %d", end)
	}
	head := fmt.Sprintf("[bytes %d to %d of %d; %s]\n", offset, end, len(text), more)
	return &mcpclient.CallToolResult{Content: []mcpclient.Content{&mcpclient.TextContent{Text: head + text[offset:end]}}}
}

func toolFailure(text string) *mcpclient.CallToolResult {
	return &mcpclient.CallToolResult{IsError: true, Content: []mcpclient.Content{&mcpclient.TextContent{Text: text}}}
}

// fitText brings the text of a result within the bound of its tool. What is cut
// is kept when the host wants it.
func (t *Toolset) fitText(text string, tool *Tool) string {
	limit := tool.opts.MaxResult
	if len(text) <= limit || t.spill == nil || tool.local != nil {
		return shorten(text, limit)
	}
	handle := t.spill.keep(text)
	if handle == "" {
		return shorten(text, limit)
	}
	name := readResult
	for _, candidate := range t.present.Load().tools {
		if candidate.local != nil {
			name = candidate.name
		}
	}
	return shortenTo(text, limit, func(from, missing int) string {
		return fmt.Sprintf("\n[… %d of %d bytes were cut here; call %s with {\"handle\":%q,\"offset\":%d} to read them …]\n",
			missing, len(text), name, handle, from)
	})
}
