package sampling

import (
	"cmp"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// usage is the cost of a request so far.
type usage struct {
	cost.Tokens

	// Cost follows from [Options.Prices]. It is zero if the model has no price.
	Cost cost.Money

	// Estimated means that the host did not count all of it, or that its count cannot be true.
	Estimated bool
}

func (u usage) tokens() int64 { return u.Input + u.Output }

func (u usage) plus(v usage) usage {
	v.Input, v.Output = u.Input+v.Input, u.Output+v.Output
	v.Cached, v.CacheWrite, v.Reasoning = u.Cached+v.Cached, u.CacheWrite+v.CacheWrite, u.Reasoning+v.Reasoning
	v.Cost = cost.Money{Currency: cmp.Or(v.Cost.Currency, u.Cost.Currency), Micro: u.Cost.Micro + v.Cost.Micro}
	v.Estimated = u.Estimated || v.Estimated
	return v
}

// charge returns the usage for a [cost.Account].
func (u usage) charge(model string) cost.Charge {
	return cost.Charge{Model: model, Tokens: u.Tokens, Cost: u.Cost}
}

// blockSize is the assumed size of an empty message, block or hint, so that many of them count,
// too. Tools have names, and stop sequences a bound of their own.
const blockSize = 16

// inputSize returns the bytes of a request that count towards [Limits.InputBytes].
func inputSize(p *mcp.CreateMessageParams) int {
	size := len(p.SystemPrompt) + len(p.Metadata)
	for _, s := range p.StopSequences {
		size += len(s)
	}
	if p.ModelPreferences != nil {
		for _, h := range p.ModelPreferences.Hints {
			size += blockSize + len(h.Name)
		}
	}
	for _, t := range p.Tools {
		size += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for _, m := range p.Messages {
		size += blockSize + contentSize(m.Content)
	}
	return size
}

// contentSize returns the bytes of blocks, and blockSize for each.
func contentSize(blocks []mcp.Content) int {
	size := blockSize * len(blocks)
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			size += len(c.Text)
		case *mcp.ImageContent:
			size += len(c.Data)
		case *mcp.AudioContent:
			size += len(c.Data)
		case *mcp.ToolUseContent:
			size += len(c.ID) + len(c.Name) + len(c.Input) + len(c.Meta)
		case *mcp.ToolResultContent:
			size += len(c.ToolUseID) + contentSize(c.Content) + len(c.StructuredContent)
		case *mcp.EmbeddedResource:
			size += len(c.Resource.URI) + len(c.Resource.MIMEType) + len(c.Resource.Text) + len(c.Resource.Blob)
		case *mcp.ResourceLink:
			size += len(c.URI) + len(c.Name) + len(c.MIMEType) + len(c.Description)
		case *mcp.UnknownContent:
			size += len(c.Raw)
		}
	}
	return size
}

// needs measures the parts of a request that a model must accept.
type needs struct {
	text   int // bytes, and blockSize for each block
	tools  int
	images int
	audio  int // bytes
}

// newNeeds counts the needs of a request.
func newNeeds(p *mcp.CreateMessageParams) needs {
	n := needs{text: inputSize(p), tools: len(p.Tools)}
	for _, m := range p.Messages {
		n.media(m.Content)
	}
	return n
}

// media counts images and audio apart from a message's text.
func (n *needs) media(blocks []mcp.Content) {
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.ImageContent:
			n.images++
			n.text -= len(c.Data)
		case *mcp.AudioContent:
			n.audio += len(c.Data)
			n.text -= len(c.Data)
		case *mcp.ToolUseContent: // the host's extra data is not text
			n.text -= len(c.Meta)
		case *mcp.ToolResultContent:
			n.media(c.Content)
		}
	}
}

// Tokens of media and tools. Hosts count 85 to some thousand tokens for an image, and
// about ten for a second of sound (8 to 192 KiB).
const (
	imageTokens        = 2000
	audioBytesPerToken = 256
	toolTokens         = 64
)

// tokens estimates the tokens of a request: a token of text has about four bytes.
func (n needs) tokens() int64 {
	return int64(n.text/4 + n.images*imageTokens + n.audio/audioBytesPerToken)
}

// maxTokens returns an upper bound for the tokens of a request. A token of text has at least one
// byte; hosts add at most blockSize tokens to a message, and toolTokens to a tool.
func (n needs) maxTokens() int64 {
	return int64(n.text + n.tools*toolTokens + n.images*imageTokens + n.audio/audioBytesPerToken)
}

// reservation returns an upper bound for a completion. added is the number of bytes that
// the host gets in addition to the request.
func reservation(m *Model, req *Request, added int) usage {
	u := usage{Estimated: true}
	u.Input, u.Output = newNeeds(req.Params).maxTokens()+int64(added), req.Params.MaxTokens
	if m.price != nil {
		u.Cost = cost.Most(*m.price, u.Input, u.Output)
	}
	return u
}

// withCost returns u with its cost, if the price of the model is known.
func (m *Model) withCost(u usage) usage {
	if m.price != nil {
		u.Cost = cost.At(*m.price, u.Tokens)
	}
	return u
}

// spending returns the usage of a completion: the host's count, or an estimate if count is nil or incomplete. size is
// the length of the reply in bytes. Package chat has removed counts that cannot be true.
func spending(m *Model, req *Request, added int, count *chat.Usage, size int) usage {
	needs := newNeeds(req.Params)
	u := usage{Estimated: true}
	u.Input, u.Output = needs.tokens()+int64(added/4), int64(size+3)/4
	if count == nil {
		return m.withCost(u)
	}
	input := count.Prompt > 0
	output := count.Completion > 0 || input && size == 0
	switch {
	case input || output:
		u.Estimated = !input || !output
		if input {
			u.Input = int64(count.Prompt)
			u.Cached, u.CacheWrite = int64(count.Cached), int64(count.CacheWrite)
		}
		if output {
			u.Output = int64(count.Completion)
			u.Reasoning = int64(count.Reasoning)
		}
	case count.Total > 0:
		u.Output = min(u.Output, int64(count.Total))
		u.Input = int64(count.Total) - u.Output
	}
	return m.withCost(u)
}

// spendingIfFailed returns the usage of a failed completion. If the host did not count it, it is the longest reply.
func spendingIfFailed(m *Model, req *Request, added int, count *chat.Usage) usage {
	u := spending(m, req, added, count, 0)
	if count == nil || count.Completion == 0 {
		u.Output, u.Reasoning, u.Estimated = req.Params.MaxTokens, 0, true
	}
	return m.withCost(u)
}
