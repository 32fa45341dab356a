package chat

import (
	"cmp"
	"encoding/json"
)

// Usage is the host's count of tokens. 0 means that the count is missing, or
// cannot be true.
type Usage struct {
	Prompt     int
	Completion int // reasoning included
	Total      int // of both, or the host's only count
	Reasoning  int
	Cached     int // of Prompt
}

// maxCount bounds a believable count: no model reads or writes as much.
const maxCount = 100_000_000

type usageWire struct {
	Prompt        looseCount `json:"prompt_tokens"`
	Completion    looseCount `json:"completion_tokens"`
	Input         looseCount `json:"input_tokens"`  // OpenAI's Responses API
	Output        looseCount `json:"output_tokens"` // and Anthropic's
	Total         looseCount `json:"total_tokens"`
	PromptDetails struct {
		Cached looseCount `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning looseCount `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// decodeUsage reads a host's counts, nil if none can be true.
func decodeUsage(raw json.RawMessage) *Usage {
	var w usageWire
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &w) != nil {
		return nil
	}
	u := &Usage{
		Prompt:     cmp.Or(w.Prompt.believed(), w.Input.believed()),
		Completion: cmp.Or(w.Completion.believed(), w.Output.believed()),
		Total:      w.Total.believed(), Reasoning: w.CompletionDetails.Reasoning.believed(), Cached: w.PromptDetails.Cached.believed(),
	}
	switch {
	case u.Prompt > 0: // Gemini and xAI count reasoning only in the total
		u.Completion = max(u.Completion, u.Total-u.Prompt)
	case u.Completion > 0:
		u.Prompt = max(0, u.Total-u.Completion)
	}
	if u.Total = max(u.Total, u.Prompt+u.Completion); u.Total == 0 {
		return nil
	}
	return u
}

// believed is the count, or 0 if it cannot be true.
func (n looseCount) believed() int {
	if n > maxCount {
		return 0
	}
	return int(n)
}
