package paramheader

import (
	"encoding/base64"
	"strings"
)

// Value encodes text for one of these headers, or for Mcp-Name: plain ASCII unchanged, other
// text in Base64 between markers (2026-07-28 streamable-http, "Value Encoding").
func Value(v string) string {
	const open, end = "=?base64?", "?="
	if plain(v) && !(strings.HasPrefix(v, open) && strings.HasSuffix(v, end)) {
		return v
	}
	return open + base64.StdEncoding.EncodeToString([]byte(v)) + end
}

func plain(v string) bool {
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e {
			return false
		}
	}
	return v == strings.TrimSpace(v)
}
