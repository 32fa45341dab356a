package mcpclient

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var (
	modernRevisions = [...]string{mcp.Revision20260728}
	legacyRevisions = [...]string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20250326, mcp.Revision20241105}
)

func isModern(revision string) bool { return slices.Contains(modernRevisions[:], revision) }
func isLegacy(revision string) bool { return slices.Contains(legacyRevisions[:], revision) }

// Revisions returns the revisions that a client speaks, the newest first. They are the values
// of [Protocol.Revision].
func Revisions() []string { return append(modernRevisions[:], legacyRevisions[:]...) }

// versionHeader is the HTTP header with the revision.
const versionHeader = "Mcp-Protocol-Version"

// era is what differs between the legacy era (a handshake, then requests in both directions)
// and the modern one (independent requests, and the server's questions as results).
type era interface {
	name() string // the revision

	// encode appends the message of a request. Without entries of _meta that the caller set it
	// takes about room bytes.
	encode(b []byte, id int64, r *request, o *callOptions) []byte
	room(r *request) int

	// header returns the HTTP header of a request or notification, or with nil that of other
	// exchanges. It is shared: do not modify it.
	header(r *request) http.Header

	// inputRequired decodes what the server needs before it can return a result; it returns nil
	// for a result. quote quotes the server's text in errors.
	inputRequired(r *request, result json.RawMessage, quote func([]byte) string) (*inputRound, error)

	// cancels reports whether the server is notified of a cancelled request.
	cancels(r *request, overHTTP bool) bool

	// taskable returns an error if a tool cannot be called as a task, according to what both
	// sides declare. With undeclared, what the server does not declare counts as declared.
	taskable(tool *mcp.Tool, ours *offers, server *mcp.ServerCapabilities, undeclared bool) error

	// taskRequest returns r as a request whose result may be a task.
	taskRequest(r *request, ttl time.Duration) *request

	// created decodes a result that is a task.
	created(result json.RawMessage) (state mcp.TaskState, isTask bool, err error)

	// polled decodes the result of tasks/get.
	polled(result json.RawMessage) (polledTask, error)

	pingMethod() string
	mirrors() bool       // over HTTP, headers repeat arguments of tool calls
	answers() bool       // the server sends requests
	severalBlocks() bool // a sampling result may have several blocks
	has(feature) bool
}

// feature is something that only some revisions have.
type feature int

const (
	standaloneStreams    feature = iota // over HTTP the server sends everything but responses on a separate stream
	listenStreams                       // a subscription is a stream of its own
	completionCapability                // servers declare completions
	completionContext                   // a completion request has the other arguments
	audioContent                        // a block may be audio
	cacheHints                          // results say how long they may be cached
	coreTasks                           // tasks belong to the core protocol
	sessionCursors                      // a cursor belongs to its session
	sessionLevel                        // the log level belongs to the session
	urlElicitationErrors                // an error may ask a person to visit URLs, which have ids
)

// offers are the capabilities of the installed handlers, as declared when the client connected.
// Nil is not offered.
type offers struct {
	sampling    *mcp.SamplingCapability
	elicitation *mcp.ElicitationCapability
	roots       bool
	quietRoots  bool // changes are not announced
	tasks       bool // the extension of the modern era

	base  json.RawMessage // declared in addition, or nil
	exact json.RawMessage // declared instead, or nil
}

func (o *Options) offers() offers {
	out := offers{roots: o.givesRoots(), tasks: true}
	if o.Sampling != nil {
		c := inquiry.SamplingCapabilityOf(o.Sampling)
		out.sampling = &c
	}
	if o.Elicitation != nil {
		c := inquiry.ElicitationCapabilityOf(o.Elicitation)
		out.elicitation = &c
	}
	return out
}

func (f *offers) check() error {
	if f.elicitation != nil && !f.elicitation.Form && !f.elicitation.URL {
		return errors.New("Options.Elicitation: its capability has no mode: want forms, URLs or both")
	}
	return nil
}

// cancelledParams returns the params of notifications/cancelled.
func cancelledParams(id int64, reason string) ([]byte, error) {
	return jsonrpc.Marshal(struct {
		RequestID int64  `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}{id, reason})
}

// tellCancelled sends notifications/cancelled for a request.
func (w *roundTripper) tellCancelled(l *link, flight *inFlight, reason string) {
	const method = "notifications/cancelled"
	if !w.peer.current().cancels(flight.request, l.exchange != nil) {
		return
	}
	params, err := cancelledParams(flight.ID, excerpt.Cut(reason))
	if err != nil {
		return
	}
	header := w.peer.current().header(&request{method: method})
	l.postAsync(asyncPost{session: flight.session(l).session, what: method, body: jsonrpc.AppendNotification(nil, method, params), header: header})
}

// envelope is the approximate size of a request without its method and params, in bytes.
const envelope = 80

// appendMeta appends the entries of _meta that a caller set, each followed by a comma.
func appendMeta(b []byte, id int64, o *callOptions) []byte {
	if o.token {
		b = jsonrpc.AppendString(b, "progressToken")
		b = append(strconv.AppendInt(append(b, ':'), id, 10), ',')
	}
	for key, value := range o.meta {
		b = jsonrpc.AppendMember(b, key, value)
	}
	return b
}
