package mcpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// The revisions of the protocol, the newest first.
const (
	Revision20260728 = "2026-07-28"
	Revision20251125 = "2025-11-25"
	Revision20250618 = "2025-06-18"
	Revision20250326 = "2025-03-26"
	Revision20241105 = "2024-11-05"
)

var (
	modernRevisions = [...]string{Revision20260728}
	legacyRevisions = [...]string{Revision20251125, Revision20250618, Revision20250326, Revision20241105}
)

func isModern(revision string) bool { return slices.Contains(modernRevisions[:], revision) }
func isLegacy(revision string) bool { return slices.Contains(legacyRevisions[:], revision) }

// revisions lists all revisions that we speak, the newest first.
func revisions() []string { return append(modernRevisions[:], legacyRevisions[:]...) }

// era is all that differs between the legacy era (a handshake, then requests in
// both directions) and the modern one (every request stands alone, and what the
// server asks comes as the result of a request).
type era interface {
	// handshake learns who the server is and may settle on another revision.
	handshake(ctx context.Context, c *Client) (*Server, error)

	// started does what is due once the handshake is done.
	started(ctx context.Context, c *Client) error

	// encode makes the message of a request.
	encode(c *Client, id int64, r *request, o *callOptions) []byte

	// header makes the HTTP header of a request, or of a message that has no
	// response when r is nil.
	header(r *request) http.Header

	// settle looks at a result. answers is nil when the call is done; otherwise
	// the request is repeated with these members added.
	settle(ctx context.Context, c *Client, r *request, result json.RawMessage) (answers []byte, err error)

	// cancel tells the server that nobody waits for a request any more.
	cancel(c *Client, l *link, id int64, reason string)

	pingMethod() string
	answers() bool       // the server sends requests, which are answered
	severalBlocks() bool // a sampling result may have several blocks
}

// clientCapabilities declares what the installed handlers can do.
func (o *Options) clientCapabilities(roots any) map[string]any {
	out := map[string]any{}
	if o.Sampling != nil {
		offered := map[string]any{}
		if c := samplingCapability(o.Sampling); c.Tools || c.Context {
			setIf(offered, "tools", c.Tools)
			setIf(offered, "context", c.Context)
		}
		out["sampling"] = offered
	}
	if o.Elicitation != nil {
		offered := map[string]any{}
		c := elicitationCapability(o.Elicitation)
		setIf(offered, "form", c.Form)
		setIf(offered, "url", c.URL)
		out["elicitation"] = offered
	}
	if o.Roots != nil {
		out["roots"] = roots
	}
	return out
}

func setIf(m map[string]any, key string, ok bool) {
	if ok {
		m[key] = struct{}{}
	}
}

// cancelledParams is the params of notifications/cancelled.
func cancelledParams(id int64, reason string) ([]byte, error) {
	return jsonrpc.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}{id, reason})
}

// tellCancelled sends notifications/cancelled.
func tellCancelled(c *Client, l *link, id int64, reason string) {
	params, err := cancelledParams(id, cut(reason))
	if err != nil {
		return
	}
	c.tell("notifications/cancelled", func(ctx context.Context) error {
		return l.notify(ctx, c, "notifications/cancelled", params)
	})
}

// appendMeta appends the entries of _meta that a caller asked for, each with a
// comma after it.
func appendMeta(b []byte, id int64, o *callOptions) []byte {
	if o.progress != nil {
		b = jsonrpc.AppendString(b, "progressToken")
		b = append(appendInt(append(b, ':'), id), ',')
	}
	for key, value := range o.meta {
		b = append(jsonrpc.AppendString(b, key), ':')
		b = append(append(b, value...), ',')
	}
	return b
}
