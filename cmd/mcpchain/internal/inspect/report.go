package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// report is the result of an inspection.
type report struct {
	Usable  int             `json:"usable"` // usable servers
	Total   int             `json:"total"`  // enabled servers
	Tokens  int64           `json:"tokens"` // for all tools, in each model request
	Servers []*serverReport `json:"servers"`
	byName  map[string]*serverReport
}

// serverReport is what the report says about a server of the file.
type serverReport struct {
	Name         string                  `json:"name"`
	Transport    string                  `json:"transport,omitempty"`
	Disabled     bool                    `json:"disabled,omitempty"`
	Error        string                  `json:"error,omitempty"`
	Revision     string                  `json:"revision,omitempty"`
	Forced       string                  `json:"forcedRevision,omitempty"` // by the file or the command line
	Info         *mcp.Implementation     `json:"serverInfo,omitempty"`
	Capabilities *mcp.ServerCapabilities `json:"capabilities,omitempty"`
	Instructions string                  `json:"instructions,omitempty"`
	Tools        []*toolReport           `json:"tools,omitempty"`
	Tokens       int64                   `json:"tokens,omitempty"` // for the tools, in each model request; an estimate
	Skipped      []skippedTool           `json:"skipped,omitempty"`
	Misnamed     []string                `json:"misnamed,omitempty"`  // names of tools that the specification does not allow
	Unmatched    []string                `json:"unmatched,omitempty"` // names in the file's lists that match no tool
	ViewTools    []string                `json:"viewTools,omitempty"` // for views only
	Views        []*viewReport           `json:"views,omitempty"`
	Prompts      []*mcp.Prompt           `json:"prompts,omitempty"`
	Resources    []string                `json:"resources,omitempty"`
	Templates    []string                `json:"resourceTemplates,omitempty"`
	Cut          []string                `json:"cut,omitempty"`     // lists that are longer than maxListed
	Trouble      []string                `json:"trouble,omitempty"` // lists that failed

	entry   *config.Server // in the file
	timeout time.Duration  // for connecting
}

// skippedTool is a tool that cannot be used.
type skippedTool struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// toolReport is what the report says about a tool.
type toolReport struct {
	Name        string               `json:"name"` // as the model knows it
	ServerName  string               `json:"serverName"`
	Description string               `json:"description,omitempty"`
	Annotations *mcp.ToolAnnotations `json:"annotations,omitempty"`
	InputSchema json.RawMessage      `json:"inputSchema"`
	Fingerprint string               `json:"fingerprint"`
	Profiles    []*profileReport     `json:"profiles,omitempty"`
}

// profileReport has the definitions for one provider.
type profileReport struct {
	Profile    string   `json:"profile"`
	Strict     bool     `json:"strict,omitempty"`
	Bytes      int      `json:"bytes"`             // the size of the whole definition, as JSON
	Definition any      `json:"definition"`        // as it is sent
	Changes    []change `json:"changes,omitempty"` // what differs from the server's definition
}

// change is a difference between the definition for a provider and the server's.
type change struct {
	Path    string `json:"path"`
	Keyword string `json:"keyword,omitempty"`
	Effect  string `json:"effect"`
	Note    string `json:"note"`
}

// maxListed bounds the listed prompts and resources of one server.
const maxListed = 1000

// plan begins a report on the servers of a file, and returns the servers to connect.
func plan(file []config.Server, o *options) (r *report, servers []adapter.Server, err error) {
	r = &report{Servers: []*serverReport{}, byName: map[string]*serverReport{}}
	for i := range file {
		s := &file[i]
		server := &serverReport{
			Name:      s.Name,
			Disabled:  s.Disabled,
			Transport: describe(s.Transport),
			entry:     s,
			timeout:   o.timeouts.Connect,
		}
		r.Servers = append(r.Servers, server)
		r.byName[s.Name] = server
		if s.Err != nil { // even of a disabled one
			server.Error = s.Annotate(s.Err).Error()
		}
	}
	servers, _ = adapter.FromConfig(file)
	if err := o.revisions.Apply(servers); err != nil {
		return nil, nil, err
	}
	for i, s := range servers {
		servers[i].Policy.Start = "" // connect now, regardless of the file
		r.byName[s.Name].Forced = s.Revision
	}
	return r, servers, nil
}

