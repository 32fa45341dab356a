package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/idle"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// negotiator finds out which revision the server speaks.
type negotiator struct {
	*peer
	transport    Transport // in use
	protocol     Protocol
	probeTimeout time.Duration
	life         *lifecycle.Lifecycle
	log          *slog.Logger
	send         sender
	dial         func(ctx context.Context, t Transport) error // replaces the connection in use
	notify       func(ctx context.Context, l *link, method string, params []byte) error
}

// firstEra returns the era to begin with: the forced one, the server's last known one, or the
// modern one.
func (n *negotiator) firstEra() era {
	revision := cmp.Or(n.protocol.Revision, n.remembered())
	if isLegacy(revision) {
		return &legacyEra{revision: revision}
	}
	return n.modern(cmp.Or(revision, modernRevisions[0]))
}

// remembered returns the server's last known revision, or "". For an entry of another client
// only the era counts.
func (n *negotiator) remembered() string {
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
	recipe := n.transport
	err := n.recall(ctx)
	if err == nil {
		n.protocol.EraCache.keep(recipe, n.server.Load().Revision)
	}
	return err
}

// recall begins with initialize if the server is remembered as legacy. It probes if that proves
// wrong or the server is unknown.
func (n *negotiator) recall(ctx context.Context) error {
	known, ok := n.current().(*legacyEra)
	if !ok {
		return n.identify(ctx)
	}
	recipe := n.transport
	err := n.adoptLegacy(ctx, known)
	if err == nil || !disproves(err) {
		return err
	}
	n.log.Debug("not the legacy server that is remembered, asking again", "because", err)
	n.era.Store(&eraBox{n.modern(modernRevisions[0])})
	if _, tried := errors.AsType[*olderError](err); tried || n.link.Load().dead() != nil { // or initialize ended the connection
		n.transport = recipe
		if again := n.redial(ctx); again != nil {
			return fmt.Errorf("%w (and before that, %w)", again, err)
		}
	}
	return n.identify(ctx)
}

// again finds the era of a server that is in use, and remembers it. After an error nothing has
// changed.
func (n *negotiator) again(ctx context.Context) error {
	era, server := n.era.Load(), n.server.Load()
	var err error
	if n.current().has(listenStreams) {
		err = n.identify(ctx)
	} else {
		err = n.updated(ctx)
	}
	if err != nil {
		n.era.Store(era)
		n.server.Store(server)
		return err
	}
	n.protocol.EraCache.keep(n.transport, n.server.Load().Revision)
	return nil
}

// updated switches to the modern era if a legacy server proves to be modern. The server's
// requests are still answered meanwhile.
func (n *negotiator) updated(ctx context.Context) error {
	probe, bounds := within(ctx, idle.Limits{Idle: n.probeTimeout})
	defer bounds.Stop()
	e := n.modern(modernRevisions[0])
	server, err := n.discover(probe, e)
	if err != nil {
		return n.scrubbed(err)
	}
	n.era.Store(&eraBox{e})
	n.server.Store(server)
	return nil
}

// disproves reports whether err, the answer to initialize, may come from a server that is not
// legacy. An unreachable server proves nothing.
func disproves(err error) bool {
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return !wire.Transient(status.Status) && status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden
	}
	_, answered := errors.AsType[*mcp.RPCError](err)
	_, mismatch := errors.AsType[*RevisionError](err)
	return answered || mismatch || errors.Is(err, mcp.ErrInvalidResult)
}

