package mcpclient

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// HTTPExchange is what the hooks of [HTTP] see of one HTTP request and its
// response. Their functions run on the goroutine of the request, several at the
// same time.
type HTTPExchange struct {
	// Client is whose exchange it is: the one that Connect returns, or is going to.
	// It is nil on a connection that was dialed without one. Until Connect has
	// returned it is for SetBearerToken, Server, SessionID and Transport only.
	Client *Client

	HTTPMethod string // POST, GET or DELETE
	Method     string // of the JSON-RPC request or notification, "" for others

	Status int         // of the response, zero before there is one
	Header http.Header // of the response; not to be changed
	Body   string      // the first KiB without secrets, "" for an event stream
}

// hooks are those of an [HTTP] transport; some may be nil.
type hooks struct {
	before, after func(context.Context, HTTPExchange)
	unauthorized  func(context.Context, HTTPExchange) bool

	client *Client
}

// watched is a request that hooks see.
type watched struct {
	*hooks
	message *outgoing
	seen    HTTPExchange
	asked   bool // the hook for 401 and 403
}

func (h *hooks) watch(method string, m *outgoing) *watched {
	w := &watched{hooks: h, message: m, seen: HTTPExchange{Client: h.client, HTTPMethod: method}}
	if parsed, err := jsonrpc.Parse(m.body); err == nil {
		w.seen.Method = parsed.Method
	}
	return w
}

func (w *watched) sends(ctx context.Context) {
	if w.before != nil {
		w.before(ctx, w.seen)
	}
}

// got reports whether to make the request again.
func (w *watched) got(ctx context.Context, c *httpConn, resp *http.Response, again bool) bool {
	seen := c.seen(w.seen, resp)
	if w.after != nil {
		w.after(ctx, seen)
	}
	if w.asked || !w.asks(resp) {
		return again
	}
	w.asked = true
	resume := idle.From(ctx).Hold() // a person may sign in
	defer resume()
	if again = w.unauthorized(ctx, seen); again {
		c.useToken(w.message)
	}
	return again
}

// asks reports whether to ask the hook for 401 and 403. What it would change is no
// affair of a session that ends.
func (h *hooks) asks(resp *http.Response) bool {
	return h.unauthorized != nil && resp.Request.Method != http.MethodDelete &&
		(resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
}

// seen is what hooks see of a response. What it reads of the body is put back.
func (c *httpConn) seen(x HTTPExchange, resp *http.Response) HTTPExchange {
	x.Status, x.Header = resp.StatusCode, resp.Header
	if resp.StatusCode/100 == 2 && mediaType(resp) != mediaJSON {
		return x
	}
	var head []byte
	if resp.StatusCode/100 == 2 {
		head, _ = io.ReadAll(io.LimitReader(resp.Body, excerpt.Max))
	} else {
		head = readFailed(resp.Body, excerpt.Max)
	}
	x.Body = c.Redact(string(head))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(strings.NewReader(string(head)), resp.Body), resp.Body}
	return x
}
