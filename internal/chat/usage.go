package chat

import (
	"context"
	"encoding/json"
)

// Usage holds the host's counts of tokens. A count is 0 if it is missing or cannot be true.
type Usage struct {
	Prompt     int
	Completion int // reasoning included
	Total      int // both, or the host's only count
	Reasoning  int // part of Completion
	Cached     int // part of Prompt that was read from the host's cache
	CacheWrite int // part of Prompt that was written to the cache
}

const (
	maxCount      = 100_000_000 // no model reads or writes that many tokens
	maxTokenBytes = 128         // the longest tokens of vocabularies are runs of spaces
)

// usageWire holds the counts as a host sends them.
type usageWire struct {
	Usage
	besidePrompt int // tokens of the cache that Anthropic counts beside the prompt
}

// decodeUsage returns a host's counts, nil if none can be true.
func decodeUsage(raw json.RawMessage) *Usage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	w, err := decode(context.Background(), raw).usage()
	if err != nil {
		return nil
	}
	u := &w.Usage
	switch rest := u.Total - u.Prompt - u.Completion; {
	case u.Prompt > 0 && rest > 0 && (rest == w.besidePrompt || rest == u.Cached):
		u.Prompt += rest // the host counts cached tokens beside the prompt
	case u.Prompt > 0: // Gemini and xAI count reasoning only in the total
		u.Completion = max(u.Completion, u.Total-u.Prompt)
	case u.Completion > 0:
		u.Prompt = max(0, u.Total-u.Completion)
	}
	u.Total = max(u.Total, u.Prompt+u.Completion)
	if u.Total == 0 {
		return nil
	}
	u.Cached, u.Reasoning = min(u.Cached, u.Prompt), min(u.Reasoning, u.Completion)
	u.CacheWrite = min(u.CacheWrite, u.Prompt-u.Cached)
	return u
}

// usage reads the counts, which hosts name differently.
func (d *decoder) usage() (w usageWire, err error) {
	set := func(n *int) {
		if count := decodeCount(d.Raw()); count > 0 && count <= maxCount {
			*n = int(count)
		}
	}
	for key := range d.Members {
		switch string(key) {
		case "prompt_tokens", "input_tokens": // the latter of the Responses API and of Anthropic
			set(&w.Prompt)
		case "completion_tokens", "output_tokens":
			set(&w.Completion)
		case "total_tokens":
			set(&w.Total)
		case "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details":
			for key := range d.objectMembers() {
				switch string(key) {
				case "cached_tokens":
					set(&w.Cached)
				case "cache_write_tokens":
					set(&w.CacheWrite)
				case "reasoning_tokens":
					set(&w.Reasoning)
				}
			}
		case "cache_creation_input_tokens":
			set(&w.CacheWrite)
			w.besidePrompt += w.CacheWrite
		case "cached_tokens", "prompt_cache_hit_tokens": // of Moonshot and DeepSeek
			set(&w.Cached)
		case "cache_read_input_tokens":
			set(&w.Cached)
			w.besidePrompt += w.Cached
		}
	}
	return w, d.End()
}

// TooFew reports whether a count of tokens cannot be true for a text of so many bytes.
func TooFew(tokens, bytes int) bool { return tokens < bytes/maxTokenBytes }

// plausible removes the counts that are too low for a request and a reply of so many bytes. It returns nil if no count
// is left.
func (u *Usage) plausible(sent, size int) *Usage {
	if u == nil {
		return nil
	}
	out := *u
	if TooFew(u.Prompt, sent) {
		out.Prompt, out.Cached, out.CacheWrite = 0, 0, 0
	}
	if TooFew(u.Completion, size) {
		out.Completion, out.Reasoning = 0, 0
	}
	switch {
	case TooFew(u.Total, sent+size):
		out.Total = out.Prompt + out.Completion
	case out.Prompt == 0 && u.Prompt > 0, out.Completion == 0 && u.Completion > 0:
		out.Total = out.Prompt + out.Completion // the total included a false count
	}
	if out.Total == 0 {
		return nil
	}
	return &out
}
