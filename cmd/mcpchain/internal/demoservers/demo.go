// Package demoservers runs the demo servers of the page and the service: the demo server of the
// chatbot, and a front desk whose tools need users, forms, pages and views.
package demoservers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/tryout"
)

// UserHeader is the header of requests that names the user.
const UserHeader = "X-Demo-User"

// Servers are the demo servers, which listen on the loopback interface.
type Servers struct {
	DemoURL, DeskURL string

	http http.Server
	done chan struct{}
}

// Start starts the servers on a free port.
func Start() (*Servers, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the demo servers: %w", err)
	}
	base := "http://" + listener.Addr().String()
	s := &Servers{DemoURL: base + "/demo", DeskURL: base + "/desk", done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("/demo", handler(tryout.NewServer()))
	mux.Handle("/desk", handler(NewDesk()))
	s.http.Handler = mux
	s.http.ReadHeaderTimeout = 10 * time.Second
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// handler serves a server over HTTP.
func handler(server *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
}

// Close stops the servers, and ends the requests in progress.
func (s *Servers) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// NewDesk returns the server of the front desk. Its visitors are in memory.
func NewDesk() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "desk", Title: "Front desk", Version: "1.0.0"}, nil)
	closed := false
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed}
	sdk.AddTool(s, &sdk.Tool{
		Name: "whoami", Title: "Who am I", Annotations: readOnly, Description: "Tells which user the server sees.",
	}, whoami)
	sdk.AddTool(s, &sdk.Tool{
		Name: "register", Title: "Register a visitor", Description: "Registers a visitor. It asks for all details by a form.",
	}, register)
	sdk.AddTool(s, &sdk.Tool{
		Name: "badge", Title: "Order a badge", Annotations: readOnly,
		Description: "Orders a badge. The visitor uploads a photo on a page of the desk.",
	}, badge)
	addVisitors(s)
	return s
}

// whoami answers with the user of the header.
func whoami(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
	return text(fmt.Sprintf("The server sees the user %s.", cmp.Or(userOf(req), "none"))), nil, nil
}

// visitorForm is a form with fields of all kinds. It is raw JSON to keep the order of the fields.
const visitorForm = `{
	"type": "object",
	"properties": {
		"name":     {"type": "string", "title": "Full name", "minLength": 2, "maxLength": 60},
		"email":    {"type": "string", "title": "E-mail", "format": "email"},
		"site":     {"type": "string", "title": "Home page", "format": "uri"},
		"plate":    {"type": "string", "title": "Number plate", "pattern": "^[A-Z]{1,3}-[0-9]{1,4}$", "description": "such as B-1234"},
		"day":      {"type": "string", "title": "Day", "format": "date"},
		"arrival":  {"type": "string", "title": "Arrival", "format": "date-time"},
		"visitors": {"type": "integer", "title": "Visitors", "minimum": 1, "maximum": 20, "default": 1},
		"height":   {"type": "number", "title": "Height of the car in metres", "minimum": 1, "maximum": 4},
		"parking":  {"type": "boolean", "title": "Needs a parking space", "default": false},
		"nda":      {"type": "boolean", "title": "Has signed the agreement"},
		"floor":    {"type": "string", "title": "Floor", "enum": ["ground", "first", "second"], "default": "ground"},
		"badge":    {"type": "string", "title": "Badge", "oneOf": [{"const": "g", "title": "Guest"}, {"const": "p", "title": "Press"}]},
		"days":     {"type": "array", "title": "Lunch on", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["Mon", "Tue", "Wed"]}}
	},
	"required": ["name", "email", "day", "visitors", "nda", "days"]
}`

// register asks by a form, and answers with its values.
func register(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
	form, asked, err := answer(req, "visitor")
	switch {
	case err != nil:
		return nil, nil, err
	case !asked:
		form := &sdk.ElicitParams{Mode: "form", Message: "Who comes to visit?", RequestedSchema: json.RawMessage(visitorForm)}
		return ask("visitor", form), nil, nil
	case form.Action != "accept":
		return text("No visitor was registered (" + form.Action + ")."), nil, nil
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(form.Content)) {
		value, err := json.Marshal(form.Content[name])
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, fmt.Sprintf("%s: %s", name, value))
	}
	return text("Registered:\n\n" + strings.Join(lines, "\n")), nil, nil
}

// page is the page for the photo of a badge. There is no such host.
const page = "https://desk.example.com/badge?visit=17"

// badgeOrder has the arguments of badge.
type badgeOrder struct {
	Page string `json:"page,omitempty" jsonschema:"the page to upload the photo on; default: the desk's own"`
}

// badge asks the user to visit a page.
func badge(_ context.Context, req *sdk.CallToolRequest, in badgeOrder) (*sdk.CallToolResult, any, error) {
	visit, asked, err := answer(req, "photo")
	switch {
	case err != nil:
		return nil, nil, err
	case !asked:
		return ask("photo", &sdk.ElicitParams{
			Mode: "url", Message: "Please upload a photo for the badge.", URL: cmp.Or(in.Page, page), ElicitationID: "photo-17",
		}), nil, nil
	case visit.Action != "accept":
		return text("No badge was ordered (" + visit.Action + ")."), nil, nil
	}
	return text("The badge is ordered; it is printed once the photo is there."), nil, nil
}

// answer returns the user's answer to a question, and whether the question was asked before. The
// error means that the client cannot ask its user, or has answered with something else.
func answer(req *sdk.CallToolRequest, key string) (result *sdk.ElicitResult, asked bool, err error) {
	if c := req.ClientCapabilities(); c == nil || c.Elicitation == nil {
		return nil, false, errors.New("this tool needs a client that asks its user (elicitation), and yours does not")
	}
	a, asked := req.Params.InputResponses[key]
	if !asked {
		return nil, false, nil
	}
	result, ok := a.(*sdk.ElicitResult)
	if !ok {
		return nil, true, fmt.Errorf("the client answered a question with a %T", a)
	}
	return result, true, nil
}

// ask returns the result that asks the user a question.
func ask(key string, question sdk.InputRequest) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{key: question}}
}

// text returns a result with a text.
func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}
