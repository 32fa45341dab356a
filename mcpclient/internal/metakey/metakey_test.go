package metakey_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
)

func TestCheck(t *testing.T) {
	for key, want := range map[string]struct{ ok, prefixed, reserved bool }{
		"a": {ok: true}, "traceparent": {ok: true}, "a-b_c.D9": {ok: true}, "": {ok: true}, "mcp.x": {ok: true},
		"com.example/a": {ok: true, prefixed: true}, "example/a": {ok: true, prefixed: true},
		"com.example-9/": {ok: true, prefixed: true}, "mcp.dev/a": {ok: true, prefixed: true},
		"dev.mcp/a": {ok: true, prefixed: true, reserved: true}, "org.modelcontextprotocol.x/a": {ok: true, prefixed: true, reserved: true},
		"-a": {}, "a.": {}, "a b": {}, "ä": {}, "/a": {prefixed: true}, "a/b/c": {prefixed: true},
		"com..example/a": {prefixed: true}, "9com/a": {prefixed: true}, "com.example-/a": {prefixed: true},
		"com.exa_mple/a": {prefixed: true}, "com.example/-a": {prefixed: true},
	} {
		prefixed, err := metakey.Check(key)
		if (err == nil) != want.ok || prefixed != want.prefixed || metakey.Reserved(key) != want.reserved {
			t.Errorf("%q: got prefixed %t, reserved %t, %v, want %+v", key, prefixed, metakey.Reserved(key), err, want)
		}
	}
}
