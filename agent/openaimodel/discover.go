package openaimodel

import (
	"context"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// Probe asks an endpoint for its kind of provider, for [Options.Host], and for the context window
// of a model in tokens, for [Options.Window]. It waits for at most 5 s. What it does not learn is
// "" or 0. For Ollama and LM Studio it returns the window with which the model is loaded, because
// they silently drop what exceeds it.
func Probe(ctx context.Context, cfg openai.ClientConfig, model string) (host string, window int64) {
	return chat.Discover(ctx, cfg, model)
}
