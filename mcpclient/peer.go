package mcpclient

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// peer is the life of a client, the options that several of its parts need, the server as it is
// connected now, and what both sides declare.
type peer struct {
	life *lifecycle.Lifecycle
	log  *slog.Logger

	protocol  Protocol
	limits    Limits
	timeouts  Timeouts
	validator Validator
	logLevel  mcp.LogLevel

	link   atomic.Pointer[link]
	era    atomic.Pointer[eraBox]
	server atomic.Pointer[mcp.Server] // nil before the first handshake
	ready  atomic.Bool                // Connect has succeeded

	introduction string // name and version of the client, as JSON
	offers       offers // capabilities of the handlers
}

// eraBox holds an era, so that a pointer to it can be stored and compared.
type eraBox struct{ era }

func (p *peer) current() era { return p.era.Load().era }

func (p *peer) eraOf(r *request) era { return cmp.Or(r.sentEra, p.era.Load()).era }

func (p *peer) isReady() bool { return p.ready.Load() }

func (p *peer) serverInfo() mcp.Server {
	if s := p.server.Load(); s != nil {
		return *s
	}
	return mcp.Server{}
}

func (p *peer) logViolation(violation string, args ...any) {
	p.link.Load().warnings.logViolation(violation, args...)
}

// checkOffered returns [ErrUndeclared] if the server did not declare what a method needs,
// although its revision can declare it. It returns nil with Options.Protocol.AllowUndeclared.
func (p *peer) checkOffered(method string) error {
	server := p.server.Load()
	if server == nil { // a call of middleware during the first handshake
		server = new(mcp.Server)
	}
	capability, declared := requirement(&server.Capabilities, method)
	if declared || p.protocol.AllowUndeclared {
		return nil
	}
	e := p.current()
	undeclarable := capability == "completions" && !e.has(completionCapability) || capability == "tasks.cancel" && !e.has(coreTasks)
	if undeclarable {
		return nil
	}
	return &undeclaredError{capability}
}

func (p *peer) checkTask(tool *mcp.Tool) error {
	return p.current().checkTask(tool, &p.offers, &p.server.Load().Capabilities, p.protocol.AllowUndeclared)
}

// rpcError decodes the error of a response, without the secrets of the current connection.
func (p *peer) rpcError(raw json.RawMessage) error { return rpcError(raw, p.link.Load().texts.scrub) }

func (p *peer) modern(revision string) era {
	return newModernEra(revision, p.introduction, &p.offers)
}

func (p *peer) quote(b []byte) string { return p.link.Load().texts.quote(b) }

// quoteJSON is quote for a JSON value. It shows the content of a string.
func (p *peer) quoteJSON(raw []byte) string {
	if text, ok := jsonrpc.String(raw); ok {
		raw = []byte(text)
	}
	return p.quote(raw)
}

func (p *peer) scrubError(err error) error {
	l := p.link.Load()
	if err == nil || l == nil {
		return err
	}
	if text := l.texts.scrub(err.Error()); text != err.Error() {
		return redact.Error(text, err)
	}
	return err
}