// identify probes an unknown server. A modern server answers server/discover. After any other
// answer, or none, the server counts as legacy and gets initialize.
func (n *negotiator) identify(ctx context.Context) error {
	probeErr := n.probe(ctx)
	if probeErr == nil {
		return nil
	}
	revision, redial, err := n.fallback(ctx, probeErr)
	if err != nil {
		return err
	}
	n.log.Debug("no modern server, falling back to initialize", "because", probeErr)
	silent := errors.Is(probeErr, errSilent)
	redial = redial || n.link.Load().dead() != nil // some servers die of a request before initialize
	if redial {
		if err := n.replace(ctx, probeErr); err != nil {
			return err
		}
	}
	legacyErr := n.adoptLegacy(ctx, &legacyEra{revision: revision})
	if !silent && !redial && n.hungUpOn(ctx, legacyErr) { // and some of them a moment later
		legacyErr = n.initializeAgain(ctx, revision, legacyErr)
	}
	if legacyErr == nil || !silent && !redial {
		return legacyErr
	}
	_, refused := errors.AsType[*mcp.RPCError](legacyErr)
	_, mismatch := errors.AsType[*RevisionError](legacyErr)
	if silent && (refused || mismatch) {
		// A modern server that was slow to start refuses initialize, and is ready now.
		again, cancel := context.WithTimeout(ctx, n.probeTimeout)
		defer cancel()
		if n.adopt(again, n.modern(modernRevisions[0])) == nil {
			return nil
		}
	}
	return after(legacyErr, probeErr)
}

// initializeAgain sends initialize on a new connection, after the old one ended with the error
// before.
func (n *negotiator) initializeAgain(ctx context.Context, revision string, before error) error {
	n.log.Debug("the server ended on initialize, asking once more", "because", before)
	if err := n.replace(ctx, before); err != nil {
		return err
	}
	return after(n.adoptLegacy(ctx, &legacyEra{revision: revision}), before)
}

// after returns the error of a second attempt. It includes that of the first, unless the server
// ended both.
func after(err, before error) error {
	if err == nil || errors.Is(err, ErrClosed) && errors.Is(before, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w (and before that, %v)", err, before)
}

// replace is redial after a connection that ended with the error before. Its error has both
// failures, or says what to do if the transport can only connect once.
func (n *negotiator) replace(ctx context.Context, before error) error {
	switch err := n.redial(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrDialedOnce):
		return fmt.Errorf("%w (some servers end on server/discover: make a new transport, and set Options.Protocol.Revision to %s)", before, legacyRevisions[0])
	default:
		return fmt.Errorf("%w (and before that, %w)", err, before)
	}
}

// hungUpOn reports whether the server ended the connection during the handshake, on a transport
// without another form. Restart has attempts of its own, and [ErrConnectionLost] for it.
func (n *negotiator) hungUpOn(ctx context.Context, err error) bool {
	_, tried := errors.AsType[*olderError](err)
	return errors.Is(err, ErrClosed) && !tried && n.link.Load().exchange == nil && ctx.Err() == nil
}

// redial replaces the connection by a new one. It waits for the end of the old one, but not
// beyond the caller's context.
func (n *negotiator) redial(ctx context.Context) error {
	old := n.link.Load()
	gone := make(chan struct{})
	if !n.life.Start(func() {
		defer close(gone)
		_ = old.end()
	}) {
		return n.life.Cause()
	}
	select {
	case <-gone:
		return n.dial(ctx, n.transport)
	case <-ctx.Done():
		return fmt.Errorf("the former connection is still ending: %w", ended(ctx))
	}
}

// errSilent is the error of a probe without an answer in time.
var errSilent = errors.New("no answer within Options.Timeouts.Probe")

// probe sends server/discover. If the server names other revisions it tries one of them, once.
func (n *negotiator) probe(ctx context.Context) error {
	probe, bounds := within(ctx, idle.Limits{Idle: n.probeTimeout}) // time in which the server makes the client wait is not silence
	defer bounds.Stop()
	err := n.adopt(probe, n.current())
	if err != nil && probe.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("server/discover: %w", errSilent)
	}
	named, ok := namedRevisions(err)
	if !ok {
		return err
	}
	revision, ok := mutual(modernRevisions[:], named)
	if !ok {
		return err
	}
	return n.adopt(probe, n.modern(revision))
}

// adopt sets the era of the client and does its handshake.
func (n *negotiator) adopt(ctx context.Context, e era) error {
	if e != n.current() {
		n.era.Store(&eraBox{e})
	}
	server, err := n.handshake(ctx)
	if err != nil {
		return n.scrubbed(err)
	}
	n.server.Store(server)
	return nil
}

