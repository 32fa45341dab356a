package openaimodel

import (
	"context"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// Discover asks an endpoint for its kind of host, for [Options].Host, and for the window of a model in tokens, for the
// options of package compact. What the endpoint does not tell within 5 s is "" and 0. Ollama tells the window with which
// it has loaded the model, as it leaves out what goes beyond that without a word.
func Discover(ctx context.Context, cfg openai.ClientConfig, model string) (host string, window int64) {
	return chat.Discover(ctx, cfg, model)
}
