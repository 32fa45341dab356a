package agent_test

import (
	"encoding/json"
	"testing"
)

const (
	anthropicAnswer = `{"id":"2","type":"message","role":"assistant","model":"claude","stop_reason":"end_turn",
		"content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":3,"cache_read_input_tokens":7}}`
	openaiAnswer = `{"model":"gpt","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],
		"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}}`
)

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	check(t, json.Unmarshal([]byte(text), &v))
	return v
}