// adoptLegacy does the legacy handshake, over another transport if the server has only an older
// one. The error has the failures of both.
func (n *negotiator) adoptLegacy(ctx context.Context, e era) error {
	err := n.adopt(ctx, e)
	t, ok := n.transport.(*HTTP)
	if err == nil || !ok || n.isReady() || n.current() != e { // the server has answered initialize
		return err // or there are calls, which the end of the connection would end
	}
	older := t.fallback(err)
	if older == nil {
		return err
	}
	n.log.Debug("the server refused initialize, falling back to another transport", "to", "HTTP+SSE", "because", err)
	_ = n.link.Load().end()
	n.transport = older
	olderErr := n.dial(ctx, n.transport)
	if olderErr == nil {
		olderErr = n.adopt(ctx, e)
	}
	if olderErr != nil {
		return &olderError{err, olderErr}
	}
	return nil
}

// olderError is the error of a server that answers over neither form of a transport.
type olderError struct {
	newer error
	older error
}

func (e *olderError) Error() string {
	return fmt.Sprintf("%v; and over HTTP+SSE: %v", e.newer, e.older)
}

func (e *olderError) Unwrap() []error { return []error{e.newer, e.older} }

// fallback decides what follows a failed probe: the legacy revision to try, and whether that
// needs a new connection; or the failure.
func (n *negotiator) fallback(ctx context.Context, probeErr error) (revision string, redial bool, err error) {
	newest := legacyRevisions[0]
	if ctx.Err() != nil {
		return "", false, probeErr
	}
	if named, ok := namedRevisions(probeErr); ok {
		if _, modern := mutual(modernRevisions[:], named); modern {
			return "", false, probeErr
		}
		if revision, ok := mutual(legacyRevisions[:], named); ok {
			return revision, false, nil
		}
		if _, said := errors.AsType[*RevisionError](probeErr); said {
			return "", false, probeErr
		}
		return "", false, fmt.Errorf("%w: %w", probeErr, &RevisionError{Client: Revisions(), Server: named})
	}
	var rpc *mcp.RPCError
	var status *transport.HTTPError
	switch {
	case errors.As(probeErr, &status):
		if wire.Transient(status.Status) || status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden {
			return "", false, probeErr
		}
		return newest, false, nil
	case errors.As(probeErr, &rpc):
		if results.OnlyModern(rpc) {
			return "", false, probeErr
		}
		return newest, false, nil
	case errors.Is(probeErr, errIncomplete):
		return "", false, probeErr // a server that names its revisions is modern
	case errors.Is(probeErr, errSilent), errors.Is(probeErr, mcp.ErrInvalidResult), errors.Is(probeErr, transport.ErrMessageTooLarge):
		return newest, false, nil
	case n.link.Load().exchange != nil:
		return "", false, probeErr // a broken exchange says nothing about the server
	case n.server.Load() != nil:
		return "", false, probeErr // it answered an earlier probe
	}
	return newest, true, nil
}

// spokenBy returns the revisions that the client may speak: the forced one, or all of an era.
func (n *negotiator) spokenBy(era []string) []string {
	if forced := n.protocol.Revision; forced != "" {
		return []string{forced}
	}
	return era
}

// mutual returns the client's first revision that the server has, too.
func mutual(ours, theirs []string) (string, bool) {
	for _, r := range ours {
		if slices.Contains(theirs, r) {
			return r, true
		}
	}
	return "", false
}

// namedRevisions returns the revisions that the server names.
func namedRevisions(err error) ([]string, bool) {
	var mismatch *RevisionError
	if errors.As(err, &mismatch) {
		return mismatch.Server, true
	}
	var rpc *mcp.RPCError
	if !errors.As(err, &rpc) || rpc.Code != mcp.CodeUnsupportedRevision {
		return nil, false
	}
	named := supportedBy(rpc)
	return named, len(named) > 0
}

// refusedForNothing reports whether err refuses the current revision but lists it, as one of
// several instances may do during an update.
func (p *peer) refusedForNothing(err error) bool {
	named, refused := namedRevisions(err)
	revision := p.current().name()
	return refused && isModern(revision) && slices.Contains(named, revision)
}

// supportedBy returns the revisions in the data of an error with any code, because servers use
// several codes for such data.
func supportedBy(e *mcp.RPCError) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if jsonrpc.DecodeResult(e.Data, &data) != nil {
		return nil
	}
	return data.Supported
}
