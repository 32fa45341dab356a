package anthropicmodel

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestBlockBounds has blocks that do not follow each other, and one too many.
func TestBlockBounds(t *testing.T) {
	text := []byte(`{"type":"text","text":""}`)
	a := &answer{}
	check.Text(t, a.startBlock(5, text), "block 5 comes after 0 blocks")
	for i := range maxBlocks {
		check.Must(t, a.startBlock(i, text))
	}
	check.Text(t, a.startBlock(maxBlocks, text), "more than 1024 blocks")
	for n, want := range map[int]string{maxBlocks: "", maxBlocks + 1: "more than 1024"} {
		err := (&answer{}).Whole([]byte(`{"type":"message","content":[` + strings.Repeat(string(text)+",", n-1) + string(text) + `]}`))
		check.That(t, err == nil == (want == "") && strings.Contains(fmt.Sprint(err), want), "%d blocks: got %v", n, err)
	}
}

// FuzzEvents holds that events of any form end in parts within the bounds, with the text that was shown, or in an error.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message_start","message":{"id":"m","model":"c","content":[],"usage":{"input_tokens":-1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n" + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"i","name":"n","input":{}}}` + "\n" + `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"note","text":"42"}}` + "\n" + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1e3}}`,
		`{"type":"message","content":[{"type":"redacted_thinking","data":"x"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		shown := 0
		a := &answer{show: func(d model.Delta) error { shown += len(d.Text) + len(d.Reasoning); return nil }}
		for line := range bytes.Lines(data) {
			if _, err := a.Event("", bytes.TrimSpace(line)); err != nil {
				return
			}
		}
		size, text := 0, 0
		for _, p := range a.parts() {
			size += len(p.Text) + len(p.Arguments)
			text += len(p.Text)
		}
		check.Equal(t, "bytes of text that were shown", shown, text)
		if size > 4*len(data) || shown > 4*len(data) || a.usage.spent(0, 0).Total < 0 { // a byte that is not UTF-8 becomes three
			t.Errorf("%d bytes became %d, of which %d were shown; usage %+v", len(data), size, shown, a.usage)
		}
	})
}
