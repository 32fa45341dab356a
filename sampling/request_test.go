package sampling

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestRequestMapping(t *testing.T) {
	var tests []struct {
		Name         string
		Params, Want json.RawMessage
	}
	data, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(data, &tests)
	}
	check.Must(t, err)
	for _, tt := range tests {
		t.Run(tt.Name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer, `{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}`))
			p := question(t, string(tt.Params))
			before := asJSON(p)
			check.Must(t, check.Err(h.sampler(t, &Options{System: "House rules."}).CreateMessage(t.Context(), p)))
			equalJSON(t, h.Last(), string(tt.Want))
			equalJSON(t, asJSON(p), before)
		})
	}
}

// A text of fences costs as much as any other.
func TestFences(t *testing.T) {
	text := strings.Repeat("`", 4<<20)
	got, want := fenced(text+"\na"), text+"`\n"+text+"\na\n`"+text
	check.That(t, got == want, "got %d bytes, want %d", len(got), len(want))
	check.Equal(t, "", fenced("a `b` ``\n"), "```\na `b` ``\n```")
}

// What a host reads of a resource counts.
func TestSizeOfResources(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []mcp.Content{
		&mcp.ResourceLink{Resource: mcp.Resource{URI: "a:b", Name: "b", MIMEType: long}},
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", MIMEType: long, Blob: []byte("x")}},
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", Text: strings.Repeat("`", len(long)/2)}},
	} {
		read, counted := len(blockText(c)), contentSize([]mcp.Content{c})
		check.That(t, counted+64 >= read, "%T: %d bytes count as %d", c, read, counted)
	}
}
