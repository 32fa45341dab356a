package agent

import (
	"encoding/json"
	"reflect"
)

// Usage counts tokens, as the provider reports them. A count that it does not
// report is zero.
type Usage struct {
	InputTokens     int // without cached tokens when the provider counts so
	OutputTokens    int
	TotalTokens     int // input and output when the provider gives no total
	CachedTokens    int // read from a cache
	ReasoningTokens int
}

func (u *Usage) add(v Usage) {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.TotalTokens += v.TotalTokens
	u.CachedTokens += v.CachedTokens
	u.ReasoningTokens += v.ReasoningTokens
}

// usageOf reads the usage that a provider puts among its generation info, under
// its own names and in its own number type.
func usageOf(info map[string]any) Usage {
	if info == nil {
		return Usage{}
	}
	// langchaingo's Mistral provider has a struct there.
	if nested, ok := info["usage"]; ok {
		if data, err := json.Marshal(nested); err == nil {
			var fields map[string]any
			if json.Unmarshal(data, &fields) == nil && fields != nil {
				return usageOf(fields)
			}
		}
	}
	u := Usage{
		InputTokens:     count(info, "PromptTokens", "InputTokens", "prompt_tokens", "input_tokens"),
		OutputTokens:    count(info, "CompletionTokens", "OutputTokens", "completion_tokens", "output_tokens"),
		TotalTokens:     count(info, "TotalTokens", "total_tokens"),
		CachedTokens:    count(info, "PromptCachedTokens", "CacheReadInputTokens", "CachedTokens", "cache_read_input_tokens"),
		ReasoningTokens: count(info, "ReasoningTokens", "ThinkingTokens", "reasoning_tokens"),
	}
	if u.TotalTokens == 0 {
		u.TotalTokens = u.InputTokens + u.OutputTokens
	}
	return u
}

// count returns the first of the keys that holds a positive number.
func count(info map[string]any, keys ...string) int {
	for _, key := range keys {
		v := reflect.ValueOf(info[key])
		n := 0
		switch {
		case v.CanInt():
			n = int(v.Int())
		case v.CanUint():
			n = int(v.Uint())
		case v.CanFloat():
			n = int(v.Float())
		}
		if n > 0 {
			return n
		}
	}
	return 0
}