// fillAll adds what the servers offer.
func (r *report) fillAll(ctx context.Context, tools *adapter.Toolset, o *options) error {
	byTool := map[string]*toolReport{}
	for _, s := range tools.Servers() {
		listing, done := context.WithTimeout(ctx, o.timeouts.Connect)
		r.byName[s.Name].fill(listing, tools, s, byTool)
		done()
	}
	for _, p := range o.profiles {
		if err := fillProfile(tools, p, byTool); err != nil {
			return err
		}
	}
	r.updateTotals()
	return ctx.Err()
}

// updateTotals counts the usable and the enabled servers, and the tokens of their tools.
func (r *report) updateTotals() {
	r.Usable, r.Total, r.Tokens = 0, len(r.Servers), 0
	for _, s := range r.Servers {
		r.Tokens += s.Tokens
		if s.Disabled {
			r.Total--
		} else if s.Error == "" {
			r.Usable++
		}
	}
}

// enabled returns the names of the enabled servers.
func (r *report) enabled() (names []string) {
	for _, about := range r.Servers {
		if !about.Disabled {
			names = append(names, about.Name)
		}
	}
	return names
}

// checkOneServer returns an error if more than one server is enabled.
func (r *report) checkOneServer() error {
	if names := r.enabled(); len(names) > 1 {
		return fmt.Errorf("-server: name one of %s", quoted(names))
	}
	return nil
}

// onlyServer returns the only enabled server of the file. The error says why it cannot be used, or that there is none.
func (r *report) onlyServer(tools *adapter.Toolset) (s adapter.ServerStatus, err error) {
	names := r.enabled()
	if len(names) == 0 {
		return s, errors.New("no server of the file is enabled")
	}
	if about := r.byName[names[0]]; about.Error != "" {
		return s, errors.New(about.Error)
	}
	s = tools.Servers()[0] // the toolset has the valid entries of enabled servers
	if s.Err != nil {
		return s, r.byName[s.Name].why(s.Err)
	}
	return s, nil
}

// skippedOf returns the tools that cannot be used, sorted by name.
func skippedOf(skipped map[string]error) (out []skippedTool) {
	for _, name := range slices.Sorted(maps.Keys(skipped)) {
		out = append(out, skippedTool{name, skipped[name].Error()})
	}
	return out
}

// describe shows a server's command or URL without secrets: arguments, user info and query.
func describe(t mcpclient.Transport) string {
	switch t := t.(type) {
	case *mcpclient.Command:
		return fmt.Sprintf("command %s with %s", t.Path, cli.Plural(len(t.Args), "argument"))
	case *mcpclient.HTTP:
		if t.SSE {
			return "sse " + models.PublicURL(t.URL)
		}
		return "http " + models.PublicURL(t.URL)
	}
	return ""
}

// fill adds what the server offers, and adds the tools to byTool, by the names for models. A list that fails adds to
// Trouble.
func (s *serverReport) fill(
	ctx context.Context, tools *adapter.Toolset, status adapter.ServerStatus, byTool map[string]*toolReport,
) {
	if status.Err != nil {
		if s.Error == "" { // otherwise the failed sign-in is the reason
			s.Error = s.why(status.Err).Error()
		}
		return
	}
	if status.Ended != nil {
		s.Trouble = append(s.Trouble, s.explain(status.Ended).Error())
	}
	server := status.Client.Server()
	s.Revision, s.Info, s.Capabilities, s.Instructions = server.Revision, &server.Info, &server.Capabilities, server.Instructions
	for _, t := range status.Tools {
		def := t.Definition()
		about := &toolReport{Name: t.Name(), ServerName: def.Name, Description: def.Description, Annotations: def.Annotations,
			InputSchema: def.InputSchema, Fingerprint: t.Fingerprint()}
		s.Tools = append(s.Tools, about)
		byTool[t.Name()] = about
		if !isName(def.Name) {
			s.Misnamed = append(s.Misnamed, def.Name)
		}
	}
	s.Tokens = tokensOf(s.Tools)
	s.fillViews(ctx, tools, status)
	s.Skipped = skippedOf(status.Skipped)
	s.Unmatched = status.Unmatched
	if server.Capabilities.Prompts != nil {
		s.Prompts = listed(s, "prompts", status.Client.Prompts(ctx), func(p *mcp.Prompt) *mcp.Prompt { return p })
	}
	if server.Capabilities.Resources != nil {
		s.Resources = listed(s, "resources", status.Client.Resources(ctx), func(r *mcp.Resource) string { return r.URI })
		templates := offering.Templates(status.Client.ResourceTemplates(ctx))
		s.Templates = listed(s, "templates of resources", templates, func(t *mcp.ResourceTemplate) string { return t.URITemplate })
	}
}

