// Package viewframe has what a program's page needs to show a view in a frame of another origin.
package viewframe

import (
	"context"
	_ "embed"
	"encoding/json"
	"mime"
	"net/http"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Script is a JavaScript module: its class Frame carries messages between a frame and a session.
//
//go:embed frame.js
var Script []byte

// Shown is what the page needs to show a view.
type Shown struct {
	URI     string `json:"uri"`
	Server  string `json:"server"`
	HTML    string `json:"html"`
	URL     string `json:"url"` // the frame's address
	Origin  string `json:"origin"`
	Sandbox string `json:"sandbox"`
	Allow   string `json:"allow"`

	Reaches  []string `json:"reaches,omitempty"` // origins that the view can access
	Refused  []string `json:"refused,omitempty"` // declared, but not granted
	Print    string   `json:"print"`             // fingerprint of the document and its settings
	Bordered *bool    `json:"bordered,omitempty"`
}

// Of returns what the page needs to show a server's document in a frame.
func Of(server string, document *apps.View, frame *sandbox.Frame) Shown {
	out := Shown{
		URI: document.URI, Server: server, HTML: string(document.HTML),
		URL: frame.URL, Origin: frame.Origin, Sandbox: frame.Sandbox, Allow: frame.Allow,
		Refused: slices.Concat(frame.Refused, document.Meta.Refused), Print: document.Fingerprint(), Bordered: document.Meta.PrefersBorder,
	}
	for _, list := range [][]string{frame.CSP.ConnectDomains, frame.CSP.ResourceDomains, frame.CSP.FrameDomains} {
		out.Reaches = append(out.Reaches, list...)
	}
	slices.Sort(out.Reaches)
	out.Reaches = slices.Compact(out.Reaches)
	return out
}

// Policy returns the Content-Security-Policy of a page that shows views. The page loads its own files, and frames the
// sandbox at the origin frames, none if that is "". media has more directives, for pictures and sound. Trusted types
// keep the script of the page from turning text into HTML or script.
func Policy(frames, media string) string {
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; " + media
	if frames != "" {
		policy += "; frame-src " + frames
	}
	return policy
}

// Protect sets the headers of a response that keep other sites and the page's own mistakes from doing harm.
func Protect(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // an address may have a secret
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// IsJSON reports whether the type of a request's body is JSON, which a form of another site cannot send.
func IsJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// Sender sends the messages of a frame to the session, each once: a page that gets no answer sends them again.
type Sender struct {
	conn transport.Conn
	busy chan struct{} // has a value while messages are sent; room for one
	sent int           // number of messages that were sent; guarded by busy
}

// NewSender returns a sender of messages to the host's side of a session.
func NewSender(conn transport.Conn) *Sender {
	return &Sender{conn: conn, busy: make(chan struct{}, 1)}
}

// Send sends messages. first is the number of the first one, counted from 0. Send leaves out those that were sent
// before. An error means that the session or the context has ended.
func (s *Sender) Send(ctx context.Context, first int, messages []json.RawMessage) error {
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	first = max(0, first)
	s.sent = max(s.sent, first) // the page may have dropped messages before first
	for _, m := range messages[min(s.sent-first, len(messages)):] {
		if err := s.conn.Send(ctx, m); err != nil {
			return err
		}
		s.sent++
	}
	return nil
}
