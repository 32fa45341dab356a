package mcpclient

import (
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server keeps a task for at least as long as it is asked to.
func TestLegacyTaskTTL(t *testing.T) {
	e := &legacyEra{revision: mcp.Revision20251125}
	for ttl, want := range map[time.Duration]string{
		0:                                  `{"name":"a","task":{}}`,
		1:                                  `{"name":"a","task":{"ttl":1}}`,
		time.Minute:                        `{"name":"a","task":{"ttl":60000}}`,
		time.Millisecond + time.Nanosecond: `{"name":"a","task":{"ttl":2}}`,
		1<<63 - 1:                          `{"name":"a","task":{"ttl":9223372036855}}`,
	} {
		check.Equal(t, ttl.String(), string(e.taskRequest(&request{params: []byte(`{"name":"a"}`)}, ttl).params), want)
	}
}
