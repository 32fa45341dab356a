package demoservers

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed visitors.html
var visitorsPage string

// visitorsURI is the URI of the view.
const visitorsURI = "ui://desk/visitors"

// Bounds of the lists.
const (
	maxVisitors = 20  // for each user
	maxLists    = 100 // users with visitors; one more clears all lists
)

// visitors has the lists of visitors by user.
type visitors struct {
	mu    sync.Mutex // guards the field below
	lists map[string][]string
}

// visitorList is the structured result of the tools.
type visitorList struct {
	Visitors []string `json:"visitors"`
}

// add adds a visitor to the list of a user, unless the name is "", and returns the list.
func (v *visitors) add(user, name string) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	list, known := v.lists[user]
	if !known {
		if len(v.lists) >= maxLists {
			clear(v.lists)
		}
		list = []string{"Marie Curie", "Emmy Noether"}
	}
	if name != "" {
		if len(list) >= maxVisitors {
			return nil, fmt.Errorf("the house is full with %d visitors", maxVisitors)
		}
		list = append(list, name)
	}
	v.lists[user] = list
	return slices.Clone(list), nil
}

// addVisitors adds a view, a tool that shows it, and a tool that only the view may call.
func addVisitors(s *sdk.Server) {
	all := &visitors{lists: map[string][]string{}}
	closed := false
	page := &sdk.ResourceContents{URI: visitorsURI, MIMEType: "text/html;profile=mcp-app", Text: visitorsPage}
	s.AddResource(&sdk.Resource{URI: page.URI, Name: "visitors", MIMEType: page.MIMEType},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{page}}, nil
		})
	sdk.AddTool(s, &sdk.Tool{
		Name: "visitors", Title: "Visitors of a day", Description: "Lists the visitors of a day, in a view with a form to check in.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
		Meta:        sdk.Meta{"ui": map[string]any{"resourceUri": visitorsURI}},
	}, func(_ context.Context, req *sdk.CallToolRequest, in struct {
		Day string `json:"day,omitempty" jsonschema:"such as Friday"`
	}) (*sdk.CallToolResult, visitorList, error) {
		list, err := all.add(userOf(req), "")
		return text("Visitors: " + strings.Join(list, ", ")), visitorList{list}, err
	})
	sdk.AddTool(s, &sdk.Tool{
		Name: "check_in", Title: "Check a visitor in", Description: "Checks a visitor in.",
		Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}},
	}, func(_ context.Context, req *sdk.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*sdk.CallToolResult, visitorList, error) {
		list, err := all.add(userOf(req), in.Name)
		return text(in.Name + " is checked in."), visitorList{list}, err
	})
}

// userOf returns the user of a request, "" if it names none.
func userOf(req *sdk.CallToolRequest) string {
	if req.Extra == nil {
		return ""
	}
	return req.Extra.Header.Get(UserHeader)
}
