package inspect

import (
	"context"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// maxViews bounds the views of one server that are loaded.
const maxViews = 50

// viewReport is the report on a view.
type viewReport struct {
	URI         string   `json:"uri"`
	Tools       []string `json:"tools"` // whose results it shows
	Bytes       int      `json:"bytes,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	CSP         apps.CSP `json:"csp"`
	Permissions []string `json:"permissions,omitempty"`
	Refused     []string `json:"refused,omitempty"` // sources that no policy may have
	Private     []string `json:"private,omitempty"` // sources in the person's network
	Error       string   `json:"error,omitempty"`
}

// fillViews loads the views of a server's tools, at most maxViews, and adds the tools that only views may call.
func (s *serverReport) fillViews(ctx context.Context, tools *adapter.Toolset, status adapter.ServerStatus) {
	byURI := map[string]*viewReport{}
	models := map[string]bool{}
	for _, t := range status.Tools {
		name, uri := t.Definition().Name, t.ViewURI()
		models[name] = true
		switch v := byURI[uri]; {
		case uri == "" || v == nil && len(byURI) >= maxViews:
		case v != nil:
			v.Tools = append(v.Tools, name)
		default:
			v = &viewReport{URI: uri, Tools: []string{name}}
			byURI[uri] = v
			s.Views = append(s.Views, v)
			v.load(ctx, t)
		}
	}
	for _, t := range tools.ViewAccess(status.Name, "").Tools() {
		if !models[t.Name] {
			s.ViewTools = append(s.ViewTools, t.Name)
		}
	}
}

// load loads the view of a tool.
func (v *viewReport) load(ctx context.Context, t *adapter.Tool) {
	view, err := apps.Load(ctx, t.Client(), v.URI)
	if err != nil {
		v.Error = err.Error()
		return
	}
	v.Bytes = len(view.HTML)
	v.Fingerprint = view.Fingerprint()
	v.CSP, v.Permissions, v.Refused = view.Meta.CSP, view.Meta.Permissions, view.Meta.Refused
	for _, source := range v.sources() {
		if apps.IsPrivate(source) {
			v.Private = append(v.Private, source)
		}
	}
}

// sources returns all origins that the view declares.
func (v *viewReport) sources() (all []string) {
	for _, list := range [][]string{v.CSP.ConnectDomains, v.CSP.ResourceDomains, v.CSP.FrameDomains, v.CSP.BaseURIDomains} {
		all = append(all, list...)
	}
	return all
}

// writeViews writes the views, and warns about what they access.
func (s *serverReport) writeViews(p *printer) {
	p.list("tool for views alone", s.ViewTools)
	for _, v := range s.Views {
		p.line("  view %s of %s", line(v.URI), line(strings.Join(v.Tools, ", ")))
		if v.Error != "" {
			p.line("    cannot be shown: %s", block(v.Error))
			continue
		}
		for _, about := range []struct {
			what string
			all  []string
		}{
			{"reaches", v.sources()}, {"warning: frames", v.CSP.FrameDomains}, {"warning: asks for", v.Permissions},
			{"warning: reaches the private network", v.Private}, {"warning: declares what no policy may have", v.Refused},
		} {
			if len(about.all) > 0 {
				p.line("    %s: %s", about.what, line(strings.Join(about.all, ", ")))
			}
		}
	}
}
