package sampling

import (
	"bytes"
	"encoding/json"
)

// extraKey is the key in a tool use's _meta for data that the model's host
// wants back with the call. Servers "SHOULD preserve this field in tool use
// blocks in message history"; if a server does not, recall has the data.
const extraKey = "io.github.mcpchain/host-extra"

// withHostExtra returns the _meta of a tool use with the host's data, nil for none.
func withHostExtra(extra json.RawMessage) json.RawMessage {
	if extra == nil {
		return nil
	}
	return encodeJSON(map[string]json.RawMessage{extraKey: extra})
}

// hostExtra returns the host's data of a tool use, nil if its _meta has none or is no object.
func hostExtra(meta json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(meta, &m) != nil {
		return nil
	}
	return m[extraKey]
}

// Bounds of OpenAI for metadata.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

// metadata copies the allowed keys of a server's metadata. Hosts require text, so numbers and
// booleans become their JSON. Lists, objects, null and long values are left out.
func metadata(raw json.RawMessage, allowed []string) map[string]string {
	var all map[string]json.RawMessage
	if len(allowed) == 0 || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range allowed {
		value := bytes.TrimSpace(all[key])
		if len(value) == 0 || len(key) > maxMetadataKey || len(out) == maxMetadata || bytes.ContainsAny(value[:1], "[{n") {
			continue
		}
		text := string(value)
		if value[0] == '"' && json.Unmarshal(value, &text) != nil {
			continue
		}
		if len(text) <= maxMetadataValue {
			out[key] = text
		}
	}
	return out
}
