package adapter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Fingerprint returns the SHA-256 hash, in hexadecimal digits, of everything that a model or an approval relies on: the
// tool's name, title, description, schemas and annotations, and whether models and views may call it. It does not depend on
// the formatting of the server's JSON. CHANGELOG.md names a version of this module that computes it differently.
func Fingerprint(tool *mcp.Tool) string {
	hints, _ := json.Marshal(tool.Annotations) // strings and booleans always marshal
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte(tool.Name), []byte(tool.Title), []byte(tool.Description),
		canonical(tool.InputSchema), canonical(tool.OutputSchema), hints,
	} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	// A decision applies to calls of models and of views, so it depends on who may call.
	if views, _ := apps.ReadToolMeta(tool); !views.ForModel || !views.ForViews {
		fmt.Fprintf(h, "model %t, app %t", views.ForModel, views.ForViews)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical returns JSON with sorted keys and without white space. Invalid JSON is returned as
// it is. Numbers keep their digits.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	b, err := jsonrpc.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// fingerprints returns the pins of tools, by the server's names.
func fingerprints(tools []*Tool) map[string]string {
	pins := make(map[string]string, len(tools))
	for _, tool := range tools {
		pins[tool.def.Name] = tool.fingerprint
	}
	return pins
}

// applyPins removes the tools that differ from their pins, and notes them as skipped. It returns the pins for the next
// listing: the given ones, or with [Policy.Pin] the pins of the first listing, or nil.
func (l *listing) applyPins(s *server, pins map[string]string) map[string]string {
	if pins == nil {
		if !s.state.policy.Pin {
			return nil
		}
		return fingerprints(l.tools)
	}
	l.tools = slices.DeleteFunc(l.tools, func(tool *Tool) bool {
		name := tool.def.Name
		if pins[name] == tool.fingerprint {
			return false
		}
		text := "tool %q has changed since it was pinned: review it and pin the fingerprint %s"
		if pins[name] == "" {
			text = "tool %q is not pinned: review it and add the fingerprint %s"
		}
		l.recordSkipped(s, name, fmt.Errorf(text, excerpt.Limit(name, 200), tool.fingerprint))
		return true
	})
	return pins
}
