// Package viewframe has what a program's page needs to show a view in a frame of another
// origin.
package viewframe

import (
	_ "embed"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
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
