package adapter

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// IdempotencyKeyMeta is the entry of _meta that carries the key of a call, see [Prepared.WithIdempotencyKey], unless
// [Server.KeyInMeta] or [Server.KeyInArgument] names another place.
const IdempotencyKeyMeta = "io.mcpchain/idempotencyKey"

// Repeatable reports whether a call that may have had an effect may be made again with the same key: the server or the
// function recognizes it ([Server.KeyInMeta], [Server.KeyInArgument], [FuncOptions].HonoursKeys), [Policy.Repeat] says
// so, or the tool declares that it changes nothing (readOnlyHint) or nothing more the second time (idempotentHint) and
// [Policy.Trust] believes hints.
func (t *Tool) Repeatable() bool { return t.honoursKey() || t.isHarmlessTwice() }

// honoursKey reports whether a repeated call is recognized by its key.
func (t *Tool) honoursKey() bool {
	return t.honoursKeys || t.keyArgument != "" || t.server.recipe.KeyInMeta != ""
}

// isHarmlessTwice reports whether a second call without the key of the first does no harm.
func (t *Tool) isHarmlessTwice() bool {
	return t.repeat || t.server.policy.Trust >= TrustHints && (declaresReadOnly(t.def) || isIdempotent(t.def))
}

// applyRepeat asks [Policy.Repeat] about the tool. The error is a panic.
func (t *Tool) applyRepeat() error {
	repeat := t.server.policy.Repeat
	if repeat == nil {
		return nil
	}
	return runGuarded(t.server.opts.Logger, "Policy.Repeat", func() error { t.repeat = repeat(t.def); return nil })
}

// ReadOnly reports whether calls of the tool change nothing: the tool declares it (readOnlyHint),
// and [Policy.Trust] believes hints, or it is a function with ReadOnly in [FuncOptions].
func (t *Tool) ReadOnly() bool {
	return t.isReader() || t.server.policy.Trust >= TrustHints && declaresReadOnly(t.def)
}

// declaresReadOnly reports whether a tool declares that it changes nothing. The declaration is the server's own.
func declaresReadOnly(tool *mcp.Tool) bool {
	a := tool.Annotations
	return a != nil && a.ReadOnlyHint != nil && *a.ReadOnlyHint
}

// isIdempotent reports whether a tool declares that a second call with the same arguments changes nothing more.
func isIdempotent(tool *mcp.Tool) bool {
	a := tool.Annotations
	return a != nil && a.IdempotentHint != nil && *a.IdempotentHint
}

type keyKey struct{} // context key of the idempotency key, a string

// IdempotencyKeyFrom returns the key of the call that has the context, or "". It is for
// interceptors, and for functions of [Func].
func IdempotencyKeyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}

// withContext returns the context of the call. A call without a key gets one first if the server honours keys, and a call
// without a view gets that of ctx.
func (s *pendingCall) withContext(ctx context.Context) context.Context {
	if s.key == "" && s.tool.honoursKey() {
		s.key = rand.Text()
	}
	s.view = cmp.Or(s.view, currentView(ctx))
	s.context = callContext{ctx, s}
	return &s.context
}

// withKey puts the key of the call where the tool's server expects it.
func (s *pendingCall) withKey(t *Tool, arguments json.RawMessage, opts []mcpclient.CallOption) (json.RawMessage, []mcpclient.CallOption) {
	if s.key == "" {
		return arguments, opts
	}
	if t.keyArgument != "" {
		args := jsonrpc.AppendMembers([]byte{'{'}, arguments)
		return jsonrpc.CloseObject(jsonrpc.AppendMember(args, t.keyArgument, jsonrpc.AppendString(nil, s.key))), opts
	}
	return arguments, append(slices.Clip(opts), t.keyOption(s.key))
}

// keyOption returns the call option that sends the key.
func (t *Tool) keyOption(key string) mcpclient.CallOption {
	return mcpclient.WithMeta(cmp.Or(t.server.recipe.KeyInMeta, IdempotencyKeyMeta), jsonrpc.AppendString(nil, key))
}

// continueOptions returns the options of a call that continues a round. It has a key of its own, because with the first key
// the server would repeat its first answer. A key in the arguments stays, as the round is bound to them.
func (s *pendingCall) continueOptions(t *Tool, opts []mcpclient.CallOption) []mcpclient.CallOption {
	if s.key == "" || t.keyArgument != "" {
		return opts
	}
	asked, err := jsonrpc.Marshal(s.round)
	if err != nil {
		return opts
	}
	sum := sha256.Sum256(asked)
	return append(slices.Clip(opts), t.keyOption(s.key+"-"+hex.EncodeToString(sum[:8])))
}

// withoutKey removes the argument for the key, which neither the model nor a person may set.
func (t *Tool) withoutKey(args json.RawMessage) json.RawMessage {
	if t.keyArgument == "" {
		return args
	}
	kept := []byte{'{'}
	found := false
	err := jsonrpc.Members(args, func(name, value []byte) {
		if string(name) == t.keyArgument {
			found = true
			return
		}
		kept = jsonrpc.AppendMember(kept, string(name), value)
	})
	if err != nil || !found {
		return args
	}
	return jsonrpc.CloseObject(kept)
}

// withoutProperty removes a property from an input schema. It returns false if the schema has no such property.
func withoutProperty(raw json.RawMessage, name string) (json.RawMessage, bool) {
	var root, properties map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || json.Unmarshal(root["properties"], &properties) != nil {
		return raw, false
	}
	if _, ok := properties[name]; !ok {
		return raw, false
	}
	delete(properties, name)
	set := func(keyword string, value any) {
		if written, err := jsonrpc.Marshal(value); err == nil { // decoded JSON always marshals
			root[keyword] = written
		}
	}
	set("properties", properties)
	var required []string
	if json.Unmarshal(root["required"], &required) == nil {
		set("required", slices.DeleteFunc(required, func(r string) bool { return r == name }))
	}
	written, err := jsonrpc.Marshal(root)
	return written, err == nil
}
