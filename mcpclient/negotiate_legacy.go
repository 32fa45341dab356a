package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/internal/streamable"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// fallback returns the legacy revision to try after a probe failed with probeErr. If the server is
// not legacy, the error is probeErr.
func (n *negotiator) fallback(ctx context.Context, probeErr error) (revision string, err error) {
	if ctx.Err() != nil {
		return "", probeErr
	}
	if named, ok := namedRevisions(probeErr); ok {
		return legacyAmong(named, probeErr)
	}
	if !n.suggestsLegacy(probeErr) {
		return "", probeErr
	}
	return legacyRevisions[0], nil
}

// suggestsLegacy reports whether a legacy server may be the reason why a probe failed with err.
func (n *negotiator) suggestsLegacy(err error) bool {
	status, isStatus := errors.AsType[*transport.HTTPError](err)
	rpc, isRPC := errors.AsType[*mcp.RPCError](err)
	switch {
	case !isReaction(err) && n.link.Load().exchange != nil:
		return false // a broken exchange says nothing about the server
	case !isReaction(err):
		return n.server.Load() == nil // otherwise it answered an earlier probe
	case isStatus:
		return concernsRevision(status)
	case isRPC:
		return !results.OnlyModern(rpc)
	}
	return !errors.Is(err, errIncomplete) // a server that names its revisions is modern
}

// isReaction reports whether a probe that failed with err reached the server: it has answered, or is silent.
func isReaction(err error) bool {
	return wraps[*transport.HTTPError](err) || wraps[*mcp.RPCError](err) || wraps[*RevisionError](err) ||
		errors.Is(err, errSilent) || errors.Is(err, mcp.ErrInvalidResult) || errors.Is(err, transport.ErrMessageTooLarge)
}

// legacyAmong returns the legacy revision to try with a server that has named its revisions after a
// probe failed with probeErr.
func legacyAmong(named []string, probeErr error) (string, error) {
	if _, modern := firstCommon(modernRevisions[:], named); modern {
		return "", probeErr
	}
	if revision, ok := firstCommon(legacyRevisions[:], named); ok {
		return revision, nil
	}
	if wraps[*RevisionError](probeErr) {
		return "", probeErr
	}
	return "", fmt.Errorf("%w: %w", probeErr, &RevisionError{ClientRevisions: Revisions(), ServerRevisions: named})
}

// concernsRevision reports whether a status may depend on the revision of a request. Load and
// authorization do not.
func concernsRevision(status *transport.HTTPError) bool {
	return !backoff.IsTransient(status.Status) && status.Status != http.StatusUnauthorized && status.Status != http.StatusForbidden
}

// disprovesLegacy reports whether err, the answer to initialize, may come from a server that is not
// legacy. An unreachable server proves nothing.
func disprovesLegacy(err error) bool {
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return concernsRevision(status)
	}
	return wraps[*mcp.RPCError](err) || wraps[*RevisionError](err) || errors.Is(err, mcp.ErrInvalidResult)
}

// adoptLegacy does the legacy handshake, over another transport if the server has only an older
// one. The error has the failures of both.
func (n *negotiator) adoptLegacy(ctx context.Context, e era) error {
	err := n.adopt(ctx, e)
	if err == nil || n.isReady() { // a new connection would end the calls
		return err
	}
	t, ok := n.transport.(*HTTP)
	answered := n.current() != e // then initialize has succeeded, and set the negotiated era
	if !ok || t.SSE || answered || !streamable.SuggestsOlderServer(err) {
		return err
	}
	older := *t
	older.SSE = true
	n.log.Debug("the server refused initialize, falling back to another transport", "to", "HTTP+SSE", "error", err)
	_ = n.link.Load().close()
	n.transport = &older
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

// initializeAgain sends initialize on a new connection, after the old one ended with the error before.
func (n *negotiator) initializeAgain(ctx context.Context, revision string, before error) error {
	n.log.Debug("the server ended on initialize, asking once more", "error", before)
	if err := n.replace(ctx, before); err != nil {
		return err
	}
	return secondError(n.adoptLegacy(ctx, &legacyEra{revision: revision}), before)
}

// endedInHandshake reports whether the server ended the connection during the handshake, on a
// transport without another form. It is false for [ErrConnectionLost], the error during a restart,
// which has attempts of its own.
func (n *negotiator) endedInHandshake(ctx context.Context, err error) bool {
	return errors.Is(err, ErrClosed) && !wraps[*olderError](err) && n.link.Load().exchange == nil && ctx.Err() == nil
}

// replace redials after a connection has ended with the error before. Its error has both failures, or says what to do if the
// transport can only connect once.
func (n *negotiator) replace(ctx context.Context, before error) error {
	switch err := n.redial(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrDialedOnce):
		return fmt.Errorf("%w (some servers end on server/discover: make a new transport, and set Options.Protocol.Revision to %s)",
			before, legacyRevisions[0])
	default:
		return fmt.Errorf("%w (and before that, %w)", err, before)
	}
}

// secondError returns the error of a second attempt. It includes the error of the first, unless the
// server ended both.
func secondError(err, before error) error {
	if err == nil || errors.Is(err, ErrClosed) && errors.Is(before, ErrClosed) {
		return err
	}
	return fmt.Errorf("%w (and before that, %v)", err, before)
}

// redial replaces the connection by a new one. It waits for the end of the old one, but not
// beyond the caller's context.
func (n *negotiator) redial(ctx context.Context) error {
	old := n.link.Load()
	closed := make(chan struct{})
	if !n.life.Start(func() {
		defer close(closed)
		_ = old.close()
	}) {
		return n.life.Cause()
	}
	select {
	case <-closed:
		return n.dial(ctx, n.transport)
	case <-ctx.Done():
		return fmt.Errorf("former connection is still ending: %w", contextError(ctx))
	}
}