// why returns why a server cannot be used, with a remedy if one is known, and its place in the file.
func (s *serverReport) why(err error) error { return s.entry.Annotate(s.explain(err)) }

// explain returns the error of a server or a call, with a remedy if one is known.
func (s *serverReport) explain(err error) error {
	return reason.Server{Transport: s.entry.Transport, Timeout: s.timeout}.Explain(err)
}

// maxName is the maximum length of a tool's name in the specification.
const maxName = 128

// isName reports whether the specification allows a name of a tool.
func isName(name string) bool {
	isForbidden := func(r rune) bool {
		isLetter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !isLetter && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
	}
	return name != "" && len(name) <= maxName && !strings.ContainsFunc(name, isForbidden)
}

// tokensOf estimates what tools cost in each request to a model of OpenAI; 0 for none.
func tokensOf(tools []*toolReport) int64 {
	if len(tools) == 0 {
		return 0
	}
	q := new(model.Request)
	for _, t := range tools {
		q.Tools = append(q.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return model.Tokens(q, &model.Info{Provider: "openai"})
}

// listed returns the converted items of a server's list, and records in s whether the list is incomplete or cut.
func listed[T, V any](s *serverReport, what string, all iter.Seq2[*T, error], convert func(*T) V) (list []V) {
	for v, err := range all {
		if err != nil {
			s.Trouble = append(s.Trouble, s.incomplete(what, err))
			break
		}
		if len(list) == maxListed {
			s.Cut = append(s.Cut, what)
			break
		}
		list = append(list, convert(v))
	}
	return list
}

// incomplete returns why a list is incomplete.
func (s *serverReport) incomplete(what string, err error) string {
	rpc, refused := errors.AsType[*mcp.RPCError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("the %s did not come within %v (-connect-timeout)", what, s.timeout)
	case refused:
		return fmt.Sprintf("the server does not list its %s: %v", what, rpc)
	}
	return fmt.Sprintf("the list of %s is not whole: %v", what, err)
}

// fillProfile adds the definitions for a provider to the reports on tools.
func fillProfile(tools *adapter.Toolset, p profile.Profile, byTool map[string]*toolReport) error {
	catalog := tools.Catalog(p)
	reports := map[string]*profileReport{}
	for _, d := range catalog.Definitions() {
		name := d.Function.Name
		raw, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("definition of %s for %s: %w", name, p, err)
		}
		reports[name] = &profileReport{Profile: string(p), Strict: d.Function.Strict, Bytes: len(raw), Definition: d}
		if about := byTool[name]; about != nil {
			about.Profiles = append(about.Profiles, reports[name])
		}
	}
	for _, c := range catalog.Changes() {
		r := reports[c.Tool]
		r.Changes = append(r.Changes, change{Path: c.Path, Keyword: c.Keyword, Effect: string(c.Effect), Note: c.Note})
	}
	return nil
}

// status returns the exit status. A server that cannot be used, or has a list that failed, takes precedence over tools,
// and tools over the tokens.
func (r *report) status(maxTokens int64) int {
	status := statusFine
	if maxTokens > 0 && r.Tokens > maxTokens {
		status = statusCostly
	}
	for _, s := range r.Servers {
		switch {
		case s.Error != "" || len(s.Trouble) > 0:
			return statusMissing
		case len(s.Skipped)+len(s.Unmatched) > 0:
			status = statusSkipped
		}
	}
	return status
}
