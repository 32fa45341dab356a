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
			before, err := json.Marshal(p)
			check.Must(t, err)
			s := h.sampler(t, &Options{System: "House rules."})
			if _, err := s.CreateMessage(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			equalJSON(t, h.Last(), string(tt.Want))
			after, err := json.Marshal(p)
			check.Must(t, err)
			equalJSON(t, string(after), string(before))
		})
	}
}

// A text of fences costs as much as any other.
func TestFences(t *testing.T) {
	text := strings.Repeat("`", 4<<20)
	if got, want := fenced(text+"\na"), text+"`\n"+text+"\na\n`"+text; got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
	if got, want := fenced("a `b` ``\n"), "```\na `b` ``\n```"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a host reads of a resource counts.
func TestSizeOfResources(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []mcp.Content{
		&mcp.ResourceLink{Resource: mcp.Resource{URI: "a:b", Name: "b", MIMEType: long}},
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", MIMEType: long, Blob: []byte("x")}},
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "a:b", Text: strings.Repeat("`", len(long)/2)}},
	} {
		if read, counted := len(blockText(c)), contentSize([]mcp.Content{c}); counted+64 < read {
			t.Errorf("%T: %d bytes count as %d", c, read, counted)
		}
	}
}
