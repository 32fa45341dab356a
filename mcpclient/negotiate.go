package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// negotiator finds the server's era and revision, over another connection or transport if necessary.
type negotiator struct {
	*peer
	transport Transport // the transport in use
	send      sender
	dial      func(ctx context.Context, t Transport) error // replaces the connection in use
	notify    func(ctx context.Context, l *link, method string, params []byte) error
}

// firstEra returns the era to begin with: the forced one, the server's last known one, or the modern one.
func (n *negotiator) firstEra() era {
	revision := cmp.Or(n.protocol.Revision, n.rememberedRevision())
	if isLegacy(revision) {
		return &legacyEra{revision: revision}
	}
	return n.modern(cmp.Or(revision, modernRevisions[0]))
}

// rememberedRevision returns the server's last known revision, or "". For an entry of another
// client only the era counts.
func (n *negotiator) rememberedRevision() string {
	if s := n.server.Load(); s != nil {
		return s.Revision
	}
	revision := n.protocol.EraCache.find(n.transport)
	if isLegacy(revision) {
		return legacyRevisions[0]
	}
	return revision
}

// negotiate finds the server's era and revision, beginning with the current era.
func (n *negotiator) negotiate(ctx context.Context) error {
	switch {
	case isLegacy(n.protocol.Revision):
		return n.adoptLegacy(ctx, n.current())
	case n.protocol.Revision != "":
		err := n.adopt(ctx, n.current())
		if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && rpc.Code == mcp.CodeMethodNotFound {
			err = fmt.Errorf("%w (a server of an earlier revision: leave Options.Protocol.Revision empty to speak what it speaks)", err)
		}
		return err
	}
	given := n.transport
	err := n.negotiateRemembered(ctx)
	if err == nil {
		n.protocol.EraCache.keep(given, n.server.Load().Revision)
	}
	return err
}

// negotiateRemembered begins with initialize if the server is remembered as legacy. It probes if
// that proves wrong or the server is unknown.
func (n *negotiator) negotiateRemembered(ctx context.Context) error {
	known, ok := n.current().(*legacyEra)
	if !ok {
		return n.identify(ctx)
	}
	given := n.transport
	err := n.adoptLegacy(ctx, known)
	if err == nil || !disprovesLegacy(err) {
		return err
	}
	n.log.Debug("not the legacy server that is remembered, asking again", "error", err)
	n.era.Store(&eraBox{n.modern(modernRevisions[0])})
	if wraps[*olderError](err) || n.link.Load().endErr() != nil { // initialize may have ended the connection
		n.transport = given
		if again := n.redial(ctx); again != nil {
			return fmt.Errorf("%w (and before that, %w)", again, err)
		}
	}
	return n.identify(ctx)
}

// renegotiate finds the era of a server that is in use, and remembers it. After an error nothing has changed.
func (n *negotiator) renegotiate(ctx context.Context) error {
	era := n.era.Load()
	server := n.server.Load()
	var err error
	if era.has(listenStreams) {
		err = n.identify(ctx)
	} else {
		err = n.probe(ctx, n.modern(modernRevisions[0]))
	}
	if err != nil {
		n.era.Store(era)
		n.server.Store(server)
		return err
	}
	n.protocol.EraCache.keep(n.transport, n.server.Load().Revision)
	return nil
}

// identify probes an unknown server. A modern server answers server/discover. After any other
// answer, or none, the server counts as legacy and gets initialize.
func (n *negotiator) identify(ctx context.Context) error {
	probeErr := n.probe(ctx, n.current())
	if probeErr == nil {
		return nil
	}
	revision, err := n.fallback(ctx, probeErr)
	if err != nil {
		return err
	}
	n.log.Debug("no modern server, falling back to initialize", "error", probeErr)
	redial := !isReaction(probeErr) || n.link.Load().endErr() != nil // some servers exit when a request precedes initialize
	if redial {
		if err := n.replace(ctx, probeErr); err != nil {
			return err
		}
	}
	err = n.adoptLegacy(ctx, &legacyEra{revision: revision})
	isSilent := errors.Is(probeErr, errSilent)
	switch {
	case err == nil, isSilent && n.adoptLate(ctx, err):
		return nil
	case isSilent || redial:
		return secondError(err, probeErr)
	case n.endedInHandshake(ctx, err): // some exit a moment later
		return n.initializeAgain(ctx, revision, err)
	}
	return err
}

// adoptLate greets a server as modern again after a silent probe, if it has refused initialize: a
// modern server that was slow to start is ready now.
func (n *negotiator) adoptLate(ctx context.Context, legacyErr error) bool {
	if !wraps[*mcp.RPCError](legacyErr) && !wraps[*RevisionError](legacyErr) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, n.timeouts.Probe)
	defer cancel()
	return n.adopt(ctx, n.modern(modernRevisions[0])) == nil
}

var errSilent = errors.New("no answer within Options.Timeouts.Probe")

// probe sends server/discover in a modern era. If the server names other revisions it tries one of them, once.
func (n *negotiator) probe(ctx context.Context, e era) error {
	probe, bounds := within(ctx, bound.Limits{Idle: n.timeouts.Probe}) // a wait that the server asks for is not silence
	defer bounds.Stop()
	err := n.adopt(probe, e)
	if err != nil && probe.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("server/discover: %w", errSilent)
	}
	named, ok := namedRevisions(err)
	if !ok {
		return err
	}
	revision, ok := firstCommon(modernRevisions[:], named)
	if !ok {
		return err
	}
	return n.adopt(probe, n.modern(revision))
}

// adopt makes an era the current one and does its handshake, in this order because the server may
// send messages meanwhile. If a connection over HTTP may have calls, the era changes only after a
// successful handshake.
func (n *negotiator) adopt(ctx context.Context, e era) error {
	inUse := n.isReady() && n.link.Load().exchange != nil
	if !inUse {
		n.setEra(e)
	}
	server, err := n.handshake(ctx, e)
	if err != nil {
		return n.scrubError(err)
	}
	if e.has(listenStreams) {
		n.setEra(e)
	}
	n.server.Store(server)
	return nil
}

func (n *negotiator) setEra(e era) {
	if e != n.current() {
		n.era.Store(&eraBox{e})
	}
}

// allowedRevisions returns the revisions that the client may speak: the forced one, or all of an era.
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

// namedRevisions returns the revisions with which a server refused the client's. ok is false for another error.
func namedRevisions(err error) (named []string, ok bool) {
	if mismatch, ok := errors.AsType[*RevisionError](err); ok {
		return mismatch.ServerRevisions, true
	}
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	if !ok || rpc.Code != mcp.CodeUnsupportedRevision {
		return nil, false
	}
	named = supportedRevisions(rpc)
	return named, len(named) > 0
}

// supportedRevisions returns the revisions in the data of an error. Servers send them with several codes.
func supportedRevisions(e *mcp.RPCError) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if jsonrpc.DecodeResult(e.Data, &data) != nil {
		return nil
	}
	return data.Supported
}
