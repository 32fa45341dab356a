package mcpclient

import (
	"errors"
	"slices"

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

// allowedRevisions returns the revisions that the client may speak: the forced one, or all of an
// era.
func (n *negotiator) allowedRevisions(era []string) []string {
	if forced := n.protocol.Revision; forced != "" {
		return []string{forced}
	}
	return era
}

func firstCommon(ours, theirs []string) (string, bool) {
	for _, r := range ours {
		if slices.Contains(theirs, r) {
			return r, true
		}
	}
	return "", false
}

func namedRevisions(err error) ([]string, bool) {
	var mismatch *RevisionError
	if errors.As(err, &mismatch) {
		return mismatch.ServerRevisions, true
	}
	var rpc *mcp.RPCError
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeUnsupportedRevision {
		return nil, false
	}
	named := supportedRevisions(rpc)
	return named, len(named) > 0
}

// isSpuriousRefusal reports whether err refuses the current revision but lists it, as one of
// several instances may do during an update.
func (p *peer) isSpuriousRefusal(err error) bool {
	named, refused := namedRevisions(err)
	revision := p.current().name()
	return refused && isModern(revision) && slices.Contains(named, revision)
}

// supportedRevisions returns the revisions in the data of an error with any code, because servers
// use several codes for such data.
func supportedRevisions(e *mcp.RPCError) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if jsonrpc.DecodeResult(e.Data, &data) != nil {
		return nil
	}
	return data.Supported
}
