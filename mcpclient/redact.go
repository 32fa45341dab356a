package mcpclient

import (
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
)

type redactor struct{ conn Conn }

func (r *redactor) scrub(text string) string {
	if conn, ok := wire.As[wire.Redactor](r.conn); ok {
		return conn.Redact(text)
	}
	return text
}

// cut shortens a server's text to 1 KiB, without secrets.
func (r *redactor) cut(text string) string {
	return excerpt.Cut(r.scrub(text[:min(len(text), redact.Max)]))
}

func (r *redactor) quote(b []byte) string {
	return excerpt.Quote([]byte(r.cut(string(b[:min(len(b), redact.Max)]))))
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
