package chat

import (
	"errors"
	"testing"
)

// Each host has its own words for a request that is too long.
func TestOverflow(t *testing.T) {
	inOpenAI := func(message string) string { return `{"error":{"message":"` + message + `","code":400}}` }
	for _, tt := range []struct {
		host           string
		status         int
		body           string
		window, prompt int64
		other          bool // another failure
	}{
		{"llama-server", 400, `{"error":{"code":400,"message":"request (200097 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":200097,"n_ctx":8192}}`, 8192, 200097, false},
		{"Ollama", 400, `{"error":{"type":"invalid_request_error","message":"{\"error\":{\"code\":400,\"message\":\"request (9000 tokens) exceeds the available context size (4096 tokens)\"}}"}}`, 4096, 9000, false},
		{"vLLM", 400, inOpenAI(`This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4500 in the messages, 500 in the completion).`), 4096, 5000, false},
		{"vLLM with max_tokens", 400, inOpenAI(`'max_tokens' is too large: 500. This model's maximum context length is 4096 tokens and your request has 4000 input tokens`), 4096, 4000, false},
		{"vLLM's decoder", 400, inOpenAI(`The decoder prompt (length 5000) is longer than the maximum model length of 4096.`), 4096, 5000, false},
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128,000 tokens. However, your messages resulted in 130,001 tokens.","code":"context_length_exceeded"}}`, 128000, 130001, false},
		{"OpenAI without numbers", 400, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`, 0, 0, false},
		{"LM Studio", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, 4096, 0, false},
		{"Anthropic", 400, inOpenAI(`prompt is too long: 210000 tokens > 200000 maximum`), 200000, 210000, false},
		{"Anthropic with max_tokens", 400, inOpenAI("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"), 200000, 178959, false},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, 1048576, 1200000, false},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","code":"3051"}`, 32768, 40000, false},
		{"xAI", 400, `{"code":"invalid-argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, 131072, 537812, false},
		{"Moonshot", 400, inOpenAI(`Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)`), 262144, 291351, false},
		{"Together", 400, inOpenAI(`Input (5000 tokens) is longer than the model's context length (4096 tokens).`), 4096, 5000, false},
		{"Copilot", 400, inOpenAI(`prompt token count of 5000 exceeds the limit of 4096`), 4096, 5000, false},
		{"MiniMax", 400, inOpenAI(`invalid params, context window exceeds limit (2013)`), 0, 0, false},
		{"Bedrock", 400, inOpenAI(`Input is too long for requested model.`), 0, 0, false},
		{"Llama at Bedrock", 400, inOpenAI(`Too many input tokens. Max input tokens: 8192, request input token count: 9279`), 8192, 9279, false},
		{"Groq behind a gateway", 400, inOpenAI(`Please reduce the length of the messages or completion.`), 0, 0, false},
		{"OpenAI behind a gateway", 400, inOpenAI(`upstream: {\"code\": \"context_length_exceeded\"}`), 0, 0, false},
		{"a number that cannot be true", 400, inOpenAI(`maximum context length is 99999999999999999999 tokens`), 0, 0, false},
		{"a rate", 429, inOpenAI(`Limit 1000, requested 2000; the maximum context length is 5 tokens`), 0, 0, true},
		{"another mistake", 400, inOpenAI(`context is not a field`), 0, 0, true},
	} {
		h := newHost(t, failing(tt.status, "", tt.body))
		_, err := h.client(t, local, &Options{Retries: -1}).Complete(t.Context(), hello())
		got, ok := errors.AsType[*Error](err)
		if !ok || (got.Code == CodeContextLength) == tt.other || got.Window != tt.window || got.Prompt != tt.prompt || got.Retryable() != (tt.status == 429) {
			t.Errorf("%s: got %+v, want a window of %d and a request of %d tokens", tt.host, got, tt.window, tt.prompt)
		}
	}
}
