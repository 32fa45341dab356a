package chat

import (
	"regexp"
	"strconv"
	"strings"
)

// CodeContextLength is OpenAI's code for a request that is longer than the model's window. The same failure of other
// hosts has this code, too.
const CodeContextLength = "context_length_exceeded"

// windows match the messages of hosts about a request that is too long. The group is the window, in tokens.
var windows = []*regexp.Regexp{
	regexp.MustCompile(`(?i)maximum (?:context|prompt) length (?:is|of) (?:only )?([\d,]+)`),           // OpenAI, vLLM, DeepSeek, OpenRouter, xAI
	regexp.MustCompile(`(?i)available context size \(([\d,]+)`),                                        // llama.cpp, Ollama
	regexp.MustCompile(`(?i)maximum context length \(([\d,]+)\)`),                                      // vLLM
	regexp.MustCompile(`(?i)maximum model length of ([\d,]+)`),                                         // vLLM
	regexp.MustCompile(`(?i)context length (?:is|of) only ([\d,]+)`),                                   // vLLM, LM Studio
	regexp.MustCompile(`(?i)([\d,]+) maximum context length`),                                          // Mistral
	regexp.MustCompile(`(?i)prompt is too long: [\d,]+ tokens > ([\d,]+)`),                             // Anthropic
	regexp.MustCompile(`(?i)maximum number of tokens allowed \(([\d,]+)\)`),                            // Gemini
	regexp.MustCompile(`(?i)input tokens exceed the configured limit of ([\d,]+)`),                     // OpenAI
	regexp.MustCompile("(?i)`inputs` tokens \\+ `max_new_tokens` must be <= ([\\d,]+)"),                // Together
	regexp.MustCompile(`(?i)than the model's context length \(([\d,]+) tokens`),                        // Together
	regexp.MustCompile(`(?i)exceeded model token limit: ([\d,]+)`),                                     // Moonshot
	regexp.MustCompile(`(?i)prompt token count of [\d,]+ exceeds the limit of ([\d,]+)`),               // Copilot
	regexp.MustCompile(`(?i)(?:context window exceeds limit|input is too long for requested model)()`), // MiniMax, Bedrock
	regexp.MustCompile(`(?i)(?:exceeds?|over|than) the (?:model's )?context (?:length|window|size)()`), // others
}

// prompts matches the length of the request in the same messages, in tokens.
var prompts = regexp.MustCompile(`(?i)(?:request \(|request contains |requested: |messages resulted in |you requested (?:about )?|your request has |prompt \(length |` +
	`input length \(|input \(|prompt token count of |prompt contains |prompt is too long: |input token count \(?|passed )([\d,]+)`)

// detectOverflow sets CodeContextLength and both lengths if the request was longer than the model's window.
func (e *Error) detectOverflow() {
	known := e.Code == CodeContextLength || e.Code == "exceed_context_size_error"
	if !known && (e.Status < 400 || e.Status == 401 || e.Status == 403 || e.Status == 404 || e.Status == 429) {
		return
	}
	for _, pattern := range windows {
		if m := pattern.FindStringSubmatch(e.Message); m != nil {
			known, e.Window = true, tokens(m[1])
			break
		}
	}
	if !known {
		return
	}
	e.Code = CodeContextLength
	if m := prompts.FindStringSubmatch(e.Message); m != nil {
		e.Prompt = tokens(m[1])
	}
}

// tokens returns a count, 0 if it cannot be true.
func tokens(s string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil || n > maxCount {
		return 0
	}
	return n
}
