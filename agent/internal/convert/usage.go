package convert

import (
	"encoding/json"
	"reflect"

	"github.com/mcpchain/mcpchain/agent/run"
)

// usage returns the tokens of a reply from the provider's own names and number types. A count
// that is not reported is 0. Input and Output are totals: Cached and CacheWrite are parts of
// Input, Reasoning is a part of Output.
func usage(info map[string]any) run.Usage {
	if info == nil {
		return run.Usage{}
	}
	// langchaingo's Mistral provider has a struct here.
	if nested, ok := info["usage"]; ok {
		if data, err := json.Marshal(nested); err == nil {
			var fields map[string]any
			if json.Unmarshal(data, &fields) == nil && fields != nil {
				return usage(fields)
			}
		}
	}
	s := run.Usage{
		Input:      count(info, "PromptTokens", "InputTokens", "prompt_tokens", "input_tokens"),
		Output:     count(info, "CompletionTokens", "OutputTokens", "completion_tokens", "output_tokens"),
		Total:      count(info, "TotalTokens", "total_tokens"),
		Cached:     count(info, "PromptCachedTokens", "CacheReadInputTokens", "CachedTokens", "cache_read_input_tokens"),
		CacheWrite: count(info, "CacheCreationInputTokens", "cache_creation_input_tokens"),
		Reasoning:  count(info, "ReasoningTokens", "ThinkingTokens", "reasoning_tokens"),
	}
	if countsApart(info) {
		s.Input += s.Cached + s.CacheWrite
	}
	if rest := s.Total - s.Input - s.Output; rest > 0 && s.Input > 0 {
		s.Output += rest // Gemini counts reasoning only in the total
		s.Reasoning += rest
	}
	s.Total = max(s.Total, s.Input+s.Output)
	return s
}

// countsApart reports whether the provider counts cached tokens in addition to the input, as
// langchaingo's Anthropic does. The models of this module count them in PromptTokens.
func countsApart(info map[string]any) bool {
	_, isOurs := info["PromptTokens"]
	_, isTheirs := info["CacheCreationInputTokens"]
	_, isRaw := info["cache_creation_input_tokens"]
	return !isOurs && (isTheirs || isRaw)
}

const maxCount = 1 << 40 // so that sums do not overflow

// count returns the first positive number among the keys.
func count(info map[string]any, keys ...string) int64 {
	for _, key := range keys {
		v := reflect.ValueOf(info[key])
		var n int64
		switch {
		case v.CanInt():
			n = v.Int()
		case v.CanUint():
			n = int64(min(v.Uint(), maxCount))
		case v.CanFloat():
			n = int64(min(v.Float(), maxCount))
		}
		if n > 0 {
			return min(n, maxCount)
		}
	}
	return 0
}
