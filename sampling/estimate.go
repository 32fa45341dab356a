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

// needs measures a request: what a model must accept of it.
type needs struct {
	text       int // bytes of text, and blockSize for each block
	tools      int
	images     int
	imageBytes int
	audio      int // bytes
	extra      int // bytes of the host's extra data, which is not text
}

// newNeeds measures a request.
func newNeeds(p *mcp.CreateMessageParams) needs {
	n := needs{text: len(p.SystemPrompt) + len(p.Metadata), tools: len(p.Tools)}
	for _, s := range p.StopSequences {
		n.text += len(s)
	}
	if p.ModelPreferences != nil {
		for _, h := range p.ModelPreferences.Hints {
			n.text += blockSize + len(h.Name)
		}
	}
	for _, t := range p.Tools {
		n.text += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for _, m := range p.Messages {
		n.text += blockSize
		n.add(m.Content)
	}
	return n
}

// add measures blocks.
func (n *needs) add(blocks []mcp.Content) {
	n.text += blockSize * len(blocks)
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			n.text += len(c.Text)
		case *mcp.ImageContent:
			n.images++
			n.imageBytes += len(c.Data)
		case *mcp.AudioContent:
			n.audio += len(c.Data)
		case *mcp.ToolUseContent:
			n.text += len(c.ID) + len(c.Name) + len(c.Input)
			n.extra += len(c.Meta)
		case *mcp.ToolResultContent:
			n.text += len(c.ToolUseID) + len(c.StructuredContent)
			n.add(c.Content)
		case *mcp.EmbeddedResource:
			n.text += len(c.Resource.URI) + len(c.Resource.MIMEType) + len(c.Resource.Text) + len(c.Resource.Blob)
		case *mcp.ResourceLink:
			n.text += len(c.URI) + len(c.Name) + len(c.MIMEType) + len(c.Description)
		case *mcp.UnknownContent:
			n.text += len(c.Raw)
		}
	}
}

// size returns the bytes of the request that count towards [Limits.InputBytes].
func (n needs) size() int { return n.text + n.imageBytes + n.audio + n.extra }

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

// reservation returns an upper bound for a completion.
func (r *run) reservation() usage {
	u := usage{Estimated: true}
	u.Input, u.Output = newNeeds(r.request.Params).maxTokens()+int64(r.addedBytes), r.request.Params.MaxTokens
	if r.model.price != nil {
		u.Cost = cost.Most(*r.model.price, u.Input, u.Output)
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
func (r *run) spending(count *chat.Usage, size int) usage {
	count = cmp.Or(count, &chat.Usage{})
	input := count.Prompt > 0
	output := count.Completion > 0 || input && size == 0
	u := usage{Estimated: !input || !output}
	u.Input, u.Output = newNeeds(r.request.Params).tokens()+int64(r.addedBytes/4), int64(size+3)/4
	if input {
		u.Input, u.Cached, u.CacheWrite = int64(count.Prompt), int64(count.Cached), int64(count.CacheWrite)
	}
	if output {
		u.Output, u.Reasoning = int64(count.Completion), int64(count.Reasoning)
	}
	if !input && !output && count.Total > 0 {
		u.Output = min(u.Output, int64(count.Total))
		u.Input = int64(count.Total) - u.Output
	}
	return r.model.withCost(u)
}

// spendingIfFailed returns the usage of a failed completion. If the host did not count it, it is the longest reply.
func (r *run) spendingIfFailed(count *chat.Usage) usage {
	u := r.spending(count, 0)
	if count == nil || count.Completion == 0 {
		u.Output, u.Reasoning, u.Estimated = r.request.Params.MaxTokens, 0, true
	}
	return r.model.withCost(u)
}
