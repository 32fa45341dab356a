package adapter

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// IdempotencyKeyMeta is the entry of _meta that carries the key of a call, see [Prepared.WithIdempotencyKey], unless
// [Server.KeyInMeta] names another one.
const IdempotencyKeyMeta = "io.mcpchain/idempotencyKey"

// HonoursKeys reports whether the server recognizes a repeated call by its key, according to
// [Server.KeyInMeta] or [FuncOptions].
func (t *Tool) HonoursKeys() bool { return t.honoursKeys || t.server.keyInMeta != "" }

// Repeatable reports whether a call that may have had an effect may be made again: [Policy.Repeat] says so, or the tool
// declares that it changes nothing (readOnlyHint) or nothing more the second time (idempotentHint) and [Policy.Trust]
// believes hints. The hints of a function are believed ([FuncOptions]).
func (t *Tool) Repeatable() bool {
	return t.repeat || t.server.policy.Trust >= TrustHints && (DeclaresReadOnly(t.def) || idempotent(t.def))
}

// ReadOnly reports whether calls of the tool change nothing: the tool declares it (readOnlyHint),
// and [Policy.Trust] believes hints, or it is a function with ReadOnly in [FuncOptions].
func (t *Tool) ReadOnly() bool {
	return t.isReader() || t.server.policy.Trust >= TrustHints && DeclaresReadOnly(t.def)
}

func idempotent(tool *mcp.Tool) bool {
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
	if s.key == "" && s.tool.HonoursKeys() {
		s.key = rand.Text()
	}
	if s.view == "" {
		s.view = currentView(ctx)
	}
	s.context = callContext{ctx, s}
	return &s.context
}

// keyOptions adds the call option that sends the key of the call, with a suffix.
func (s *pendingCall) keyOptions(t *Tool, suffix string, opts []mcpclient.CallOption) []mcpclient.CallOption {
	if s.key == "" {
		return opts
	}
	return append(slices.Clip(opts), mcpclient.WithMeta(cmp.Or(t.server.keyInMeta, IdempotencyKeyMeta), jsonrpc.AppendString(nil, s.key+suffix)))
}

// continueOptions returns the options of a call that continues a round. It has a key of its own, because with the first key
// the server would repeat its first answer.
func (s *pendingCall) continueOptions(t *Tool, opts []mcpclient.CallOption) []mcpclient.CallOption {
	asked, err := jsonrpc.Marshal(s.round)
	if err != nil {
		return opts
	}
	sum := sha256.Sum256(asked)
	return s.keyOptions(t, "-"+hex.EncodeToString(sum[:8]), opts)
}
